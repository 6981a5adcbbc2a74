import { cloud, network, nodes, ranges, readJobs, sessions, sql, tables } from '#collectors';
import { type Observation, readApis, readCollector, readQueries } from '#exporter';
import { readAssistant } from './assistant.ts';
import { clusterTime, compareClocks } from './check-clocks.ts';
import { findRetired } from './dead-nodes.ts';
import type { Memory, Evidence } from './evidence.ts';
import { readLastKnown } from './last-known.ts';
import { addFigures, readSqlLoad } from './node-figures.ts';
import { isDown, describeNodes } from './node-problems.ts';
import { readRanges } from './range-status.ts';
import { type Connections, readReachability } from './reachability.ts';
import { decideSafeToStop, readDeadEvidence, readStopEvidence } from './safe-to-stop.ts';
import { checkScan } from './scan-check.ts';
import { readSessions } from './session-problems.ts';

/** The connections of the last poll that read them, and those that are current: unread while polls fail. */
function readConnections(cluster: Observation, collectors: Evidence['view']['collectors']) {
  const { state } = collectors.find((collector) => collector.name === network.name) ?? {};
  const connections: Connections = state && (cluster.result(network) ?? 'unread');
  const current = state === 'failing' ? 'unread' : connections;
  return { connections, current };
}

/** Reads the results of the last polls. */
export function observe(
  cluster: Observation,
  { nowMs, thresholds, ...memory }: Memory & Pick<Evidence, 'nowMs' | 'thresholds'>,
): Evidence {
  const { name, config, pollers } = cluster;
  const apis = readApis(cluster);
  const collectors = pollers.map(readCollector);
  const listed = cluster.result(nodes);
  const { nodes: list = [], lastBackupSeconds = 0, missingKeys = [] } = listed ?? {};
  const scan = cluster.result(ranges);
  const { connections, current } = readConnections(cluster, collectors);
  const tallies = cluster.result(sessions);
  const assistant = cluster.result(cloud);
  const clocks = listed && compareClocks(collectors, listed);
  const jobs = readJobs(list);
  const found = { nodes: listed, network: current, ranges: scan, jobs };
  const stop = readStopEvidence(pollers, found, memory.scanProblems);
  const dead = readDeadEvidence(stop, memory.trends);
  const fresh = list.filter(({ isFresh }) => isFresh);
  const retired = findRetired(list, dead, nowMs);
  const nodesStatus =
    listed && addFigures(describeNodes(listed, retired, memory.writing), list, found);
  const downNodes = nodesStatus?.list.filter(isDown).map(({ id }) => id);
  const scanCheck = scan && listed && checkScan(scan, listed);
  return {
    ...memory,
    nowMs,
    clocks,
    clusterMs: clusterTime(nowMs, clocks),
    thresholds,
    view: {
      name,
      isPolled: config.poll,
      apis,
      nodes: nodesStatus,
      network: readReachability(current, listed?.nodes),
      ranges: scan && readRanges(scan, cluster.result(tables), downNodes, scanCheck),
      safeToStop: decideSafeToStop(stop),
      sessions: tallies && readSessions(tallies),
      assistant: assistant && readAssistant(assistant),
      sqlLoad: fresh.length === 0 ? undefined : readSqlLoad(fresh),
      queries: readQueries(cluster.result(sql), config),
      collectors,
      lastKnown: readLastKnown(memory.lastSeen, { apis, collectors }),
    },
    nodes: list,
    fresh,
    answeredMs: listed?.answeredMs,
    jobs,
    isHeavyJobRunning: fresh.some(isRunningHeavyJob),
    missingKeys,
    lastBackupSeconds,
    network: connections,
    ranges: scan,
    sessions: tallies,
    dead,
    watchProblems: cluster.problems(nowMs),
  };
}

const HEAVY_JOBS = ['backup', 'import', 'restore'].map((job) => `jobs.${job}.currently_running`);

function isRunningHeavyJob({ metrics }: Evidence['nodes'][number]): boolean {
  return HEAVY_JOBS.some((key) => (metrics.get(key) ?? 0) > 0);
}
