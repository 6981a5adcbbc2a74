import { withNextLease } from './leases.ts';
import {
  isReachable,
  countsAsLive,
  type ClusterNode,
  type Liveness,
  type Silence,
} from './nodes.ts';
import { hasQuorum } from './problems.ts';
import { makeReplica, type Range } from './ranges.ts';
import { recordOf } from './records.ts';
import { nodeOf, type WorldState } from './state.ts';

/** Changes to a node. */
export interface NodeActions {
  /** The process stops and its record is no longer updated; leases of ranges with a quorum move to other nodes. */
  killNode(id: number, liveness?: 'dead' | 'unavailable'): void;
  /** Makes a killed, partitioned, frozen or draining node live again; a killed one has just started. */
  reviveNode(id: number): void;
  drainNode(id: number): void;
  /** Moves its replicas away at once; with `finished` the node is decommissioned. */
  decommission(id: number, finished?: boolean): void;
  /** A new process: counters start at zero. */
  restartNode(id: number): void;
  /** The process runs and its own address responds, but other nodes cannot reach it. */
  partition(id: number): void;
  /**
   * The process accepts calls and never responds, and its liveness expires. With `silentOn` only those calls hang:
   * the node stays live, writes its record and serves everything else.
   */
  freezeNode(id: number, silentOn?: Exclude<Silence, 'nothing'>): void;
  setBuild(id: number, buildTag: string, major: number, minor: number, internal: number): void;
}

export function createNodeActions(state: WorldState): NodeActions {
  const node = (id: number): ClusterNode => nodeOf(state, id);
  return {
    killNode: (id, liveness = 'dead') => stop(state, node(id), 'down', liveness),
    reviveNode: (id) => revive(state, node(id)),
    drainNode: (id) => {
      node(id).liveness = 'draining';
    },
    decommission: (id, finished = false) => decommission(state, node(id), finished),
    restartNode: (id) => {
      Object.assign(node(id), { startedAtMs: state.now(), silentOn: 'nothing' });
    },
    partition: (id) => stop(state, node(id), 'partitioned', 'unavailable'),
    freezeNode: (id, silentOn) => {
      if (silentOn === undefined) stop(state, node(id), 'frozen', 'unavailable');
      else node(id).silentOn = silentOn;
    },
    setBuild: (id, buildTag, major, minor, internal) => {
      Object.assign(node(id), { buildTag, serverVersion: { major, minor, internal } });
    },
  };
}

function stop(
  state: WorldState,
  node: ClusterNode,
  process: ClusterNode['process'],
  liveness: Liveness,
): void {
  node.frozenRecord = recordOf(state, node);
  node.process = process;
  node.silentOn = 'nothing';
  node.liveness = liveness;
  for (const range of state.ranges.values()) {
    if (range.leases.at(-1)?.nodeId === node.id) moveLeaseAway(state, range);
  }
}

/** Without a quorum the lease cannot move. */
function moveLeaseAway(state: WorldState, range: Range): void {
  const live = range.replicas.filter((replica) => countsAsLive(nodeOf(state, replica.nodeId)));
  const nextHolder = live.find(({ isVoter }) => isVoter);
  if (nextHolder === undefined || !hasQuorum(range, live)) return;
  range.leases = withNextLease(range.leases, nextHolder, 'request', state.now());
}

function revive(state: WorldState, node: ClusterNode): void {
  if (node.process === 'down') node.startedAtMs = state.now();
  node.process = 'up';
  node.silentOn = 'nothing';
  node.liveness = 'live';
  node.frozenRecord = undefined;
}

function decommission(state: WorldState, node: ClusterNode, finished: boolean): void {
  for (const range of state.ranges.values()) moveReplicaAway(state, range, node);
  if (finished) stop(state, node, 'down', 'decommissioned');
  else node.liveness = 'decommissioning';
}

function moveReplicaAway(state: WorldState, range: Range, node: ClusterNode): void {
  const leaving = range.replicas.find((replica) => replica.nodeId === node.id);
  if (leaving === undefined) return;
  const taken = new Set(range.replicas.map((replica) => replica.nodeId));
  const free = [...state.nodes.values()].filter(
    (each) => isReachable(each) && each.liveness === 'live' && !taken.has(each.id),
  );
  const target = free[range.id % Math.max(1, free.length)];
  const store = target?.stores[0];
  if (target === undefined || store === undefined) return;
  const nextId = 1 + Math.max(...range.replicas.map((replica) => replica.replicaId));
  const arrived = makeReplica(target, store.id, nextId, leaving.isVoter);
  range.replicas = range.replicas.map((replica) => (replica === leaving ? arrived : replica));
  if (range.leases.at(-1)?.storeId !== leaving.storeId) return;
  range.leases = withNextLease(range.leases, arrived, 'transfer', state.now());
}
