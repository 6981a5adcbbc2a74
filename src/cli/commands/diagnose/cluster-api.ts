import type { ClusterApi } from '../../../cockroach/cluster-api.ts';
import { livenessOf, REACHABLE } from '../../../cockroach/node.ts';
import type { Collector } from '../../../collectors/collector.ts';
import { COLLECTORS } from '../../../collectors/index.ts';
import { nodes, type NodesResult } from '../../../collectors/nodes/collector.ts';
import { ranges } from '../../../collectors/ranges/collector.ts';
import type { RangesResult } from '../../../collectors/ranges/result.ts';
import { sessions, type SessionsResult } from '../../../collectors/sessions/collector.ts';
import { sizeOf } from '../../../collectors/sessions/session.ts';
import { tables, type TablesResult } from '../../../collectors/tables/collector.ts';
import type { Thresholds } from '../../../config/alert-settings.ts';
import { collectorOptions } from '../../../config/collector-schema.ts';
import type { ClusterConfig } from '../../../config/keys-and-flags.ts';
import { writeDuration } from '../../../config/values.ts';
import { grantee } from '../../../diagnosis/rules.ts';
import type { Clients } from '../../../exporter/clients.ts';
import { nodeProblems, readNodes } from '../../../findings/nodes.ts';
import {
  compareScan,
  countsOf,
  formatReplicas,
  formatStore,
  scanOf,
} from '../../../findings/scan-check.ts';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatList,
  formatNodes,
} from '../../../format.ts';
import { createPollStats } from '../../../http/poll-stats.ts';
import { failureReason } from '../../../polling/outcome.ts';
import { collectOnce } from '../../clients.ts';
import { withProgress } from '../../output/standard-output.ts';
import { noteScanCost } from '../../replicas.ts';
import { type Checklist, CLUSTER_API, type Verdict } from './checklist.ts';

/** The header Date has whole seconds, and a response takes a while. */
const CLOCK_TOLERANCE_SECONDS = 5;

interface Options {
  /** Whether to read the ranges of all nodes. */
  readonly scan?: true;
  readonly output: string;
  readonly thresholds: Thresholds;
}

/** A request that every user may send, also without a login. */
export const HEALTH = {
  endpoint: 'other',
  path: '/health/',
  onChunk: () => undefined,
  onEnd: () => undefined,
} as const;

/** Collectors whose results have a description of their own. */
const DESCRIBED: ReadonlySet<Collector> = new Set([nodes, ranges, sessions, tables]);

/** Logs in and polls every collector of the cluster API, those that are disabled, too. */
export async function checkClusterApi(
  list: Checklist,
  client: NonNullable<Clients['cluster']>,
  options: Options,
): Promise<void> {
  const { api } = client;
  if (!(await checkLogin(list, client))) return;
  const { result, error } = await list.poll(nodes, api, describeNodes);
  if (error !== undefined && failureReason(error) === 'auth') return;
  if (result !== undefined) addNodes(list, result, options.thresholds);
  await checkRanges(list, api, result, options);
  const connections = sum(
    reachableNodes(result).map(({ metrics }) => metrics.get('sql.conns') ?? 0),
  );
  await list.poll(sessions, api, (found) => describeSessions(list, found, connections));
  await list.poll(tables, api, (found) => describeTables(list, found));
  for (const collector of COLLECTORS) {
    if (DESCRIBED.has(collector) || collector.api === 'cloud') continue;
    await list.poll(collector, api, (_, items) => `${formatCount(items)} items`);
  }
}

async function checkLogin(
  list: Checklist,
  { session }: NonNullable<Clients['cluster']>,
): Promise<boolean> {
  const { username, token } = list.config.cluster_api ?? {};
  if (username !== undefined) {
    return list.run('login', CLUSTER_API, nodes, async () => {
      await session.get({ ...HEALTH, stats: list.stats });
      return `as ${username}: ${list.describeLast('login')}`;
    });
  }
  const none = 'no user or token: correct for an insecure cluster only';
  const detail = token ? 'a session token is configured' : none;
  list.add('login', { verdict: 'skipped', detail });
  return true;
}

function describeNodes({ nodes: all }: NodesResult): string {
  const builds = new Set(all.map(({ buildTag }) => buildTag));
  return `${all.length} nodes of ${[...builds].join(', ')}`;
}

/** Adds the problems of the nodes, in the words of the status page, and the difference of the clocks. */
function addNodes(list: Checklist, result: NodesResult, thresholds: Thresholds): void {
  // Only a scan of all nodes would show whether a dead node is still needed.
  const problems = nodeProblems(readNodes(result), 'ranges may need it', thresholds);
  for (const { text, next, alert } of problems) {
    list.add('nodes', { verdict: 'warning', detail: text, advice: next, alert });
  }
  if (result.answeredMs !== undefined) list.add('clock', checkClock(result.answeredMs));
}

function checkClock(answeredMs: number): Verdict {
  const seconds = Math.round(Math.abs(Date.now() - answeredMs) / 1000);
  if (seconds <= CLOCK_TOLERANCE_SECONDS) {
    return { verdict: 'ok', detail: 'no significant difference' };
  }
  const advice = 'synchronize both machines by NTP: ages would be wrong';
  return { verdict: 'warning', detail: `the clock of the server differs by ${seconds} s`, advice };
}

/** The nodes that are live, draining or decommissioning. */
function reachableNodes(result: NodesResult | undefined) {
  return (result?.nodes ?? []).filter((node) => REACHABLE.has(livenessOf(node)));
}

/**
 * Reads the ranges of the smallest node that is live, or of all nodes with `--scan`: what a scan costs, and whether the
 * nodes count as many replicas.
 */
async function checkRanges(
  list: Checklist,
  api: ClusterApi,
  before: NodesResult | undefined,
  { scan, output }: Options,
): Promise<void> {
  const reachable = reachableNodes(before);
  const sizes = reachable.map(({ stores }) =>
    sum(Array.from(stores.values(), (store) => store.get('replicas') ?? 0)),
  );
  const smallest = reachable[sizes.indexOf(Math.min(...sizes))];
  if (before === undefined || smallest === undefined) {
    list.add(ranges.request, { verdict: 'skipped', detail: 'no node to query is known' });
    return;
  }
  if (scan) noteScanCost(reachable.length, sum(sizes));
  // A list in pages shows neither the cost of a whole one nor all replicas.
  const options = { ...collectorOptions(list.config, ranges), page_limit: 0 };
  const shards = { index: 0, count: 1, onlyNode: scan ? undefined : smallest.id };
  const { result, bytes, seconds } = await withProgress(
    'nodes',
    scan ? output : 'json',
    (_advance, scanProgress) =>
      list.poll(ranges, api, describeScan, { options, shards, scanProgress }),
  );
  if (result?.summary === undefined) return;
  await list.run('own counts', CLUSTER_API, nodes, () => compareCounts(list, api, before, result));
  // Waiting for a node that does not respond does not count as load.
  if (result.failed.length > 0) return;
  const read = countReplicas(result);
  if (scan) {
    list.add('range scan', judgeCost(list.config, { replicas: read, bytes, seconds }), 'load');
    return;
  }
  // Example: 100 of 900 replicas took 2 s, with two nodes at a time: 9 s. Releases before 23.2 count no replicas.
  const replicas = sum(sizes) || read * reachable.length;
  const factor = read === 0 ? reachable.length : replicas / read;
  const concurrency = Math.min(options.concurrency, reachable.length);
  const request = list.recorder.last('node_ranges') ?? { bytes, seconds };
  const cost = {
    replicas,
    bytes: request.bytes * factor,
    seconds: (request.seconds * factor) / concurrency,
  };
  list.add('range scan', judgeCost(list.config, cost, 'about '), 'load');
}

function describeScan(result: RangesResult): string {
  const { scanned, failed } = result;
  const where = formatNodes(scanned.map(({ nodeId }) => nodeId));
  const unread =
    failed.length === 0 ? '' : `; not read: ${formatNodes(failed.map(({ nodeId }) => nodeId))}`;
  return `${formatCount(countReplicas(result))} replicas on ${where}${unread}`;
}

function countReplicas({ scanned }: RangesResult): number {
  return sum(
    scanned.flatMap(({ stores }) => Array.from(stores.values(), (store) => store.replicas)),
  );
}

/** Compares the replicas that were read with the nodes' own counts before and after. */
async function compareCounts(
  { config, stats: { signal } }: Checklist,
  api: ClusterApi,
  before: NodesResult,
  scanned: RangesResult,
): Promise<Verdict> {
  const scan = scanOf(scanned);
  const after = await collectOnce(nodes, { config, api, stats: createPollStats(signal) });
  const comparison = scan && compareScan(scan, [countsOf(before), countsOf(after)]);
  if (comparison === undefined) {
    const detail = 'no node that was read sends current counts of its stores';
    return { verdict: 'skipped', detail: `${detail}: releases before 23.2 do not` };
  }
  const { replicas, unavailable, underreplicated, stores, disagrees } = comparison;
  const problems = Object.entries({ unavailable, underreplicated }).flatMap(([name, pair]) =>
    pair ? [`ranges ${name}: ${formatCount(pair.read)} and ${formatCount(pair.counted)}`] : [],
  );
  const wrong = stores.length === 0 ? [] : [`wrong: ${formatList(stores.map(formatStore))}`];
  const detail = [formatReplicas(replicas), ...problems, ...wrong].join('; ');
  if (!disagrees) return { verdict: 'ok', detail };
  const advice =
    'do not rely on figures of ranges: see the runbook of CrdbScanDisagrees, and run this again to be sure';
  return { verdict: 'failed', detail, advice };
}

/** Whether the configured interval leaves time for a scan of this cost. */
function judgeCost(
  { collectors }: ClusterConfig,
  cost: { readonly replicas: number; readonly bytes: number; readonly seconds: number },
  about = '',
): Verdict {
  const { interval = 60, max_duty = 1, timeout = Infinity } = collectors['ranges'] ?? {};
  const { replicas, bytes, seconds } = cost;
  const detail = `${about}${formatCount(replicas)} replicas, ${formatBytes(bytes)} in ${formatDuration(seconds)}, every ${writeDuration(interval)}`;
  if (seconds <= Math.min(timeout, interval * max_duty)) return { verdict: 'ok', detail };
  const fitting = `interval to ${writeDuration(Math.ceil(seconds / max_duty))}`;
  if (seconds > timeout) {
    // A scan that times out gives no complete numbers.
    const longer = `timeout to ${writeDuration(Math.ceil(2 * seconds))}`;
    const settings = seconds > interval * max_duty ? `${longer} and ${fitting}` : longer;
    const advice = `set collectors.ranges.${settings}, or divide the nodes among shards`;
    return { verdict: 'failed', detail: `${detail}: longer than its timeout`, advice };
  }
  return {
    verdict: 'warning',
    detail: `${detail}: more than ${Math.round(max_duty * 100)} % of the time`,
    advice: `set collectors.ranges.${fitting}; until then the exporter extends it automatically`,
  };
}

/** Whether the user sees the sessions of others, and those of which nodes are missing. */
function describeSessions(
  { config: { cluster_api: login } }: Checklist,
  { nodes: byNode, users: byUser, failedNodes }: SessionsResult,
  connections: number,
): string | Verdict {
  const detail = `${formatCount(sum(Array.from(byNode.values(), sizeOf)))} sessions`;
  const ownName = login?.username?.toLowerCase();
  const seesOthers = byUser.some((tally) => tally.user !== ownName && sizeOf(tally) > 0);
  if (ownName !== undefined && !seesOthers && connections > 0) {
    const contrast = `although the nodes have ${formatCount(connections)} connections: the user sees only its own`;
    const advice = `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(login)};`;
    return { verdict: 'failed', detail: `${detail}, ${contrast}`, advice };
  }
  const failed = [...failedNodes].filter((id) => id > 0).toSorted((a, b) => a - b);
  if (failed.length === 0) return detail;
  const missing = `none from ${formatNodes(failed)}`;
  return { verdict: 'warning', detail: `${detail}; ${missing}`, advice: 'check them with `nodes`' };
}

/** How many tables were read; what could not be read has lines of its own. */
function describeTables(
  list: Checklist,
  { tables: read, discovery, missing = [] }: TablesResult,
): string | Verdict {
  for (const { name, failure } of missing) {
    const check = name === undefined ? 'GET /table_metadata/' : `table ${name}`;
    // Releases before 24.3 do not list their tables, which is no fault of anybody.
    const isOld = failure.reason === 'not_available' && name === undefined;
    const verdict = isOld ? 'skipped' : name === undefined ? 'warning' : 'failed';
    list.add(check, { verdict, ...list.explain(tables, failure.cause) });
  }
  const detail = [
    ...(discovery ? [`names and sizes of ${formatCount(discovery.all.length)} tables`] : []),
    ...(read.length > 0 ? [`details of ${formatCount(read.length)}`] : []),
  ].join(', ');
  const isListed = discovery !== undefined || missing.some(({ name }) => name === undefined);
  if (isListed || collectorOptions(list.config, tables).discover === false) return detail;
  const advice = `run GRANT CONNECT ON DATABASE … TO ${grantee(list.config.cluster_api)};`;
  return { verdict: 'warning', detail, advice };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
