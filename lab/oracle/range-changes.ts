import { validLeaseOf } from '../../simulator/world/leadership.ts';
import { isReachable } from '../../simulator/world/nodes.ts';
import type { Range } from '../../simulator/world/ranges.ts';
import { isVoter, REPLICA_TYPE } from '../../simulator/world/replica-types.ts';
import type { WorldState } from '../../simulator/world/state.ts';
import type { World } from '../../simulator/world/world.ts';
import { type Apply, type ChangedCluster, nodesWhere, pickOf } from './cluster.ts';
import type { Change, StartZone } from './history.ts';

type RangeChange =
  | 'move'
  | 'step'
  | 'replicate'
  | 'split'
  | 'merge'
  | 'leave-behind'
  | 'collect'
  | 'lease'
  | 'zone'
  | 'swap'
  | 'stick'
  | 'claim'
  | 'unstick';

/** Changes of ranges, their replicas and what these report. */
export const RANGE_CHANGES: {
  readonly [Kind in Extract<Change['kind'], RangeChange>]: Apply<Kind>;
} = {
  move({ state, world }, { picks, steps }) {
    const [which = 0, from = 0, to = 0] = picks;
    const range = pickOf(settledRanges(state), which);
    const leaving = range && pickOf(range.replicas, from);
    const free = nodesWhere(state, (node) => isReachable(node) && !holds(range, node.id));
    const target = pickOf(free, to);
    if (range === undefined || leaving === undefined || target === undefined) return undefined;
    const moved = (id: number): number => (id === leaving.nodeId ? target.id : id);
    const { voters, nonVoters } = placementOf(range);
    world.aimReplicas(range.id, voters.map(moved), nonVoters.map(moved));
    const taken = step(world, range, steps);
    return `range ${range.id} moves from node ${leaving.nodeId} to ${target.id}, ${taken} steps: ${describe(range)}`;
  },
  step({ state, world }, { pick, steps }) {
    const range = pickOf(
      [...state.ranges.values()].filter(({ goal }) => goal !== undefined),
      pick,
    );
    if (range === undefined) return undefined;
    const taken = step(world, range, steps);
    return `range ${range.id} goes on, ${taken} steps: ${describe(range)}`;
  },
  replicate({ world }, { steps }) {
    const count = world.allocate(steps);
    return count === 0 ? undefined : `${count} ranges are repaired, up to ${steps} steps`;
  },
  split({ state, world }, { pick }) {
    const range = pickOf(
      [...state.ranges.values()].filter((each) => validLeaseOf(state, each) !== undefined),
      pick,
    );
    if (range === undefined) return undefined;
    return `range ${range.id} is split: ${world.splitRange(range.id)}`;
  },
  merge({ state, world }, { pick }) {
    const range = pickOf([...state.ranges.values()], pick);
    if (range === undefined || !world.mergeRange(range.id)) return undefined;
    return `range ${range.id} is merged with the next one: ${describe(range)}`;
  },
  'leave-behind'({ state, world }, { pick, nodes, problems, knowsLease }) {
    const range = pickOf(settledRanges(state), pick);
    if (range === undefined) return undefined;
    const at = range.id % range.replicas.length;
    const order = [...range.replicas.slice(at), ...range.replicas.slice(0, at)];
    // Most voters know of the merge, which needs them.
    const most = Math.ceil(order.filter(isVoter).length / 2) - 1;
    const kept = [
      ...order.filter(isVoter).slice(0, most),
      ...order.filter((replica) => !isVoter(replica)),
    ];
    const ids = kept.slice(0, nodes).map(({ nodeId }) => nodeId);
    if (ids.length === 0) return undefined;
    if (!world.leaveBehind(range.id, ids, { problems, knowsLease })) return undefined;
    const lease = knowsLease ? 'with its leases' : 'without a lease';
    return `range ${range.id} is merged with the one before, nodes ${ids.join()} keep it: ${problems.join()}, ${lease}`;
  },
  collect({ state }, { pick, isAll }) {
    const left = state.removed.filter(({ isLeftOver }) => isLeftOver);
    const one = pickOf(left, pick);
    if (one === undefined) return undefined;
    state.removed = state.removed.filter((held) => (isAll ? !left.includes(held) : held !== one));
    return isAll
      ? 'nothing is left behind'
      : `node ${one.replica.nodeId} gives up what is left of range ${one.range.id}`;
  },
  lease({ state, world }, { picks: [which, to] }) {
    const range = pickOf(settledRanges(state), which);
    const able = range?.replicas.filter(
      (replica) => isVoter(replica) && isUp(state, replica.nodeId) && replica.knows === undefined,
    );
    const replica = pickOf(able ?? [], to);
    if (range === undefined || replica === undefined) return undefined;
    world.moveLease(range.id, replica.nodeId);
    return `the lease of range ${range.id} moves to node ${replica.nodeId}`;
  },
  zone({ state, world }, { voters, nonVoters, steps, ...part }) {
    const ranges = partOf(state, part);
    if (ranges.length === 0) return undefined;
    world.setZone(
      ranges.map(({ id }) => id),
      { voters, nonVoters },
    );
    if (steps > 0) world.allocate(steps);
    return `ranges ${ranges.map(({ id }) => id).join()} are to have ${voters} voters and ${nonVoters} others; ${steps} steps`;
  },
  swap({ state, world }, { turn, voters, ...part }) {
    const settled = settledRanges(state);
    const ranges = partOf(state, part).filter((range) => settled.includes(range));
    const swapped = ranges.filter((range) => swap(state, world, range, turn, voters));
    if (swapped.length === 0) return undefined;
    return `voters change in place: ${swapped.map((range) => `${range.id} ${describe(range)}`).join('; ')}`;
  },
  stick({ state, world }, { picks: [which, replicaPick], problem, isFollower = false }) {
    const range = pickOf([...state.ranges.values()], which);
    const holder = range?.leases.at(-1)?.storeId;
    const able = range?.replicas.filter(({ storeId }) => !isFollower || storeId !== holder);
    const replica = able && pickOf(able, replicaPick);
    if (range === undefined || replica === undefined || replica.knows !== undefined)
      return undefined;
    const isHolder = holder === replica.storeId;
    if (problem === 'no_lease' && !isHolder) return undefined;
    world.setProblem(range.id, problem, true, replica.storeId);
    return `range ${range.id} is stuck on node ${replica.nodeId}: ${problem}${isHolder ? ' (lease)' : ''}`;
  },
  claim({ state, world }, { picks: [which, to], problem, repeats }) {
    const range = pickOf(settledRanges(state), which);
    const holder = range && validLeaseOf(state, range)?.storeId;
    const followers = range?.replicas.filter(
      (each) => each.storeId !== holder && each.knows === undefined && isUp(state, each.nodeId),
    );
    const replica = followers && pickOf(followers, to);
    if (range === undefined || replica === undefined) return undefined;
    if (repeats) world.setProblem(range.id, problem, true, replica.storeId);
    else world.reportOnce(range.id, replica.nodeId, problem);
    return `node ${replica.nodeId} alone says of range ${range.id} ${repeats ? '' : 'once '}that it is ${problem}`;
  },
  unstick({ state, world }) {
    const stuck = [...state.ranges.values()].flatMap((range) =>
      range.replicas.flatMap(({ storeId, flags }) =>
        [...flags].map((flag) => ({ range, storeId, flag })),
      ),
    );
    for (const { range, storeId, flag } of stuck) {
      world.setProblem(range.id, flag, false, storeId);
    }
    return stuck.length === 0 ? undefined : `${stuck.length} replicas are stuck no more`;
  },
};

/** Places the ranges of a zone at the start, as its zone wants them. */
export function placeZone({ state, world }: ChangedCluster, zone: StartZone): void {
  const ranges = partOf(state, zone);
  const ids = [...state.nodes.keys()];
  const { voters, nonVoters } = zone;
  for (const range of ranges) {
    const at = (range.id * 7) % ids.length;
    const order = [...ids.slice(at), ...ids.slice(0, at)];
    world.placeRange(range.id, order.slice(0, voters), order.slice(voters, voters + nonVoters));
  }
  world.setZone(
    ranges.map(({ id }) => id),
    { voters, nonVoters },
  );
}

function isUp(state: WorldState, nodeId: number): boolean {
  const node = state.nodes.get(nodeId);
  return node !== undefined && isReachable(node);
}

function holds(range: Range | undefined, nodeId: number): boolean {
  return range?.replicas.some((replica) => replica.nodeId === nodeId) === true;
}

/** Ranges that have a leader and whose configuration does not change. */
function settledRanges(state: WorldState): Range[] {
  const { voter, nonVoter } = REPLICA_TYPE;
  return [...state.ranges.values()].filter(
    (range) =>
      range.goal === undefined &&
      range.replicas.every(({ type }) => type === voter || type === nonVoter) &&
      validLeaseOf(state, range) !== undefined,
  );
}

function placementOf({ replicas }: Range): {
  readonly voters: readonly number[];
  readonly nonVoters: readonly number[];
} {
  const idsOf = (votes: boolean): readonly number[] =>
    replicas.filter((replica) => isVoter(replica) === votes).map(({ nodeId }) => nodeId);
  return { voters: idsOf(true), nonVoters: idsOf(false) };
}

/** The ranges of a part of a table. */
function partOf(
  state: WorldState,
  { pick, from, to }: Omit<StartZone, 'voters' | 'nonVoters'>,
): Range[] {
  const ranges = [...state.ranges.values()].filter(({ tableId }) => tableId !== undefined);
  const table = pickOf([...new Set(ranges.map(({ tableId }) => tableId))], pick);
  const ofTable = ranges.filter(({ tableId }) => tableId === table);
  return ofTable.slice(Math.floor(from * ofTable.length), Math.ceil(to * ofTable.length));
}

/** Gives as many replicas of the range the votes, on the same nodes; the one that holds the lease keeps its vote. */
function swap(
  state: WorldState,
  world: World,
  range: Range,
  turn: number,
  voters: number,
): boolean {
  const holder = validLeaseOf(state, range)?.nodeId ?? 0;
  const others = range.replicas.map(({ nodeId }) => nodeId).filter((id) => id !== holder);
  const at = Math.floor(turn * Math.max(1, others.length));
  const order = [holder, ...others.slice(at), ...others.slice(0, at)];
  const before = describe(range);
  world.aimReplicas(range.id, order.slice(0, voters), order.slice(voters));
  world.setZone([range.id], {
    voters: Math.min(voters, order.length),
    nonVoters: Math.max(0, order.length - voters),
  });
  step(world, range, 20);
  return describe(range) !== before;
}

function step(world: World, range: Range, steps: number): number {
  let taken = 0;
  while (taken < steps && world.stepReplicas(range.id)) taken += 1;
  return taken;
}

/** `1 2 3n`: voters on nodes 1 and 2, a non-voter on 3; a learner `l`, and types of a joint configuration by their number. */
export function describe({ replicas }: Range): string {
  const { voter, nonVoter, learner } = REPLICA_TYPE;
  const letters: Readonly<Record<number, string>> = {
    [voter]: '',
    [nonVoter]: 'n',
    [learner]: 'l',
  };
  return replicas.map(({ nodeId, type }) => `${nodeId}${letters[type] ?? `(${type})`}`).join(' ');
}
