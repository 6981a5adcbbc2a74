import { tableKey } from './keys.ts';
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
import { nodeOf, rangeOf, type WorldState } from './state.ts';

/** Changes to a range. */
export interface RangeActions {
  /** Splits the last range: the next id, replicas on the given nodes. Returns the id. */
  addRange(nodeIds: readonly number[]): number;
  removeRange(id: number): void;
  /** Moves the replicas of a range to the first stores of these nodes, voters first; the first gets the lease. */
  placeRange(id: number, voters: readonly number[], nonVoters?: readonly number[]): void;
  /**
   * Sets or clears a problem. The four problems of a range are reported by one replica (problems.ts), the others
   * by the replica on `storeId` or, without it, by the leaseholder's.
   */
  setProblem(id: number, problem: Problem, on?: boolean, storeId?: number): void;
  moveLease(id: number, nodeId: number): void;
  /** The replica does not know the newest `leases` of the range. */
  lagReplica(id: number, nodeId: number, leases: number): void;
  /** `extraCpu`: CPU seconds per second beside those of the queries. */
  setLoad(id: number, queriesPerSecond: number, extraCpu?: number): void;
  setQuiescent(id: number, quiescent: boolean): void;
  /** What the descriptor says of a replica, while the configuration of the range changes. */
  setReplicaType(id: number, nodeId: number, type: number): void;
}

export function createRangeActions(state: WorldState): RangeActions {
  return {
    addRange: (nodeIds) => addRange(state, nodeIds),
    removeRange: (id) => {
      rangeOf(state, id);
      state.ranges.delete(id);
    },
    placeRange: (id, voters, nonVoters = []) =>
      placeRange(state, rangeOf(state, id), voters, nonVoters),
    setProblem: (id, problem, on = true, storeId) =>
      setProblem(rangeOf(state, id), problem, on, storeId),
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
    setReplicaType: (id, nodeId, type) => {
      replicaOn(rangeOf(state, id), nodeId).type = type;
    },
    setQuiescent: (id, quiescent) => {
      for (const replica of rangeOf(state, id).replicas) {
        Object.assign(replica, { quiescent, ticking: !quiescent });
      }
    },
  };
}

function addRange(state: WorldState, nodeIds: readonly number[]): number {
  const last = [...state.ranges.values()].at(-1);
  if (last === undefined) throw new RangeError('there is no range to split');
  const id = last.id + 1;
  const replicas = replicasOn(state, nodeIds);
  state.ranges.set(id, {
    id,
    start: tableKey(state.options.virtualCluster, last.tableId ?? 121, 1, 1_000_000 + id),
    end: last.end,
    tableId: last.tableId,
    replicas,
    leases: withNextLease([], firstOf(replicas), 'request', state.now()),
    wantedReplicas: state.options.replication,
    queriesPerSecond: 1,
    extraCpuNanos: 0,
    forced: new Set(),
  });
  return id;
}

function placeRange(
  state: WorldState,
  range: Range,
  voters: readonly number[],
  nonVoters: readonly number[],
): void {
  range.replicas = replicasOn(state, [...voters, ...nonVoters], voters.length);
  range.leases = withNextLease(range.leases, firstOf(range.replicas), 'transfer', state.now());
}

function replicasOn(
  state: WorldState,
  nodeIds: readonly number[],
  voters = nodeIds.length,
): Replica[] {
  return nodeIds.map((nodeId, index) => {
    const node = nodeOf(state, nodeId);
    const [store] = node.stores;
    if (store === undefined) throw new RangeError(`node ${nodeId} has no store`);
    return makeReplica(node, store.id, index + 1, index < voters);
  });
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
  if (isRangeProblem(problem)) {
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

/** Adds a range and removes the oldest, as between two pages of a listing. */
export function churnRanges(state: WorldState): void {
  const up = [...state.nodes.values()].filter(isReachable).map((node) => node.id);
  const [oldest] = state.ranges.keys();
  const id = Math.max(...state.ranges.keys());
  if (oldest === undefined || oldest === id) return;
  state.ranges.delete(oldest);
  const added = Array.from(
    { length: state.options.replication },
    (_, index) => up[(id + index) % up.length],
  );
  const nodeIds = new Set(added.filter((each) => each !== undefined));
  addRange(state, [...nodeIds]);
}
