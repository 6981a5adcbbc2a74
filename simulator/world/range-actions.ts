import { nextPlacement } from './allocator.ts';
import { changeRange, settleRange, snapshotOf } from './descriptors.ts';
import { mergeWithNext, splitRange } from './key-space.ts';
import { MAX_KEY } from './keys.ts';
import { withNextLease } from './leases.ts';
import { isReachable } from './nodes.ts';
import {
  makeReplica,
  RANGE_PROBLEMS,
  type Problem,
  type Range,
  type RangeProblem,
  type Replica,
} from './ranges.ts';
import { REPLICA_TYPE } from './replica-types.ts';
import { isMoving, stepReplicas } from './replication.ts';
import { nodeOf, rangeOf, type WorldState } from './state.ts';

/** Changes to a range. */
export interface RangeActions {
  /** Splits the last range of the key space, and places the new one on the given nodes. Returns its id. */
  addRange(nodeIds: readonly number[]): number;
  /** Merges the range into its left neighbour; false where there is none or mergeRange would not. */
  removeRange(id: number): boolean;
  /** Splits the range in two with the same replicas; the right half has the next id, which is returned. */
  splitRange(id: number): number;
  /**
   * Merges the range into its left neighbour, of which these nodes keep a replica without a leader: they do not learn of the merge.
   * With `knowsLease` it has the lease history that the range had. False as removeRange.
   */
  leaveBehind(
    id: number,
    nodeIds: readonly number[],
    leftOver?: { readonly problems?: readonly Problem[]; readonly knowsLease?: boolean },
  ): boolean;
  /**
   * Merges the range with its right neighbour, which disappears, and whose replicas move to those of the range before.
   * False, and nothing happens, unless all replicas of both are up to date and no configuration changes.
   */
  mergeRange(id: number): boolean;
  /**
   * Moves the replicas of a range at once to the first stores of these nodes, voters first, even if it has no majority; the
   * first gets the lease.
   */
  placeRange(id: number, voters: readonly number[], nonVoters?: readonly number[]): void;
  /** The range is to have its replicas on these nodes; stepReplicas takes it there. */
  aimReplicas(id: number, voters: readonly number[], nonVoters?: readonly number[]): void;
  /**
   * One step of a change of replicas, as a server takes it (replication.ts). False when there is none to take, or no
   * majority to take it.
   */
  stepReplicas(id: number): boolean;
  /**
   * What the replicate queue does: each range takes up to so many steps towards the replicas that its zone asks for.
   * Replicas leave nodes that are dead or leaving, as far as other nodes can take them. Voters and non-voters become each
   * other where they are. Returns the number of ranges that changed.
   */
  allocate(steps?: number): number;
  /** What the zone of these ranges asks for from now on; their replicas stay as they are. */
  setZone(
    ids: readonly number[],
    zone: { readonly voters: number; readonly nonVoters?: number },
  ): void;
  /**
   * Sets or clears a problem. The four problems of a range are reported by one replica (problems.ts) or, with `storeId`, by the
   * one there, which claims what the others do not; the others by the replica on `storeId` or, without it, by the
   * leaseholder's; each time until they are cleared. A replica that has no_raft_leader or circuit_breaker_error does not vote.
   */
  setProblem(id: number, problem: Problem, on?: boolean, storeId?: number): void;
  /** The replica reports the problem in one listing, and votes all the same. */
  reportOnce(id: number, nodeId: number, problem: Problem): void;
  moveLease(id: number, nodeId: number): void;
  /** The replica does not know the newest `leases` of the range. */
  lagReplica(id: number, nodeId: number, leases: number): void;
  /** `extraCpu`: CPU seconds per second beside those of the queries. */
  setLoad(id: number, queriesPerSecond: number, extraCpu?: number): void;
  setQuiescent(id: number, quiescent: boolean): void;
}

export function createRangeActions(state: WorldState): RangeActions {
  return {
    addRange: (nodeIds) => addRange(state, nodeIds),
    removeRange: (id) => removeRange(state, rangeOf(state, id)),
    leaveBehind: (id, nodeIds, leftOver = {}) =>
      leaveBehind(state, rangeOf(state, id), nodeIds, leftOver),
    splitRange: (id) => splitRange(state, rangeOf(state, id)).id,
    mergeRange: (id) => mergeWithNext(state, rangeOf(state, id)),
    placeRange: (id, voters, nonVoters = []) =>
      placeRange(state, rangeOf(state, id), voters, nonVoters),
    aimReplicas: (id, voters, nonVoters = []) => {
      if (voters.length === 0) throw new RangeError('a range needs at least one voter');
      rangeOf(state, id).goal = { voters, nonVoters };
    },
    stepReplicas: (id) => stepReplicas(state, rangeOf(state, id)),
    allocate: (steps = Infinity) =>
      [...state.ranges.values()].filter((range) => allocate(state, range, steps)).length,
    setZone: (ids, { voters, nonVoters = 0 }) => {
      const wanted = { wantedVoters: voters, wantedReplicas: voters + nonVoters };
      for (const id of ids) Object.assign(rangeOf(state, id), wanted);
    },
    setProblem: (id, problem, on = true, storeId) =>
      setProblem(rangeOf(state, id), problem, on, storeId),
    reportOnce: (id, nodeId, problem) => {
      replicaOn(rangeOf(state, id), nodeId).passing.add(problem);
    },
    moveLease: (id, nodeId) => {
      const range = rangeOf(state, id);
      range.leases = withNextLease(range.leases, replicaOn(range, nodeId), 'transfer', state.now());
    },
    lagReplica: (id, nodeId, leases) => {
      replicaOn(rangeOf(state, id), nodeId).lag = leases;
    },
    setLoad: (id, queriesPerSecond, extraCpu = 0) => {
      Object.assign(rangeOf(state, id), { queriesPerSecond, extraCpuNanos: extraCpu * 1e9 });
    },
    setQuiescent: (id, quiescent) => {
      for (const replica of rangeOf(state, id).replicas) {
        Object.assign(replica, { quiescent, ticking: !quiescent });
      }
    },
  };
}

function addRange(state: WorldState, nodeIds: readonly number[]): number {
  const last = [...state.ranges.values()].find(({ end }) => end === MAX_KEY);
  if (last === undefined) throw new RangeError('there is no range to split');
  const range = splitRange(state, last);
  const { replication } = state.options;
  Object.assign(range, { wantedVoters: replication, wantedReplicas: replication });
  range.queriesPerSecond = 1;
  placeRange(state, range, nodeIds, []);
  return range.id;
}

function allocate(state: WorldState, range: Range, steps: number): boolean {
  let taken = 0;
  while (taken < steps) {
    if (!isMoving(range)) range.goal = nextPlacement(state, range);
    if (!isMoving(range)) break;
    if (stepReplicas(state, range)) taken += 1;
    else if (isMoving(range)) break;
  }
  return taken > 0;
}

function removeRange(state: WorldState, range: Range): boolean {
  const left = [...state.ranges.values()].find(({ end }) => end === range.start);
  return left !== undefined && mergeWithNext(state, left);
}

function leaveBehind(
  state: WorldState,
  range: Range,
  nodeIds: readonly number[],
  {
    problems = ['no_raft_leader', 'circuit_breaker_error'],
    knowsLease = false,
  }: NonNullable<Parameters<RangeActions['leaveBehind']>[2]>,
): boolean {
  const known = snapshotOf(range);
  if (!knowsLease) known.leases = [];
  const flags = new Set(problems);
  const left = nodeIds.map((nodeId) => ({
    range: known,
    replica: { ...replicaOn(range, nodeId), knows: known, flags },
    isLeftOver: true,
  }));
  if (!removeRange(state, range)) return false;
  state.removed.push(...left);
  return true;
}

/** A replica that is on its store already keeps its id. */
function placeRange(
  state: WorldState,
  range: Range,
  voters: readonly number[],
  nonVoters: readonly number[],
): void {
  const replicas = [...voters, ...nonVoters].map((nodeId, index) => {
    const node = nodeOf(state, nodeId);
    const [store] = node.stores;
    if (store === undefined) throw new RangeError(`node ${nodeId} has no store`);
    const present = range.replicas.find(({ storeId }) => storeId === store.id);
    const type = index < voters.length ? REPLICA_TYPE.voter : REPLICA_TYPE.nonVoter;
    return makeReplica(node, store.id, present?.replicaId ?? range.nextReplicaId++, type);
  });
  const first = firstOf(replicas);
  range.goal = undefined;
  changeRange(state, range, { replicas });
  range.leases = withNextLease(range.leases, first, 'transfer', state.now());
  settleRange(state, range);
}

function firstOf(replicas: readonly Replica[]): Replica {
  const [first] = replicas;
  if (first === undefined) throw new RangeError('a range needs at least one replica');
  return first;
}

function replicaOn(range: Range, nodeId: number): Replica {
  const replica = range.replicas.find((each) => each.nodeId === nodeId);
  if (replica === undefined) throw new RangeError(`range ${range.id} is not on node ${nodeId}`);
  return replica;
}

function setProblem(
  range: Range,
  problem: Problem,
  on: boolean,
  storeId: number | undefined,
): void {
  if (isRangeProblem(problem) && storeId === undefined) {
    if (on) range.forced.add(problem);
    else range.forced.delete(problem);
    return;
  }
  const holder = storeId ?? range.leases.at(-1)?.storeId;
  const replica = range.replicas.find((each) => each.storeId === holder) ?? firstOf(range.replicas);
  if (problem === 'quiescent_equals_ticking') replica.ticking = on === replica.quiescent;
  if (on) replica.flags.add(problem);
  else replica.flags.delete(problem);
}

function isRangeProblem(problem: Problem): problem is RangeProblem {
  return RANGE_PROBLEMS.some((each) => each === problem);
}

/** Adds a range and removes the oldest that can be merged, as between two pages of a listing. */
export function churnRanges(state: WorldState): void {
  const up = [...state.nodes.values()].filter(isReachable).map((node) => node.id);
  const isRemoved = [...state.ranges.values()].some((range) => removeRange(state, range));
  if (!isRemoved) return;
  const added = Array.from(
    { length: state.options.replication },
    (_, index) => up[(state.nextRangeId + index) % up.length],
  );
  const nodeIds = new Set(added.filter((each) => each !== undefined));
  addRange(state, [...nodeIds]);
}
