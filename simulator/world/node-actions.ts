import { type Release, traitsOf, versionOf } from '../releases.ts';
import { changeRange, settle } from './descriptors.ts';
import { leadersOf } from './leadership.ts';
import { withNextLease } from './leases.ts';
import { deadStatus, expectDeath, expectReturn, expiredStatus, liveStatus } from './liveness.ts';
import { generateReplacement, isReachable, type ClusterNode, type Silence } from './nodes.ts';
import { makeReplica, type Range, type Replica } from './ranges.ts';
import { pairKey } from './reachability.ts';
import { recordOf } from './records.ts';
import { votesAfter } from './replica-types.ts';
import { isMoving } from './replication.ts';
import { nodeOf, type WorldState } from './state.ts';
import { neededVoters } from './wanted-replicas.ts';

/** Changes to a node. */
export interface NodeActions {
  /**
   * The process stops and its record is no longer updated; leases of ranges with a quorum move to other nodes. The
   * other nodes know at once: a dead node whose decommissioning had begun reads decommissioned (5).
   */
  killNode(id: number, liveness?: 'dead' | 'unavailable'): void;
  /** The node is dead for good: its machine lost the disk and returned as another node, the id of which is the result. */
  replaceNode(id: number): number;
  /** Like killNode, but its liveness follows with time: live for 30 s, unavailable, dead after 5 min. */
  crashNode(id: number): void;
  /**
   * Makes a killed, partitioned, frozen or draining node live again; a killed one has just started. With `isBehind` its
   * replicas answer with what they knew of their ranges, also those that were removed meanwhile, until catchUp.
   */
  reviveNode(id: number, isBehind?: boolean): void;
  /** Like reviveNode, but the node reads unavailable for its first 30 s. */
  startNode(id: number, isBehind?: boolean): void;
  /** The replicas of the node learn what their ranges are now, and removed ones go. */
  catchUp(id: number): void;
  drainNode(id: number): void;
  /** The node is to leave, and its replicas are still there. */
  beginDecommission(id: number): void;
  /**
   * Moves its replicas away at once, as far as they have a quorum and another node. With `finished` and none left it
   * stops and its record is deleted, unless `keepsRecord`.
   */
  decommission(id: number, finished?: boolean, keepsRecord?: boolean): void;
  /** The node is to stay. */
  recommission(id: number): void;
  /** A new process: counters start at zero. */
  restartNode(id: number): void;
  /** The process runs and its own address responds, but other nodes cannot reach it. */
  partition(id: number): void;
  /**
   * Two nodes do not reach each other. Both stay live, as where a third node reaches both: nobody marks them down, and what
   * the third one holds together is lost with it.
   */
  partitionPair(a: number, b: number): void;
  healPair(a: number, b: number): void;
  /**
   * The process accepts calls and never responds, and its liveness expires. With `silentOn` only those calls hang:
   * the node stays live, writes its record and serves everything else.
   */
  freezeNode(id: number, silentOn?: Exclude<Silence, 'nothing'>): void;
  /** The process restarts as another release. */
  upgradeNode(id: number, release: Release): void;
  setBuild(id: number, buildTag: string, major: number, minor: number, internal: number): void;
}

export function createNodeActions(state: WorldState): NodeActions {
  const node = (id: number): ClusterNode => nodeOf(state, id);
  return {
    killNode: (id, liveness = 'dead') => {
      stop(state, node(id), 'down');
      if (liveness === 'dead') node(id).liveness = deadStatus(node(id));
    },
    replaceNode: (id) => {
      const replaced = node(id);
      stop(state, replaced, 'down');
      replaced.liveness = deadStatus(replaced);
      const { options, nodes } = state;
      const next = generateReplacement(options, nodes.values(), replaced, state.now());
      nodes.set(next.id, next);
      return next.id;
    },
    crashNode: (id) => crash(state, node(id)),
    reviveNode: (id, isBehind = false) => revive(state, node(id), isBehind),
    startNode: (id, isBehind = false) => {
      revive(state, node(id), isBehind);
      expectReturn(state, node(id));
    },
    catchUp: (id) => {
      node(id).isBehind = false;
      settle(state);
    },
    drainNode: (id) => {
      if (node(id).membership === 'active') node(id).liveness = 'draining';
    },
    beginDecommission: (id) => setMembership(node(id), 'decommissioning'),
    decommission: (id, finished = false, keepsRecord = false) => {
      decommission(state, node(id));
      if (finished) finish(state, node(id), keepsRecord);
    },
    recommission: (id) => setMembership(node(id), 'active'),
    restartNode: (id) => {
      loseSupport(state, node(id));
      start(state, node(id));
    },
    partition: (id) => stop(state, node(id), 'partitioned'),
    partitionPair: (a, b) => {
      if (node(a) === node(b)) throw new RangeError(`node ${a} is no pair`);
      state.cutPairs.add(pairKey(a, b));
      settle(state);
    },
    healPair: (a, b) => {
      state.cutPairs.delete(pairKey(a, b));
      settle(state);
    },
    freezeNode: (id, silentOn) => {
      if (silentOn === undefined) stop(state, node(id), 'frozen');
      else node(id).silentOn = silentOn;
    },
    ...createBuildActions(state),
  };
}

function createBuildActions(state: WorldState): Pick<NodeActions, 'upgradeNode' | 'setBuild'> {
  return {
    upgradeNode: (id, release) => {
      const node = nodeOf(state, id);
      const { build: buildTag } = traitsOf({ release });
      Object.assign(node, { release, buildTag, serverVersion: versionOf(release) });
      loseSupport(state, node);
      start(state, node);
    },
    setBuild: (id, buildTag, major, minor, internal) => {
      Object.assign(nodeOf(state, id), { buildTag, serverVersion: { major, minor, internal } });
    },
  };
}

/** Without heartbeats the node is unavailable. */
function stop(state: WorldState, node: ClusterNode, process: ClusterNode['process']): void {
  node.frozenRecord = recordOf(state, node);
  node.process = process;
  node.silentOn = 'nothing';
  node.liveness = expiredStatus(node);
  node.upcoming = [];
  loseSupport(state, node);
  settle(state);
}

/** A new process: its counters start at zero. */
function start(state: WorldState, node: ClusterNode): void {
  const startedAtMs = state.now();
  Object.assign(node, { startedAtMs, silentOn: 'nothing', keptGauges: {}, withdrawnSupport: 0 });
}

/** The stores of all others withdraw their support of those of the node. */
function loseSupport(state: WorldState, node: ClusterNode): void {
  for (const other of state.nodes.values()) {
    if (other !== node && other.process === 'up') other.withdrawnSupport += node.stores.length;
  }
}

function crash(state: WorldState, node: ClusterNode): void {
  const before = node.liveness;
  stop(state, node, 'down');
  node.liveness = before;
  expectDeath(state, node);
}

function revive(state: WorldState, node: ClusterNode, isBehind: boolean): void {
  if (node.process === 'down') start(state, node);
  Object.assign(node, { process: 'up', isBehind, silentOn: 'nothing' });
  node.liveness = liveStatus(node);
  node.upcoming = [];
  node.frozenRecord = undefined;
  settle(state);
}

/** The liveness changes with the membership, unless the node is draining or its heartbeats have expired. */
function setMembership(node: ClusterNode, membership: ClusterNode['membership']): void {
  const { liveness } = node;
  node.membership = membership;
  if (liveness === 'live' || liveness === 'decommissioning' || liveness === 'draining') {
    node.liveness = liveStatus(node);
  } else {
    node.liveness = liveness === 'unavailable' ? expiredStatus(node) : deadStatus(node);
  }
}

function decommission(state: WorldState, node: ClusterNode): void {
  setMembership(node, 'decommissioning');
  for (const range of state.ranges.values()) moveReplicaAway(state, range, node);
}

/** It cannot finish while replicas are left. */
function finish(state: WorldState, node: ClusterNode, keepsRecord: boolean): void {
  const isEmpty = [...state.ranges.values()].every((range) =>
    range.replicas.every(({ nodeId }) => nodeId !== node.id),
  );
  if (!isEmpty) return;
  setMembership(node, 'decommissioned');
  node.hasRecord = keepsRecord;
  if (!keepsRecord) stop(state, node, 'down');
}

function moveReplicaAway(state: WorldState, range: Range, node: ClusterNode): void {
  const leaving = range.replicas.find((replica) => replica.nodeId === node.id);
  if (leaving === undefined || isMoving(range)) return;
  if (leadersOf(state, range).length === 0) return;
  const taken = new Set(range.replicas.map((replica) => replica.nodeId));
  const free = [...state.nodes.values()].filter(
    (each) => isReachable(each) && each.liveness === 'live' && !taken.has(each.id),
  );
  const target = free[range.id % Math.max(1, free.length)];
  const store = target?.stores[0];
  if (target === undefined || store === undefined) {
    dropReplica(state, range, leaving);
    return;
  }
  const arrived = makeReplica(target, store.id, range.nextReplicaId, leaving.type);
  range.nextReplicaId += 1;
  const replicas = range.replicas.map((replica) => (replica === leaving ? arrived : replica));
  changeRange(state, range, { replicas });
  if (range.leases.at(-1)?.storeId !== leaving.storeId) return;
  range.leases = withNextLease(range.leases, arrived, 'transfer', state.now());
}

/**
 * Without a node for it, the replica goes where the range has more voters than the server wants, and one more with it: of
 * 5 voters on 5 nodes of which one leaves, 3 stay.
 */
function dropReplica(state: WorldState, range: Range, leaving: Replica): void {
  const voters = range.replicas.filter(votesAfter).length;
  if (!votesAfter(leaving) || voters <= neededVoters(state, range)) return;
  const stay = range.replicas.filter((replica) => replica !== leaving);
  const holder = range.leases.at(-1)?.storeId;
  const surplus = stay.filter(votesAfter).length - neededVoters(state, range);
  const second = surplus > 0 ? stay.findLast(({ storeId }) => storeId !== holder) : undefined;
  changeRange(state, range, { replicas: stay.filter((replica) => replica !== second) });
  const [next] = leadersOf(state, range);
  if (holder !== leaving.storeId || next === undefined) return;
  range.leases = withNextLease(range.leases, next, 'transfer', state.now());
}
