import type { CloudApi } from '../../../cockroach/cloud-api.ts';
import type { ClusterApi } from '../../../cockroach/cluster-api.ts';
import { DEAD, livenessOf, REACHABLE } from '../../../cockroach/node.ts';
import type { Collector } from '../../../collectors/collector.ts';
import { COLLECTORS } from '../../../collectors/index.ts';
import { nodes } from '../../../collectors/nodes/collector.ts';
import { ranges } from '../../../collectors/ranges/collector.ts';
import { sessions } from '../../../collectors/sessions/collector.ts';
import { tables } from '../../../collectors/tables/collector.ts';
import { users } from '../../../collectors/users.ts';
import { grantee } from '../../../diagnosis/rules.ts';
import { adviseDeadNodes } from '../../../findings/dead-nodes.ts';
import { formatBytes, formatCount, formatList } from '../../../format.ts';
import { toRequestError } from '../../../http/errors.ts';
import { createPollStats } from '../../../http/poll-stats.ts';
import {
  array,
  type Infer,
  integer,
  number,
  object,
  raw,
  record,
  selected,
  string,
} from '../../../json/shape.ts';
import { collectOnce } from '../../cluster-target.ts';
import { GET_ASSISTANT } from '../cloud/assistant.ts';
import { nodeTimeoutMs } from '../ranges/replica.ts';
import type { Checklist } from './checklist.ts';

/** Date headers have whole seconds, and a response takes a while. */
const CLOCK_TOLERANCE_SECONDS = 5;

/** The nodes that are live, draining or decommissioning. */
export type KnownNodes = ReturnType<typeof summarize>;

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  build_tag: string(),
  metrics: selected({ keys: ['sql.conns'], prefixes: [] }, number()),
  store_metrics: record(selected({ keys: ['replicas'], prefixes: [] }, number())),
});

/** Logs in and lists the nodes; undefined when no other check can succeed. */
export async function checkNodes(list: Checklist, api: ClusterApi) {
  const { stats, recorder } = list;
  const found: ReturnType<typeof copyNode>[] = [];
  try {
    const { dateMs } = await api.nodes(stats, {
      limit: 100,
      shape: nodeShape,
      onNode: (node) => void found.push(copyNode(node)),
    });
    addLogin(list);
    addNodes(list, found);
    if (dateMs !== undefined) addClock(list, Math.abs(Date.now() - dateMs) / 1000);
    return summarize(found);
  } catch (error) {
    const isLogin = recorder.last('login') !== undefined && recorder.last('nodes') === undefined;
    if (!isLogin) addLogin(list);
    await list.run(isLogin ? 'login' : 'GET /nodes/', nodes, () => Promise.reject(error));
    const isRefused = toRequestError(error, 'nodes').reason === 'auth';
    return isLogin || isRefused ? undefined : summarize([]);
  }
}

function addNodes(list: Checklist, found: readonly ReturnType<typeof copyNode>[]): void {
  const builds = [...new Set(found.map(({ build }) => build))];
  const count = `${found.length} nodes of ${builds.join(', ')}`;
  list.add('GET /nodes/', 'ok', `${list.recorder.describeLast('nodes')}; ${count}`);
  const dead = found.filter(({ status }) => DEAD.has(status));
  if (dead.length > 0) {
    const reason = 'this command does not read whether ranges need it';
    addDown(list, dead, 'dead', adviseDeadNodes(dead.length, { isAllowed: false, reason }));
  }
  const unavailable = found.filter(({ status }) => status === 'unavailable');
  if (unavailable.length > 0) {
    addDown(list, unavailable, 'unavailable', 'check that process and machine are up');
  }
  if (builds.length > 1) {
    list.add('versions', 'warning', `mixed: ${builds.join(', ')}`, 'complete the upgrade');
  }
}

function addDown(
  list: Checklist,
  down: readonly ReturnType<typeof copyNode>[],
  state: string,
  advice: string,
): void {
  const ids = formatList(down.map(({ id }) => id));
  const text = down.length === 1 ? `node ${ids} is ${state}` : `nodes ${ids} are ${state}`;
  list.add('liveness', 'warning', text, advice);
}

function copyNode(node: Infer<typeof nodeShape>) {
  const stores = [...node.store_metrics.values()];
  return {
    id: node.node_id ?? 0,
    status: livenessOf({ livenessCode: node.liveness_status }),
    build: node.build_tag ?? '',
    replicas: sum(stores.map((store) => store.get('replicas') ?? 0)),
    connections: node.metrics.get('sql.conns') ?? 0,
  };
}

function summarize(found: readonly ReturnType<typeof copyNode>[]) {
  const known = found.filter(({ status }) => REACHABLE.has(status));
  return {
    ids: known.map(({ id }) => id),
    replicas: sum(known.map(({ replicas }) => replicas)),
    connections: sum(known.map(({ connections }) => connections)),
  };
}

function addLogin(list: Checklist): void {
  const { username, token } = list.config.cluster_api ?? {};
  if (username !== undefined) {
    list.add('login', 'ok', `as ${username}: ${list.recorder.describeLast('login')}`);
  } else if (token !== undefined) {
    list.add('login', 'skipped', 'a session token is configured');
  } else {
    list.add('login', 'skipped', 'no user or token: correct for an insecure cluster only');
  }
}

function addClock(list: Checklist, seconds: number): void {
  if (seconds <= CLOCK_TOLERANCE_SECONDS) list.add('clock', 'ok', 'no significant difference');
  else {
    const detail = `the clock of the server differs by ${Math.round(seconds)} s`;
    list.add('clock', 'warning', detail, 'synchronize both machines by NTP: ages would be wrong');
  }
}

/** The ranges of one node: a sample of the cost of a scan. */
export async function checkRanges(list: Checklist, api: ClusterApi, nodeId: number | undefined) {
  const { config, stats, recorder } = list;
  const check = 'GET /nodes/{id}/ranges/';
  if (nodeId === undefined) {
    list.add(check, 'skipped', 'no node to query is known');
    return undefined;
  }
  const startedAt = performance.now();
  const bytesBefore = stats.bytes;
  let replicas = 0;
  let encoding = 'unknown';
  const succeeded = await list.run(check, ranges, async () => {
    await api.nodeRanges(stats, {
      nodeId,
      route: 'gateway',
      headersMs: nodeTimeoutMs(config),
      firstUrl: 0,
      shape: object({ desc: object({ end_key: raw() }) }),
      onRange({ desc }) {
        replicas += 1;
        if (typeof desc.end_key === 'string') encoding = 'base64 text, as from real servers';
        if (Array.isArray(desc.end_key)) encoding = 'lists of integers, as in the API documents';
      },
    });
    const count = `${formatCount(replicas)} replicas on node ${nodeId}`;
    return `${recorder.describeLast('node_ranges')}; ${count}; keys are ${encoding}`;
  });
  if (!succeeded) return undefined;
  const seconds = (performance.now() - startedAt) / 1000;
  return { replicas, bytes: stats.bytes - bytesBefore, seconds };
}

/** The sessions of all nodes and all users. */
export async function checkSessions(list: Checklist, api: ClusterApi, connections: number) {
  const { config, stats, recorder } = list;
  const own = config.cluster_api?.username?.toLowerCase();
  let count = 0;
  let others = 0;
  await list.run('GET /sessions/', sessions, async () => {
    const { failedNodes } = await api.sessions(stats, {
      limit: Number(config.collectors['sessions']?.['page_limit']),
      shape: object({ username: string() }),
      onSession({ username }) {
        count += 1;
        if (username !== own) others += 1;
      },
    });
    const detail = `${recorder.describeLast('sessions')}; ${formatCount(count)} sessions`;
    if (own !== undefined && others === 0 && connections > 0) {
      const contrast = `although the nodes have ${formatCount(connections)} connections: the user sees only its own`;
      const advice = `run GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(config.cluster_api)};`;
      return { verdict: 'failed', detail: `${detail}, ${contrast}`, advice };
    }
    if (failedNodes.size === 0) return detail;
    const missing = `none from node ${formatList([...failedNodes].toSorted((a, b) => a - b))}`;
    const advice = 'check them with `nodes`';
    return { verdict: 'warning', detail: `${detail}; ${missing}`, advice };
  });
}

/** The users; a missing privilege is no fault while the collector is disabled. */
export async function checkUsers(list: Checklist, api: ClusterApi): Promise<void> {
  let count = 0;
  const work = async () => {
    await api.users(list.stats, { shape: object({}), onUser: () => void (count += 1) });
    return `${list.recorder.describeLast('users')}; ${formatCount(count)} users`;
  };
  const isEnabled = list.config.collectors['users']?.enabled === true;
  await list.run('GET /users/', users, work, { verdict: isEnabled ? 'failed' : 'warning' });
}

/** The list of all tables; it is no fault that old servers have none, unless it is demanded. */
async function checkTableList(list: Checklist, api: ClusterApi, demanded: boolean): Promise<void> {
  const work = async () => {
    const request = { shape: object({}), onTable: () => undefined };
    const found = await api.tableMetadata(list.stats, request);
    const detail = `${list.recorder.describeLast('table_metadata')}; ${formatCount(found)} tables`;
    if (found > 0) return detail;
    const advice = `run GRANT CONNECT ON DATABASE … TO ${grantee(list.config.cluster_api)};`;
    return { verdict: 'warning', detail, advice } as const;
  };
  await list.run('GET /table_metadata/', tables, work, {
    verdict: demanded ? 'failed' : 'warning',
  });
}

/** The configured tables, one after the other: each is a load on the server. */
export async function checkTables(list: Checklist, api: ClusterApi): Promise<void> {
  const { tables: settings } = list.config.collectors;
  const [names, discover] = [settings?.['tables'], settings?.['discover']];
  if (discover !== false) await checkTableList(list, api, discover === true);
  if (!Array.isArray(names) || names.length === 0) {
    list.add('GET /databases/{db}/tables/{table}/', 'skipped', 'no table is configured');
    return;
  }
  for (const name of names.map(String)) {
    const [database = '', ...rest] = name.split('.');
    await list.run(`table ${name}`, tables, async () => {
      const shape = object({ range_count: integer(), columns: array(object({})) });
      const found = await api.table(list.stats, { database, table: rest.join('.'), shape });
      const count = formatCount(found.range_count ?? 0);
      return `${list.recorder.describeLast('table')}; ${count} ranges`;
    });
  }
}

/** Collectors of the cluster API with checks of their own. */
const CHECKED: ReadonlySet<Collector> = new Set([nodes, ranges, sessions, users, tables]);

/** One poll of each other collector of the cluster API. */
export async function checkOthers(
  list: Checklist,
  api: ClusterApi,
  collectors: readonly Collector[] = COLLECTORS,
): Promise<void> {
  for (const collector of collectors) {
    const options = list.config.collectors[collector.name];
    if (CHECKED.has(collector) || collector.api === 'cloud' || !options?.enabled) continue;
    const stats = createPollStats(list.stats.signal);
    const target = { config: list.config, api, stats };
    const own = { options, warn: () => undefined, scanProgress: () => undefined };
    await list.run(`collector ${collector.name}`, collector, async () => {
      await collectOnce(collector, target, own);
      return `${formatBytes(stats.bytes)}, ${formatCount(stats.items)} items`;
    });
  }
}

/** GET …/migration-assistant: reachability, key, role and cluster id in one request. */
export async function checkCloud(list: Checklist, api: CloudApi): Promise<void> {
  const work = async () => {
    // Without the password, which the response holds, too.
    const shape = object({ status: string(), health: string() });
    const found = await api.assistant(list.stats, shape);
    const state = found === undefined ? 'there is none' : `${found.status}, ${found.health}`;
    return `${list.recorder.describeLast('assistant')}; ${state}`;
  };
  await list.run('GET …/migration-assistant', GET_ASSISTANT, work, { target: 'Cloud API' });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
