import type { Thresholds } from '#alerts';
import { formatCount, formatCounted, formatList, formatNodes, plural, sum } from '#base';
import {
  type ClusterApi,
  createPollStats,
  DOWN,
  livenessOf,
  type PollStats,
  REACHABLE,
  RequestError,
} from '#cockroach';
import {
  type Collector,
  COLLECTORS,
  describeIgnoring,
  findIgnoringUrls,
  network,
  type NetworkResult,
  nodes,
  type NodesResult,
  ranges,
  sessions,
  type SessionsResult,
  sizeOf,
  sql,
  tables,
  type TablesResult,
} from '#collectors';
import { collectorOptions } from '#config';
import type { Clients } from '#exporter';
import {
  findHiddenSessions,
  findUnreachable,
  nodeProblems,
  PARTITION,
  describeNodes,
} from '#status';
import { collectOnce } from './cluster-target.ts';
import { type Checklist, CLUSTER_API, ok, type Verdict } from './diagnose-checklist.ts';
import { compareCounts, countReplicas, describeScan, judgeCost } from './diagnose-scan.ts';
import { judgeThrottling } from './diagnose-throttling.ts';
import { explainQuery } from './explain-query.ts';
import { withProgress } from './output/standard-output.ts';
import { noteScanCost } from './read-replicas.ts';

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
  name: 'GET /health/',
  path: '/health/',
  onChunks: () => undefined,
  onEnd: () => undefined,
} as const;

/** Collectors whose results have a description of their own. */
const DESCRIBED: ReadonlySet<Collector> = new Set([nodes, ranges, sessions, network, sql, tables]);

/** Logs in and polls every collector of the cluster API, those that are disabled, too. */
export async function checkClusterApi(
  list: Checklist,
  { api, session }: NonNullable<Clients['cluster']>,
  options: Options,
): Promise<void> {
  const { username } = list.config.cluster_api ?? {};
  if (username !== undefined) {
    const login = await list.run('login', CLUSTER_API, nodes, async ({ signal }) => {
      await session.send({ ...HEALTH, stats: createPollStats(signal) });
      return ok(`as ${username}`);
    });
    if (login.reason !== undefined) return;
  }
  const { result: known, reason } = await list.poll(nodes, api, ({ nodes: all }) => {
    const builds = new Set(all.map(({ buildTag }) => buildTag));
    return ok(`${formatCounted(all.length, 'node')} of ${[...builds].join(', ')}`);
  });
  if (reason === 'auth') return;
  if (known !== undefined) {
    addNodes(list, known, options.thresholds);
    addUnsentKeys(list, known);
    await addThrottling(list, api, known.nodes.length, options.thresholds);
  }
  await checkRanges(list, api, known, options);
  await list.poll(sessions, api, (found) => describeSessions(list, found, known));
  await list.poll(network, api, (found) => describeNetwork(found, known?.nodes ?? []));
  await checkTables(list, api);
  await checkQueries(list, api);
  for (const collector of COLLECTORS) {
    if (DESCRIBED.has(collector) || collector.api === 'cloud') continue;
    await list.poll(collector, api, (_, items) => ok(formatCounted(items, 'item')));
  }
}

/** Adds the problems of the nodes, in the words of the status page, and the difference of the clocks. */
function addNodes(list: Checklist, result: NodesResult, thresholds: Thresholds): void {
  // Only a scan of all nodes would show whether a dead node is still needed.
  const unread = { replicas: undefined, mostVoters: 0, trends: new Map(), damage: undefined };
  const evidence = { ...unread, doubt: 'whether ranges need their replicas there is not known' };
  const problems = nodeProblems(describeNodes(result), evidence, thresholds);
  for (const { text, next, alert } of problems) {
    list.add('nodes', { verdict: 'warning', detail: text, advice: next, alert });
  }
  if (result.answeredMs === undefined) return;
  const seconds = Math.round(Math.abs(Date.now() - result.answeredMs) / 1000);
  if (seconds <= CLOCK_TOLERANCE_SECONDS) list.add('clock', ok('no significant difference'));
  else {
    const detail = `the clock of the server differs by ${seconds} s`;
    const advice =
      'synchronize both machines by NTP, and let no proxy answer from a cache: ages would be wrong';
    list.add('clock', { verdict: 'warning', detail, advice });
  }
}

/** Adds whether the cluster throttles transactions for want of a license or of telemetry, or soon will: no metric has it. */
async function addThrottling(
  list: Checklist,
  api: ClusterApi,
  nodeCount: number,
  thresholds: Thresholds,
): Promise<void> {
  await list.run('GET /_status/throttling', CLUSTER_API, nodes, async (stats) => {
    try {
      return judgeThrottling(await api.throttling(stats), nodeCount, Date.now() / 1000, thresholds);
    } catch (error) {
      if (list.signal.aborted || !(error instanceof RequestError)) throw error;
      // Releases before 24.3 throttle nothing; what else fails here has a line of its own.
      const isOld = error.reason === 'not_available';
      const detail = isOld ? 'releases before 24.3 do not have it' : error.message;
      return { verdict: 'skipped', detail };
    }
  });
}

/** Adds which metrics the nodes do not send: an older release never did, and a newer one may have moved them. */
function addUnsentKeys(list: Checklist, { unsentKeys }: NodesResult): void {
  if (unsentKeys === undefined) return;
  const { familyKeys: keys } = unsentKeys;
  if (keys.length === 0) return list.add('metrics of nodes', ok('all that are read are sent'));
  const detail = `${formatCounted(keys.length, 'metric')} of those that are read ${plural(keys.length, 'is', 'are')} not sent: ${formatList(keys)}`;
  const advice =
    'what is read from them is not known: docs/metrics.md names the families; releases differ, so watch them in /_status/vars if you need them';
  list.add('metrics of nodes', { verdict: 'skipped', detail, advice });
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
  const reachable = (before?.nodes ?? [])
    .filter((node) => REACHABLE.has(livenessOf(node)))
    .map(({ id, stores }) => ({
      id,
      replicas: sum(Array.from(stores.values(), (store) => store.get('replicas') ?? 0)),
    }))
    .toSorted((a, b) => a.replicas - b.replicas);
  const [smallest] = reachable;
  if (before === undefined || smallest === undefined) {
    list.add(ranges.request, { verdict: 'skipped', detail: 'no node to query is known' });
    return;
  }
  const isNodeDown = before.nodes.some((node) => DOWN.has(livenessOf(node)));
  const counted = sum(reachable.map(({ replicas }) => replicas));
  if (scan) noteScanCost(before.nodes);
  // A list in pages shows neither the cost of a whole one nor all replicas.
  const options = { ...collectorOptions(list.config, ranges), page_limit: 0 };
  const shards = { index: 0, count: 1, onlyNode: scan ? undefined : smallest.id };
  const poll = await withProgress('nodes', output, (_advance, scanProgress) =>
    list.poll(ranges, api, (found) => describeScan(list, found, isNodeDown), {
      options,
      shards,
      scanProgress,
    }),
  );
  const { result } = poll;
  if (result?.summary === undefined) return;
  await list.run('own counts', CLUSTER_API, nodes, async (stats) => {
    const after = await collectOnce(nodes, { config: list.config, api, stats });
    return compareCounts(result, before, after);
  });
  // Waiting for a node that does not respond does not count as load.
  if (result.failed.length > 0) return;
  const read = countReplicas(result);
  // Example: 100 of 900 replicas took 2 s, with two nodes at a time: 9 s. Releases before 23.2 count no replicas.
  const replicas = counted || read * reachable.length;
  const factor = read === 0 ? reachable.length : replicas / read;
  const { bytes, seconds } = list.recorder.last('node_ranges') ?? poll;
  const concurrency = Math.min(options.concurrency, reachable.length);
  const estimate = { bytes: bytes * factor, seconds: (seconds * factor) / concurrency };
  const cost = scan
    ? judgeCost(list.config, formatCount(read), poll)
    : judgeCost(list.config, `about ${formatCount(replicas)}`, estimate);
  list.add('range scan', cost, 'load');
  await checkSingleRanges(list, api, smallest.id);
}

/** Adds whether each URL lists only the ranges that it is asked for: scans ask for what is contradictory a second time. */
async function checkSingleRanges(list: Checklist, api: ClusterApi, nodeId: number): Promise<void> {
  const urls = list.config.cluster_api?.urls.length ?? 1;
  const work = async (stats: PollStats): Promise<Verdict> => {
    const ignoring = await findIgnoringUrls(api, stats, nodeId, urls);
    if (ignoring.length === 0) return ok('one range was asked for, and no other one was listed');
    return {
      verdict: 'warning',
      detail: `${describeIgnoring(ignoring)} where one is asked for: what is contradictory in a scan is not read a second time there`,
      advice: 'look for a proxy that drops the query of requests',
    };
  };
  await list.run('single ranges', CLUSTER_API, ranges, work, 'warning');
}

/** Whether the user sees the sessions of others, and whose nodes' sessions are missing. */
function describeSessions(
  { config }: Checklist,
  found: SessionsResult,
  known: NodesResult | undefined,
): Verdict {
  const detail = formatCounted(sum(Array.from(found.nodes.values(), sizeOf)), 'session');
  const hidden = known && findHiddenSessions(config, found, known);
  if (hidden !== undefined) {
    const { text, next, alert } = hidden;
    return { verdict: 'failed', detail: `${detail}; ${text}`, advice: next, alert };
  }
  const failed = [...found.failedNodes].filter((id) => id > 0).toSorted((a, b) => a - b);
  if (failed.length === 0) return ok(detail);
  const missing = `none from ${formatNodes(failed)}`;
  return { verdict: 'warning', detail: `${detail}; ${missing}`, advice: 'check them with `nodes`' };
}

/** Whether live nodes reach each other. Servers before 23.2 do not tell, which is no fault of anybody. */
function describeNetwork(result: NetworkResult, listed: NodesResult['nodes']): Verdict {
  if (result.noData !== undefined) return { verdict: 'skipped', detail: result.noData };
  const found = findUnreachable(result, listed);
  if (!('reason' in found)) return ok('all live nodes reach each other');
  const { next: advice, alert } = PARTITION;
  return found.answer === 'unreachable'
    ? { verdict: 'warning', detail: found.reason, advice, alert }
    : { verdict: 'warning', detail: found.reason, advice: 'check them with `nodes`' };
}

/** Runs each configured query once, whether the collector is enabled or not. */
async function checkQueries(list: Checklist, api: ClusterApi): Promise<void> {
  const { config } = list;
  const failed = config.collectors[sql.name]?.enabled ? 'failed' : 'warning';
  for (const query of collectorOptions(config, sql).queries) {
    await list.run(`query ${query.name}`, CLUSTER_API, sql, async (stats) => {
      const options = { queries: [query] };
      const { queries } = await collectOnce(sql, { config, api, stats }, { options });
      const [{ rows = [], failure } = {}] = queries;
      if (failure === undefined) return ok(formatCounted(rows.length, 'row'));
      const { cause: detail, remedy: advice } = explainQuery(failure, config);
      return { verdict: failed, detail, advice };
    });
  }
}

const TABLE_LIST = 'GET /table_metadata/';

/** Reads the list of all tables and the details of the configured ones: a line for each. */
async function checkTables(list: Checklist, api: ClusterApi): Promise<void> {
  const options = collectorOptions(list.config, tables);
  const { discover, tables: listed } = options;
  if (discover !== false) {
    const chosen = { options: { ...options, tables: [] } };
    await list.poll(tables, api, (found) => describeTableList(list, found), chosen, TABLE_LIST);
  }
  if (listed.length > 0) {
    const chosen = { options: { ...options, discover: false } as const };
    await list.poll(tables, api, (found) => describeTableDetails(list, found), chosen);
  }
  if (discover === false && listed.length === 0) {
    list.add(tables.request, { verdict: 'skipped', detail: 'no table is configured' });
  }
}

function describeTableList(list: Checklist, { discovery, missing = [] }: TablesResult): Verdict {
  const [unread] = missing;
  if (unread === undefined) {
    const count = discovery?.all.length ?? 0;
    return ok(`names and sizes of ${formatCounted(count, 'table')}`);
  }
  // Releases before 24.3 do not list their tables, which is no fault of anybody.
  const verdict = unread.failure.reason === 'not_available' ? 'skipped' : 'warning';
  return { verdict, ...list.explain(tables, unread.failure) };
}

/** How many tables were read; those that could not be read have lines of their own. */
function describeTableDetails(
  list: Checklist,
  { tables: read, missing = [] }: TablesResult,
): Verdict {
  for (const { name, failure } of missing) {
    list.add(`table ${name}`, { verdict: 'failed', ...list.explain(tables, failure) });
  }
  return ok(`details of ${formatCounted(read.length, 'table')}`);
}
