import { DEAD, livenessOf, REACHABLE } from '../../../cockroach/node.ts';
import {
  CollectError,
  type CollectorResult,
  type CollectorWith,
} from '../../../collectors/collector.ts';
import { nodes, type NodesResult, type NodeStatus } from '../../../collectors/nodes/collector.ts';
import type { SessionsResult } from '../../../collectors/sessions/collector.ts';
import { sizeOf } from '../../../collectors/sessions/session.ts';
import { tables, type TablesResult } from '../../../collectors/tables/collector.ts';
import { collectorOptions } from '../../../config/schema.ts';
import { grantee } from '../../../diagnosis/rules.ts';
import { adviseDeadNodes } from '../../../findings/safe-to-stop.ts';
import { formatBytes, formatCount, formatList, formatMs } from '../../../format.ts';
import { RequestError } from '../../../http/errors.ts';
import { createPollStats, type PollStats } from '../../../http/poll-stats.ts';
import { failureReason } from '../../../polling/outcome.ts';
import type { AlertName, Api } from '../../../vocabulary.ts';
import { collectOnce, type PollOptions, type PollTarget } from '../../cluster-target.ts';
import type { Checklist, Verdict } from './checklist.ts';

/** The header Date has whole seconds, and a response takes a while. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** One poll of a collector, as the exporter makes it. */
interface Poll<Result> {
  /** Undefined when it found nothing useful. */
  readonly result: Result | undefined;
  /** Why it failed; a failed poll may have found something. */
  readonly error: unknown;
  readonly warnings: readonly string[];
  readonly stats: PollStats;
  readonly seconds: number;
}

/** Polls a collector once with its configured options; rejects only when the command is cancelled. */
export async function pollOnce<A extends Api, R extends CollectorResult>(
  { config, stats: { signal } }: Checklist,
  collector: CollectorWith<A, R>,
  api: PollTarget<A>['api'],
  more: Partial<PollOptions> = {},
): Promise<Poll<R>> {
  const stats = createPollStats(signal);
  const warnings: string[] = [];
  const startedAt = performance.now();
  const end = (result: R | undefined, error: unknown): Poll<R> => {
    return { result, error, warnings, stats, seconds: (performance.now() - startedAt) / 1000 };
  };
  try {
    const warn = (text: string): void => void warnings.push(text);
    const result = await collectOnce(collector, { config, api, stats }, { warn, ...more });
    const { failure } = result;
    return end(
      result,
      failure && (failure.cause ?? new CollectError(failure.reason, failure.message)),
    );
  } catch (error) {
    signal.throwIfAborted();
    return end(undefined, error);
  }
}

/**
 * Polls a collector once and adds what it found, or why it failed: only a warning while the collector is disabled. A poll
 * that does not get past the login is the check `login`.
 */
export async function checkCollector<A extends Api, R extends CollectorResult>(
  list: Checklist,
  collector: CollectorWith<A, R>,
  api: PollTarget<A>['api'],
  describe: (result: R, items: number) => string | Verdict,
  more: Partial<PollOptions> = {},
): Promise<Poll<R>> {
  const poll = await pollOnce(list, collector, api, more);
  const { result, error, warnings, stats, seconds } = poll;
  const target = collector.api === 'cluster' ? 'cluster API' : 'Cloud API';
  if (result === undefined || error !== undefined) {
    const isLogin = error instanceof RequestError && error.endpoint === 'login';
    const isEnabled = list.config.collectors[collector.name]?.enabled === true;
    const verdict = isEnabled ? 'failed' : 'warning';
    const check = isLogin ? 'login' : collector.request;
    list.results.push({ check, target, verdict, ...list.explain(collector, error) });
    return poll;
  }
  const found = describe(result, stats.items);
  const { detail, ...outcome }: Verdict =
    typeof found === 'string' ? { verdict: 'ok', detail: found } : found;
  const size = `${formatBytes(stats.bytes)} in ${formatMs(seconds * 1000)}`;
  const verdict = warnings.length > 0 && outcome.verdict === 'ok' ? 'warning' : outcome.verdict;
  const text = [size, detail, ...warnings].filter((part) => part !== '').join('; ');
  list.results.push({ check: collector.request, target, ...outcome, verdict, detail: text });
  return poll;
}

/** The nodes that are live, draining or decommissioning. */
export interface KnownNodes {
  /** Ascending by their replicas: the first one is the cheapest to read. */
  readonly ids: readonly number[];
  /** By their own counts; 0 where they send none, before version 23.2. */
  readonly replicas: number;
  readonly connections: number;
  readonly result: NodesResult | undefined;
}

/** Logs in and polls the nodes; undefined when no other check can succeed. */
export async function checkNodes(
  list: Checklist,
  api: PollTarget<'cluster'>['api'],
): Promise<KnownNodes | undefined> {
  const { results } = list;
  const first = results.length;
  const { result, error } = await checkCollector(
    list,
    nodes,
    api,
    ({ nodes: all }) => `${all.length} nodes of ${buildsOf(all).join(', ')}`,
  );
  if (results[first]?.check === 'login') return undefined;
  results.splice(first, 0, { check: 'login', target: 'cluster API', ...describeLogin(list) });
  if (result !== undefined) addNodes(list, result);
  if (error !== undefined && failureReason(error) === 'auth') return undefined;
  const reachable = (result?.nodes ?? []).filter((node) => REACHABLE.has(livenessOf(node)));
  const smallestFirst = reachable.toSorted((a, b) => replicasOf(a) - replicasOf(b));
  return {
    ids: smallestFirst.map(({ id }) => id),
    replicas: sum(reachable.map(replicasOf)),
    connections: sum(reachable.map(({ metrics }) => metrics.get('sql.conns') ?? 0)),
    result,
  };
}

function describeLogin(list: Checklist): Verdict {
  const { username, token } = list.config.cluster_api ?? {};
  if (username !== undefined) {
    return { verdict: 'ok', detail: `as ${username}: ${list.describeLast('login')}` };
  }
  const none = 'no user or token: correct for an insecure cluster only';
  return { verdict: 'skipped', detail: token ? 'a session token is configured' : none };
}

/** Problems that the records of the nodes show. */
function addNodes(list: Checklist, { nodes: all, answeredMs }: NodesResult): void {
  const dead = all.filter((node) => DEAD.has(livenessOf(node)));
  if (dead.length > 0) {
    const reason = 'this command does not read whether ranges need it';
    addDown(
      list,
      dead,
      'dead',
      adviseDeadNodes(dead.length, { isAllowed: false, reason }),
      'CrdbNodeDead',
    );
  }
  const unavailable = all.filter((node) => livenessOf(node) === 'unavailable');
  if (unavailable.length > 0) {
    addDown(
      list,
      unavailable,
      'unavailable',
      'check that process and machine are up',
      'CrdbNodeUnavailable',
    );
  }
  const builds = buildsOf(all);
  if (builds.length > 1) {
    list.add(
      'versions',
      'warning',
      `mixed: ${builds.join(', ')}`,
      'complete the upgrade',
      'CrdbVersionSkew',
    );
  }
  if (answeredMs === undefined) return;
  const seconds = Math.abs(Date.now() - answeredMs) / 1000;
  if (seconds <= CLOCK_TOLERANCE_SECONDS) list.add('clock', 'ok', 'no significant difference');
  else {
    const detail = `the clock of the server differs by ${Math.round(seconds)} s`;
    list.add('clock', 'warning', detail, 'synchronize both machines by NTP: ages would be wrong');
  }
}

function addDown(
  list: Checklist,
  down: readonly NodeStatus[],
  state: string,
  advice: string,
  alert: AlertName,
): void {
  const ids = formatList(down.map(({ id }) => id));
  const text = down.length === 1 ? `node ${ids} is ${state}` : `nodes ${ids} are ${state}`;
  list.add('liveness', 'warning', text, advice, alert);
}

function buildsOf(all: readonly NodeStatus[]): readonly string[] {
  return [...new Set(all.map(({ buildTag }) => buildTag))];
}

function replicasOf({ stores }: NodeStatus): number {
  return sum(Array.from(stores.values(), (store) => store.get('replicas') ?? 0));
}

/** Whether the user sees the sessions of others, and those of which nodes are missing. */
export function describeSessions(
  { config: { cluster_api: login } }: Checklist,
  { nodes: byNode, users: byUser, failedNodes }: SessionsResult,
  connections: number,
): string | Verdict {
  const count = sum(Array.from(byNode.values(), sizeOf));
  const detail = `${formatCount(count)} sessions`;
  const own = login?.username?.toLowerCase();
  const seesOthers = byUser.some((tally) => tally.user !== own && sizeOf(tally) > 0);
  if (own !== undefined && !seesOthers && connections > 0) {
    const contrast = `although the nodes have ${formatCount(connections)} connections: the user sees only its own`;
    const advice = `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(login)};`;
    return { verdict: 'failed', detail: `${detail}, ${contrast}`, advice };
  }
  const failed = [...failedNodes].filter((id) => id > 0).toSorted((a, b) => a - b);
  if (failed.length === 0) return detail;
  const missing = `none from node${failed.length === 1 ? '' : 's'} ${formatList(failed)}`;
  return { verdict: 'warning', detail: `${detail}; ${missing}`, advice: 'check them with `nodes`' };
}

/** How many tables were read; what could not be read has lines of its own. */
export function describeTables(
  list: Checklist,
  { tables: read, discovery, missing = [] }: TablesResult,
): string | Verdict {
  for (const { name, failure } of missing) {
    const { detail, advice } = list.explain(tables, failure.cause);
    // Releases before 24.3 do not list their tables, which is no fault of anybody.
    const verdict = failure.reason === 'not_available' ? 'skipped' : 'warning';
    if (name === undefined) list.add('GET /table_metadata/', verdict, detail, advice);
    else list.add(`table ${name}`, 'failed', detail, advice);
  }
  const details = read.length === 0 ? '' : `details of ${formatCount(read.length)}`;
  if (discovery !== undefined) {
    const sizes = `names and sizes of ${formatCount(discovery.all.length)} tables`;
    return details === '' ? sizes : `${sizes}, ${details}`;
  }
  if (missing.some(({ name }) => name === undefined)) return details;
  if (collectorOptions(list.config, tables).discover === false) {
    const none = { verdict: 'skipped', detail: 'no table is configured' } as const;
    return details === '' && missing.length === 0 ? none : details;
  }
  const advice = `run GRANT CONNECT ON DATABASE … TO ${grantee(list.config.cluster_api)};`;
  return { verdict: 'warning', detail: details, advice };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
