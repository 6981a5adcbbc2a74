import type { FaultHandle } from '../../simulator/http/faults.ts';
import type { Simulator } from '../../simulator/index.ts';
import { validLeaseOf } from '../../simulator/world/leadership.ts';
import { type ClusterNode, isReachable } from '../../simulator/world/nodes.ts';
import type { Range } from '../../simulator/world/ranges.ts';
import { isVoter, REPLICA_TYPE } from '../../simulator/world/replica-types.ts';
import { listedNodes, type WorldState } from '../../simulator/world/state.ts';
import type { World } from '../../simulator/world/world.ts';
import type { Change, Staleness, Start, StartZone } from './history.ts';

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;
type Apply<Kind extends Change['kind']> = (
  cluster: ChangedCluster,
  change: ChangeOf<Kind>,
) => string | undefined;

/** A cluster that a history changes. */
export interface ChangedCluster {
  readonly simulator: Simulator;
  readonly world: World;
  readonly state: WorldState;
  readonly start: Start;
  /** Whether a URL answers with old lists. */
  readonly isStale: boolean;
  /** Lets the URL of a node answer with old lists and descriptors from now on; no URL without an argument. */
  setStale(gateway?: number, how?: Staleness): void;
  /** Whether descriptors are not refused. */
  isAdmitted: boolean;
  /** Requests that are to fail, and how many of them have. */
  readonly hiccups: {
    readonly endpoint: string;
    readonly times: number;
    readonly fault: FaultHandle;
  }[];
}

/** Applies a change where there is something to change, and says in words what it did. */
export function applyChange(cluster: ChangedCluster, change: Change): string | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the table has a function of each kind for that kind
  const apply = CHANGES[change.kind] as Apply<Change['kind']>;
  return apply(cluster, change);
}

const CHANGES: { readonly [Kind in Change['kind']]: Apply<Kind> } = {
  kill({ state, world, start, isStale }, { pick, how }) {
    const up = nodesWhere(state, isReachable);
    // The exporter needs a URL, and one that is not stale.
    const gateways = up.filter(({ id }) => id <= start.gateways);
    const isNeeded = ({ id }: ClusterNode): boolean =>
      id <= start.gateways && (isStale || gateways.length === 1);
    const node = pickOf(
      up.filter((each) => !isNeeded(each)),
      pick,
    );
    if (node === undefined || up.length <= 2) return undefined;
    if (how === 'crash') world.crashNode(node.id);
    else world.killNode(node.id, how);
    return `node ${node.id} dies (${how})`;
  },
  revive({ state, world }, { pick, isBehind, isSuspect }) {
    const node = pickOf(
      nodesWhere(state, (each) => !isReachable(each)),
      pick,
    );
    if (node === undefined) return undefined;
    if (isSuspect) world.startNode(node.id, isBehind);
    else world.reviveNode(node.id, isBehind);
    return `node ${node.id} returns${isBehind ? ', behind' : ''}${isSuspect ? ', unavailable at first' : ''}`;
  },
  'catch-up'({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ isBehind }) => isBehind),
      pick,
    );
    if (node === undefined) return undefined;
    world.catchUp(node.id);
    return `node ${node.id} has caught up`;
  },
  restart({ state, world }, { pick }) {
    const node = pickOf(nodesWhere(state, isReachable), pick);
    if (node === undefined) return undefined;
    world.restartNode(node.id);
    return `node ${node.id} has restarted`;
  },
  drain({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ liveness }) => liveness === 'live'),
      pick,
    );
    if (node === undefined) return undefined;
    world.drainNode(node.id);
    return `node ${node.id} drains`;
  },
  undrain({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ liveness }) => liveness === 'draining'),
      pick,
    );
    if (node === undefined) return undefined;
    world.reviveNode(node.id);
    return `node ${node.id} drains no more`;
  },
  leave({ state, world, start }, { pick, how }) {
    const isOpen = ({ membership, id }: ClusterNode): boolean =>
      how === 'begin'
        ? membership === 'active'
        : membership === 'decommissioning' && id > start.gateways;
    const node = pickOf(nodesWhere(state, isOpen), pick);
    if (node === undefined) return undefined;
    if (how === 'begin') world.beginDecommission(node.id);
    else world.decommission(node.id, how === 'finish');
    const did = { begin: 'is to leave', move: 'gives its replicas away', finish: 'leaves' };
    return `node ${node.id} ${did[how]}`;
  },
  stay({ state, world }, { pick }) {
    const node = pickOf(
      nodesWhere(state, ({ membership }) => membership === 'decommissioning'),
      pick,
    );
    if (node === undefined) return undefined;
    world.recommission(node.id);
    return `node ${node.id} is to stay`;
  },
  cut({ state, world }, { picks: [first, second] }) {
    const up = nodesWhere(state, isReachable);
    const a = pickOf(up, first);
    const b = pickOf(
      up.filter((node) => node !== a),
      second,
    );
    if (a === undefined || b === undefined) return undefined;
    world.partitionPair(a.id, b.id);
    return `nodes ${a.id} and ${b.id} do not reach each other`;
  },
  heal({ state, world }, { pick }) {
    const pair = pickOf([...state.cutPairs], pick);
    if (pair === undefined) return undefined;
    const [a = 0, b = 0] = pair.split('-').map(Number);
    world.healPair(a, b);
    return `nodes ${a} and ${b} reach each other`;
  },
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
  stick({ state, world }, { picks: [which, replicaPick], problem }) {
    const range = pickOf([...state.ranges.values()], which);
    const replica = range && pickOf(range.replicas, replicaPick);
    if (range === undefined || replica === undefined || replica.knows !== undefined)
      return undefined;
    const isHolder = range.leases.at(-1)?.storeId === replica.storeId;
    if (problem === 'no_lease' && !isHolder) return undefined;
    world.setProblem(range.id, problem, true, replica.storeId);
    return `range ${range.id} is stuck on node ${replica.nodeId}: ${problem}${isHolder ? ' (lease)' : ''}`;
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
  stale(cluster, { pick, how }) {
    const { start, state } = cluster;
    const gateways = nodesWhere(state, ({ id }) => id <= start.gateways);
    const gateway = pickOf(gateways, pick);
    if (cluster.isStale || gateway === undefined || start.gateways < 2) return undefined;
    if (!gateways.every(isReachable)) return undefined;
    cluster.setStale(gateway.id, how);
    return `the URL of node ${gateway.id} is stale: ${how}`;
  },
  fresh(cluster) {
    if (!cluster.isStale) return undefined;
    cluster.setStale();
    return 'no URL is stale';
  },
  hiccup({ simulator, hiccups }, { endpoint, times, how }) {
    const effects = {
      reset: { kind: 'reset' },
      error: { kind: 'status', status: 500 },
      cut: { kind: 'cut', bytes: 40 },
    } as const;
    hiccups.push({ endpoint, times, fault: simulator.fault({ ...effects[how], endpoint, times }) });
    return `the next ${times} requests of ${endpoint} fail: ${how}`;
  },
  refuse(cluster) {
    cluster.isAdmitted = false;
    cluster.simulator.setQuirk('rangeDescriptors', 'forbidden');
    return 'descriptors are refused';
  },
  admit(cluster) {
    cluster.isAdmitted = true;
    cluster.simulator.setQuirk('rangeDescriptors', 'works');
    return 'descriptors are not refused';
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

function pickOf<T>(items: readonly T[], pick: number): T | undefined {
  return items[Math.floor(pick * items.length)];
}

function nodesWhere(state: WorldState, isMeant: (node: ClusterNode) => boolean): ClusterNode[] {
  return listedNodes(state).filter((node) => !node.isRelic && isMeant(node));
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
