import { RequestError } from '../../http/errors.ts';
import { type Infer, integer, number, object, record, selected, string } from '../../json/shape.ts';
import { add, addFailure, type Asked } from './asked.ts';

/** Date headers have whole seconds, and an answer is on its way for a while. */
const CLOCK_TOLERANCE_SECONDS = 5;
const DEAD: ReadonlySet<unknown> = new Set([1, 2]);
const ASKED: ReadonlySet<unknown> = new Set([3, 4, 6]);

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  build_tag: string(),
  metrics: selected({ keys: ['sql.conns'], prefixes: [] }, number()),
  store_metrics: record(selected({ keys: ['replicas'], prefixes: [] }, number())),
});

/** What the later steps need to know of a cluster. */
export interface Known {
  readonly nodes: readonly Node[];
  readonly stores: number;
  readonly replicas: number;
  readonly connections: number;
}

interface Node {
  readonly id: number;
  readonly liveness: number;
  readonly build: string;
  readonly stores: number;
  readonly replicas: number;
  readonly connections: number;
}

const UNKNOWN: Known = { nodes: [], stores: 0, replicas: 0, connections: 0 };

/** Logs in and lists the nodes; undefined when nothing else needs to be asked. */
export async function checkNodes(asked: Asked): Promise<Known | undefined> {
  const { api, reading, recorder } = asked;
  const nodes: Node[] = [];
  const check = 'GET /nodes/';
  try {
    const { dateMs } = await api.nodes(reading, {
      limit: 100,
      shape: nodeShape,
      onNode: (node) => nodes.push(copyNode(node)),
    });
    noteLogin(asked);
    const builds = [...new Set(nodes.map(({ build }) => build))];
    add(
      asked,
      check,
      'ok',
      `${recorder.describeLast('nodes')}; ${nodes.length} nodes of ${builds.join(', ')}`,
    );
    noteNodes(asked, nodes, builds);
    noteClock(asked, dateMs);
    return sumUp(nodes);
  } catch (error) {
    const isLogin = recorder.last('login') !== undefined && recorder.last('nodes') === undefined;
    if (!isLogin) noteLogin(asked);
    const what = isLogin ? 'login' : check;
    addFailure(asked, error, { check: what, operation: 'nodes' });
    const isRefused = error instanceof RequestError && error.reason === 'auth';
    return isLogin || isRefused ? undefined : UNKNOWN;
  }
}

function copyNode(node: Infer<typeof nodeShape>): Node {
  const replicas = [...node.store_metrics.values()].map((store) => store.get('replicas') ?? 0);
  return {
    id: node.node_id ?? 0,
    liveness: node.liveness_status ?? 0,
    build: node.build_tag ?? '',
    stores: node.store_metrics.size,
    replicas: sum(replicas),
    connections: node.metrics.get('sql.conns') ?? 0,
  };
}

function sumUp(nodes: readonly Node[]): Known {
  const asked = nodes.filter(({ liveness }) => ASKED.has(liveness));
  return {
    nodes: asked,
    // Releases before 23.2 do not tell the stores: one a node is the least.
    stores: sum(asked.map(({ stores }) => Math.max(1, stores))),
    replicas: sum(asked.map(({ replicas }) => replicas)),
    connections: sum(asked.map(({ connections }) => connections)),
  };
}

function noteLogin(asked: Asked): void {
  const { cluster_api } = asked.config;
  const { recorder } = asked;
  if (cluster_api?.username !== undefined) {
    const made = `as ${cluster_api.username}: ${recorder.describeLast('login')}`;
    add(asked, 'login', 'ok', made);
  } else if (cluster_api?.token !== undefined) {
    add(asked, 'login', 'skipped', 'a ready session token is used');
  } else {
    add(asked, 'login', 'skipped', 'without user and token: right for an insecure cluster only');
  }
}

function noteNodes(asked: Asked, nodes: readonly Node[], builds: readonly string[]): void {
  const dead = nodes.filter(({ liveness }) => DEAD.has(liveness)).map(({ id }) => id);
  if (dead.length > 0) {
    const advice = 'bring them back or decommission them; their ranges and sessions are not seen';
    add(asked, 'liveness', 'warning', `node ${dead.join(', ')} is not live`, advice);
  }
  if (builds.length > 1) {
    add(asked, 'versions', 'warning', `mixed: ${builds.join(', ')}`, 'finish the upgrade');
  }
}

function noteClock(asked: Asked, dateMs: number | undefined): void {
  if (dateMs === undefined) return;
  const seconds = Math.abs(Date.now() - dateMs) / 1000;
  if (seconds <= CLOCK_TOLERANCE_SECONDS) {
    add(asked, 'clock', 'ok', 'no difference worth mentioning');
    return;
  }
  const detail = `the clock of the server differs by ${Math.round(seconds)} s`;
  add(asked, 'clock', 'warning', detail, 'let both machines keep time by NTP: ages would be wrong');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
