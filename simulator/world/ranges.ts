import type { SimulatorOptions, Survival } from '../options.ts';
import { createRandom, hashOf, type Random } from '../random.ts';
import { MAX_KEY, MIN_KEY, systemKey, tableKey, type Key } from './keys.ts';
import { generateLeases, type Lease, type LeaseKind } from './leases.ts';
import { type ClusterNode, zoneOf } from './nodes.ts';
import { REPLICA_TYPE, votesAfter, type ReplicaType } from './replica-types.ts';
import type { Table } from './tables.ts';

export const RANGE_PROBLEMS = [
  'unavailable',
  'underreplicated',
  'overreplicated',
  'range_too_large',
] as const;
export const REPLICA_PROBLEMS = [
  'leader_not_lease_holder',
  'no_raft_leader',
  'no_lease',
  'quiescent_equals_ticking',
  'raft_log_too_large',
  'circuit_breaker_error',
  'paused_followers',
] as const;
/** Reported by exactly one replica of the range. */
export type RangeProblem = (typeof RANGE_PROBLEMS)[number];
/** Reported by the replica that has it. */
type ReplicaProblem = (typeof REPLICA_PROBLEMS)[number];
export type Problem = RangeProblem | ReplicaProblem;

export interface Replica {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicaId: number;
  readonly type: ReplicaType;
  /**
   * The range as this replica knows it, since its node was cut off when the range changed; `nothing` when the range was
   * split off meanwhile, so that its store does not hold the replica yet. Undefined when it is up to date.
   */
  readonly knows: Range | 'nothing' | undefined;
  /** What it reports of itself; of the problems of ranges, what it claims and the others do not. */
  readonly flags: Set<Problem>;
  /** Problems that it reports once, as between two leaders. */
  readonly passing: Set<Problem>;
  quiescent: boolean;
  ticking: boolean;
  /** The number of newest leases that this replica does not know yet. */
  lag: number;
}

/** The nodes on which a range is to be. */
export interface Placement {
  readonly voters: readonly number[];
  readonly nonVoters: readonly number[];
}

/** A range; id, keys, replicas, next replica id and generation are its descriptor. */
export interface Range {
  readonly id: number;
  readonly start: Key;
  end: Key;
  /** The table in which the span begins; undefined for system ranges. */
  readonly tableId: number | undefined;
  replicas: Replica[];
  nextReplicaId: number;
  /** Grows with each change of keys or replicas. */
  generation: number;
  /** Oldest first; the last is the current one. */
  leases: Lease[];
  /** What its zone asks for: voters, and replicas in all. */
  wantedVoters: number;
  wantedReplicas: number;
  /** Where its replicas are moving, step by step; undefined when they stay. */
  goal: Placement | undefined;
  /** Average queries per second at the leaseholder; 0 is an idle range. */
  queriesPerSecond: number;
  /** CPU at the leaseholder beside that of the queries, nanoseconds per second: few expensive ones. */
  extraCpuNanos: number;
  /** Problems set by setProblem. */
  readonly forced: Set<RangeProblem>;
}

/** A replica on a store, with the range as that replica knows it. */
export interface HeldReplica {
  readonly range: Range;
  readonly replica: Replica;
  /** A merge left it behind: no range covers its keys with it any more, and it stays. */
  readonly isLeftOver?: boolean;
}

/** Time series of the DB Console: the only system ranges that nothing needs. */
const TIME_SERIES = { start: systemKey('tsd', 'tsd'), end: systemKey('tse', 'tse') };
const SYSTEM_KEYS: readonly Key[] = [
  systemKey('NodeLiveness', 'liveness-'),
  systemKey('NodeLivenessMax', 'liveness.'),
  TIME_SERIES.start,
  TIME_SERIES.end,
];
/** Replicas of meta, liveness and system tables, where there are enough nodes. */
const SYSTEM_REPLICAS = 5;
const IDLE_SHARE = 0.25;
const MAX_QUERIES_PER_SECOND = 280;

/** The ranges of a new world: the whole key space without gaps, replicas on distinct nodes. */
export function generateRanges(
  options: SimulatorOptions,
  nodes: readonly ClusterNode[],
  tables: readonly Table[],
  startMs: number,
): Map<number, Range> {
  const random = createRandom(options.seed ^ 0x72616e67);
  const systemRandom = createRandom(options.seed ^ 0x7379_7374);
  const bounds = splitKeySpace(options, tables);
  const ranges = new Map<number, Range>();
  for (let id = 1; id < bounds.length; id++) {
    const start = bounds[id - 1] ?? { key: MIN_KEY, tableId: undefined };
    const end = bounds[id] ?? { key: MAX_KEY, tableId: undefined };
    const survival = survivalOf(options, tables, start.tableId);
    const span = { start: start.key, end: end.key, tableId: start.tableId };
    const count = isNeededByAll(span) ? systemReplicas(options) : options.replication;
    const placed =
      survival === undefined
        ? placeReplicas(nodes, options.replication, random)
        : placeRegions(nodes, survival, random);
    const replicas =
      survival === undefined ? placeReplicas(nodes, count, systemRandom, placed) : placed;
    const wantedVoters = survival === undefined ? count : VOTERS[survival].all;
    ranges.set(id, {
      id,
      ...span,
      replicas,
      nextReplicaId: replicas.length + 1,
      generation: firstGeneration(options.seed, id),
      leases: generateLeases(
        replicas.filter(votesAfter),
        random,
        startMs,
        leaseKindOf(options, span),
      ),
      wantedVoters,
      wantedReplicas: wantedVoters + replicas.filter((replica) => !votesAfter(replica)).length,
      goal: undefined,
      queriesPerSecond: random.chance(IDLE_SHARE) ? 0 : generateLoad(random),
      extraCpuNanos: 0,
      forced: new Set(),
    });
  }
  return ranges;
}

/** Of a chosen release: its default, but for the ranges that liveness itself needs. */
function leaseKindOf(
  { release }: SimulatorOptions,
  span: Parameters<typeof isNeededByAll>[0],
): LeaseKind | undefined {
  if (release === undefined) return undefined;
  return isNeededByAll(span) ? 'expiration' : 'leader';
}

/** Some are about to exceed 16 bits. */
function firstGeneration(seed: number, id: number): number {
  const drawn = hashOf('generation', seed, id) % 60;
  return id % 29 === 0 ? 65_530 + (drawn % 6) : drawn;
}

interface Bound {
  readonly key: Key;
  readonly tableId: number | undefined;
}

/** Start keys of `count` ranges and the end of the last: system ranges first, then the tables. */
function splitKeySpace(
  { ranges: count, virtualCluster }: SimulatorOptions,
  tables: readonly Table[],
): Bound[] {
  const bounds: Bound[] = [{ key: MIN_KEY, tableId: undefined }];
  for (const key of SYSTEM_KEYS.slice(0, count - 1)) bounds.push({ key, tableId: undefined });
  const left = count - bounds.length;
  tables.forEach((table, index) => {
    const share =
      Math.floor((left * (index + 1)) / tables.length) - Math.floor((left * index) / tables.length);
    for (let cut = 0; cut < share; cut++) {
      const rest = cut === 0 ? [] : [1, cut * 2500];
      const key = tableKey(virtualCluster, table.id, ...rest);
      bounds.push({ key, tableId: table.id });
    }
  });
  bounds.push({ key: MAX_KEY, tableId: undefined });
  return bounds;
}

/** A few hot ranges, many with little load. */
function generateLoad(random: Random): number {
  return MAX_QUERIES_PER_SECOND * random.next() ** 6 + random.next();
}

/** Whether it holds meta keys, liveness, node records or system tables: without them no login and no statement works. */
export function isNeededByAll({
  start,
  end,
  tableId,
}: Pick<Range, 'start' | 'end' | 'tableId'>): boolean {
  return tableId === undefined && !(start === TIME_SERIES.start && end === TIME_SERIES.end);
}

function systemReplicas({ nodes, replication }: SimulatorOptions): number {
  const isSmall = nodes < SYSTEM_REPLICAS || replication < 3;
  return isSmall ? replication : Math.max(SYSTEM_REPLICAS, replication);
}

/**
 * Adds replicas up to `count`, spread over zones as the allocator does: no two in one zone while there is another. What is
 * placed first is the same whatever is added later, so that all other ranges lie where they would without it.
 */
function placeReplicas(
  nodes: readonly ClusterNode[],
  count: number,
  random: Random,
  placed: readonly Replica[] = [],
): Replica[] {
  const taken = new Set(placed.map(({ nodeId }) => nodeId));
  const free = nodes.filter(({ id }) => !taken.has(id));
  const zones = new Set(
    nodes.filter(({ id }) => taken.has(id)).map(({ locality }) => locality.at(-1)?.value),
  );
  const replicas = [...placed];
  while (replicas.length < count && free.length > 0) {
    const at = random.integer(0, free.length - 1);
    const node = free[at];
    if (node === undefined) break;
    const isInNewZone = (one: ClusterNode) => !zones.has(zoneOf(one));
    if (!isInNewZone(node) && free.some(isInNewZone)) continue;
    free.splice(at, 1);
    zones.add(zoneOf(node));
    replicas.push(makeReplica(node, random.pick(node.stores).id, replicas.length + 1));
  }
  return replicas;
}

function survivalOf(
  { survival }: SimulatorOptions,
  tables: readonly Table[],
  tableId: number | undefined,
): Survival | undefined {
  const table = tables.find(({ id }) => id === tableId);
  return table === undefined ? undefined : (survival[table.name] ?? survival[table.database]);
}

/** Voters that a database with the survival goal has in its home region, and in all. */
const VOTERS = { zone: { home: 3, all: 3 }, region: { home: 2, all: 5 } } as const;

/** As in a multi-region database, whose home is the first region: each other region gets a replica that it lacks. */
function placeRegions(
  nodes: readonly ClusterNode[],
  survival: Survival,
  random: Random,
): Replica[] {
  const { home, all } = VOTERS[survival];
  const byRegion = [...Map.groupBy(nodes, (node) => node.locality[0]?.value ?? '').values()];
  const free = byRegion.map((members) => shuffled(members, random));
  const replicas: Replica[] = [];
  const place = (region: number, type: ReplicaType): void => {
    const node = free[region]?.pop();
    if (node === undefined) return;
    const { id } = random.pick(node.stores);
    replicas.push(makeReplica(node, id, replicas.length + 1, type));
  };
  // A region with too few nodes leaves voters to the next one: of 3 voters a home with 2 nodes has 2.
  const placeVoter = (region: number): void => {
    const regions = free.map((_, index) => (region + index) % free.length);
    place(regions.find((index) => free[index]?.length !== 0) ?? region, REPLICA_TYPE.voter);
  };
  for (let count = 0; count < home; count++) placeVoter(0);
  for (let count = home; count < all; count++)
    placeVoter(free.length === 1 ? 0 : 1 + ((count - home) % (free.length - 1)));
  for (let region = 1; region < free.length; region++) {
    const ids = byRegion[region]?.map(({ id }) => id) ?? [];
    if (!replicas.some(({ nodeId }) => ids.includes(nodeId))) place(region, REPLICA_TYPE.nonVoter);
  }
  return replicas;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
}

/** A healthy replica on a store of the node. */
export function makeReplica(
  node: ClusterNode,
  storeId: number,
  replicaId: number,
  type: ReplicaType = REPLICA_TYPE.voter,
): Replica {
  return {
    nodeId: node.id,
    storeId,
    replicaId,
    type,
    knows: undefined,
    flags: new Set(),
    passing: new Set(),
    quiescent: false,
    ticking: true,
    lag: 0,
  };
}
