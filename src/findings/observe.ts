import { livenessOf } from '../cockroach/node.ts';
import { cloud } from '../collectors/cloud.ts';
import type { CollectorResult, CollectorWith } from '../collectors/collector.ts';
import { network } from '../collectors/network/collector.ts';
import { nodes } from '../collectors/nodes/collector.ts';
import { readJobs } from '../collectors/nodes/jobs.ts';
import { ranges } from '../collectors/ranges/collector.ts';
import { sessions } from '../collectors/sessions/collector.ts';
import { tables } from '../collectors/tables/collector.ts';
import type { Api } from '../vocabulary.ts';
import { readAssistant } from './assistant.ts';
import { findRetired } from './dead-nodes.ts';
import { readLastKnown } from './last-known.ts';
import { isDown, readNodes } from './nodes.ts';
import type { Memory, Observation } from './observation.ts';
import { type PolledUrls, readCollector, readUrls } from './polls.ts';
import { readRanges } from './ranges.ts';
import { findUnreachable, readNetwork, readReachability } from './reachability.ts';
import { decideSafeToStop, readDeadEvidence, readScan } from './safe-to-stop.ts';
import { checkScan, countsOf } from './scan-check.ts';
import { readSessions } from './sessions.ts';

/** A configured cluster with the results of its polls. */
export interface PolledCluster extends PolledUrls {
  readonly name: string;
  /** False: only /probe polls it. */
  readonly isPolled: boolean;
  /** Another one when another cluster took over the addresses. */
  readonly identity: symbol;
  /** The last result of a collector; undefined while it is too old to be shown. */
  result<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  /** The last result of a collector, however old. */
  lastResult<R extends CollectorResult>(collector: CollectorWith<Api, R>): R | undefined;
  isUp(api: Api): boolean | undefined;
}

/** Reads the results of the last polls. */
export function observe(
  cluster: PolledCluster,
  { nowMs, thresholds, ...memory }: Memory & Pick<Observation, 'nowMs' | 'thresholds'>,
): Observation {
  const { name, isPolled, pollers } = cluster;
  const apis = Array.from(new Set(pollers.map(({ collector }) => collector.api)), (api) => ({
    api,
    isUp: cluster.isUp(api),
  }));
  const collectors = pollers.map(readCollector);
  const urls = readUrls(cluster);

  const result = cluster.result(nodes);
  const { nodes: list = [], lastBackupSeconds = 0 } = result ?? {};
  const scan = cluster.result(ranges);
  const connections = readNetwork(pollers, cluster.result(network));
  const tallies = cluster.result(sessions);
  const assistant = cluster.result(cloud);

  // Nobody stops or removes a node because of data that may have changed: that of polls that fail is left out.
  const current = pollers.filter(({ outcome }) => outcome.state !== 'failing');
  const isListed = current.some(({ collector }) => collector.name === nodes.name);
  const listed = isListed ? result?.nodes : undefined;
  const scanner = current.find(({ collector }) => collector.name === ranges.name);
  const disagrees = memory.scanProblems.length > 0;
  const stop = {
    reachability: findUnreachable(connections, listed),
    statuses: listed && new Map(listed.map((node) => [node.id, livenessOf(node)])),
    scan: scanner && scan && readScan(scan, scanner, nowMs, disagrees),
  };
  const dead = readDeadEvidence(stop, memory.trends);
  const nodesStatus = result && readNodes(result, findRetired(list, dead, nowMs));
  const downNodes = nodesStatus?.list.filter(isDown).map(({ id }) => id);
  const scanCheck = scan && result && checkScan(scan, countsOf(result));
  const fresh = list.filter(({ isFresh }) => isFresh);
  return {
    ...memory,
    nowMs,
    thresholds,
    view: {
      name,
      isPolled,
      apis,
      nodes: nodesStatus,
      network: readReachability(connections, result?.nodes),
      ranges: scan && readRanges(scan, cluster.result(tables), downNodes, scanCheck),
      safeToStop: decideSafeToStop(stop),
      sessions: tallies && readSessions(tallies),
      assistant: assistant && readAssistant(assistant),
      sqlLoad: nodesStatus && memory.sqlLoad,
      collectors,
      lastKnown: readLastKnown(memory.lastSeen, { apis, collectors }),
    },
    nodes: list,
    fresh,
    jobs: readJobs(list),
    isHeavyJobRunning: fresh.some(isRunningHeavyJob),
    lastBackupSeconds,
    network: connections,
    ranges: scan,
    sessions: tallies,
    dead,
    urls,
  };
}

const HEAVY_JOBS = ['backup', 'import', 'restore'].map((job) => `jobs.${job}.currently_running`);

function isRunningHeavyJob({ metrics }: Observation['nodes'][number]): boolean {
  return HEAVY_JOBS.some((key) => (metrics.get(key) ?? 0) > 0);
}
