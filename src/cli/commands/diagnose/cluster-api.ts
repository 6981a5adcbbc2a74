import type { ClusterApi } from '../../../cockroach/cluster-api.ts';
import { DEAD, livenessOf } from '../../../cockroach/node.ts';
import type { Collector } from '../../../collectors/collector.ts';
import { COLLECTORS } from '../../../collectors/index.ts';
import { nodes, type NodesResult, type NodeStatus } from '../../../collectors/nodes/collector.ts';
import { ranges } from '../../../collectors/ranges/collector.ts';
import { sessions, type SessionsResult } from '../../../collectors/sessions/collector.ts';
import { sizeOf } from '../../../collectors/sessions/session.ts';
import { tables, type TablesResult } from '../../../collectors/tables/collector.ts';
import { users } from '../../../collectors/users.ts';
import { collectorOptions } from '../../../config/schema.ts';
import { grantee } from '../../../diagnosis/rules.ts';
import { formatCount, formatList } from '../../../format.ts';
import { failureReason } from '../../../polling/outcome.ts';
import type { Checklist, Verdict } from './checklist.ts';
import { checkRanges, reachableNodes } from './range-scan.ts';

/** The header Date has whole seconds, and a response takes a while. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** Polls every collector of the cluster API, those that are disabled, too. */
export async function checkClusterApi(
  list: Checklist,
  api: ClusterApi,
  { scan, output }: { readonly scan?: true; readonly output: string },
): Promise<void> {
  const known = await checkNodes(list, api);
  if (known === undefined) return;
  await checkRanges(list, api, known.result, { isWhole: scan === true, output });
  const connections = sum(
    reachableNodes(known.result).map(({ metrics }) => metrics.get('sql.conns') ?? 0),
  );
  await list.poll(sessions, api, (result) => describeSessions(list, result, connections));
  await list.poll(users, api, ({ count }) => `${formatCount(count)} users`);
  await list.poll(tables, api, (result) => describeTables(list, result));
  await checkOthers(list, api);
}

/** Collectors whose results have a description of their own. */
const DESCRIBED: ReadonlySet<Collector> = new Set([nodes, ranges, sessions, users, tables]);

/** Polls the other collectors of the cluster API. */
export async function checkOthers(
  list: Checklist,
  api: ClusterApi,
  collectors: readonly Collector[] = COLLECTORS,
): Promise<void> {
  for (const collector of collectors) {
    if (DESCRIBED.has(collector) || collector.api === 'cloud') continue;
    await list.poll(collector, api, (_, items) => `${formatCount(items)} items`);
  }
}

/** Logs in and polls the nodes; undefined when no other check can succeed. */
async function checkNodes(list: Checklist, api: ClusterApi) {
  const { results } = list;
  const first = results.length;
  const { result, error } = await list.poll(nodes, api, ({ nodes: all }) => {
    return `${all.length} nodes of ${buildsOf(all).join(', ')}`;
  });
  if (results[first]?.check === 'login') return undefined;
  results.splice(first, 0, { check: 'login', target: 'cluster API', ...describeLogin(list) });
  if (result !== undefined) addNodes(list, result);
  return error !== undefined && failureReason(error) === 'auth' ? undefined : { result };
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
  const warn = (check: string, detail: string, advice: string, alert?: Verdict['alert']): void => {
    list.add(check, { verdict: 'warning', detail, advice, alert });
  };
  const dead = all.filter((node) => DEAD.has(livenessOf(node)));
  if (dead.length > 0) {
    const advice = 'start it again; do not decommission it: ranges may need it';
    warn('liveness', `node ${idsOf(dead)} is dead`, advice, 'CrdbNodeDead');
  }
  const unavailable = all.filter((node) => livenessOf(node) === 'unavailable');
  if (unavailable.length > 0) {
    const advice = 'check that process and machine are up';
    warn('liveness', `node ${idsOf(unavailable)} is unavailable`, advice, 'CrdbNodeUnavailable');
  }
  const builds = buildsOf(all);
  if (builds.length > 1) {
    warn('versions', `mixed: ${builds.join(', ')}`, 'complete the upgrade', 'CrdbVersionSkew');
  }
  if (answeredMs === undefined) return;
  const seconds = Math.round(Math.abs(Date.now() - answeredMs) / 1000);
  if (seconds <= CLOCK_TOLERANCE_SECONDS) {
    list.add('clock', { verdict: 'ok', detail: 'no significant difference' });
  } else {
    const advice = 'synchronize both machines by NTP: ages would be wrong';
    warn('clock', `the clock of the server differs by ${seconds} s`, advice);
  }
}

function idsOf(some: readonly NodeStatus[]): string {
  return formatList(some.map(({ id }) => id));
}

function buildsOf(all: readonly NodeStatus[]): readonly string[] {
  return [...new Set(all.map(({ buildTag }) => buildTag))];
}

/** Whether the user sees the sessions of others, and those of which nodes are missing. */
function describeSessions(
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
  const missing = `none from node ${formatList(failed)}`;
  return { verdict: 'warning', detail: `${detail}; ${missing}`, advice: 'check them with `nodes`' };
}

/** How many tables were read; what could not be read has lines of its own. */
function describeTables(
  list: Checklist,
  { tables: read, discovery, missing = [] }: TablesResult,
): string | Verdict {
  for (const { name, failure } of missing) {
    const reason = list.explain(tables, failure.cause);
    // Releases before 24.3 do not list their tables, which is no fault of anybody.
    const verdict = failure.reason === 'not_available' ? 'skipped' : 'warning';
    if (name === undefined) list.add('GET /table_metadata/', { verdict, ...reason });
    else list.add(`table ${name}`, { verdict: 'failed', ...reason });
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
