import { isId } from '../../cockroach/node.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import type { HotCandidates } from './hot-ranges.ts';
import { type Places, stage } from './known-ranges.ts';
import type { ProblemReports } from './problem-ranges.ts';
import { createStagingTable, type RangeTable } from './range-table.ts';
import {
  countProblems,
  CPU_NANOS,
  type Lease,
  leaseKindOf,
  LOADS,
  QUERIES,
  QUERY_BOUNDS,
  type Range,
  WRITES,
} from './range.ts';
import { ReplicaOrder } from './replica-order.ts';
import type { PlaceLoads } from './table-load.ts';

/** Sums over the replicas of one store. */
type StoreTally = ReturnType<typeof createStoreTally>;

function createStoreTally() {
  return {
    replicas: 0,
    leases: 0,
    quiescent: 0,
    ticking: 0,
    /** By index of PROBLEMS. */
    problems: PROBLEMS.map(() => 0),
    /** By index of LOADS. */
    load: new Float64Array(LOADS.length),
  };
}

/** A node that was read, in a few numbers. */
export type ScannedNode = ReturnType<typeof createNode>;

function createNode(nodeId: number) {
  return {
    /** 0 until the first element has named it, where the request did not. */
    nodeId,
    stores: new Map<number, StoreTally>(),
    /** Whether the server sends more than queries and writes; it leaves zeros out. */
    isDetailed: false,
    /** Lease-holding replicas up to each of QUERY_BOUNDS and above the one before. */
    byQueries: QUERY_BOUNDS.map(() => 0),
    /** Of its lease-holding replicas, if it has any. */
    maxQueries: undefined as number | undefined,
    maxCpuNanos: undefined as number | undefined,
  };
}

/** Room for replicas that a store has got since the last scan. */
const SPARE = 1.05;

/** The candidates for the lists of ranges and tables, of a node or of a scan. */
export interface RangeLists {
  readonly hot: HotCandidates;
  readonly problems: ProblemReports;
  readonly tables: PlaceLoads;
}

/** One node's response while it is read. Nothing of it counts before it is complete. */
export class NodeTally {
  readonly node: ScannedNode;
  /** Elements of the response. */
  elements = 0;
  /** Elements that name the node they come from. */
  named = 0;
  /** Another node that an element came from. */
  unexpectedNodeId: number | undefined;
  readonly lists: RangeLists;
  readonly order = new ReplicaOrder();
  /**
   * By id of the store; `staged` is committed to the known ranges when the node is complete. A node that fails half way
   * leaves no trace; this costs up to 34 bytes a replica, for the nodes that are being read.
   */
  readonly stores = new Map<number, { readonly store: StoreTally; readonly staged: RangeTable }>();
  readonly #places: Places;
  readonly #isAssigned: (nodeId: number) => boolean;
  readonly #before: ScannedNode['stores'] | undefined;

  /** `isAssigned`: whether this exporter scans that other node, too; `before`: the stores when it was last read. */
  constructor(
    nodeId: number,
    isAssigned: (nodeId: number) => boolean,
    lists: RangeLists,
    places: Places,
    before?: ScannedNode['stores'],
  ) {
    this.node = createNode(nodeId);
    this.#isAssigned = isAssigned;
    this.lists = lists;
    this.#places = places;
    this.#before = before;
  }

  /** Counts one element. False when it comes from another node than the one that was queried. */
  count(range: Range): boolean {
    const { node } = this;
    this.elements += 1;
    if (isId(range.source_node_id)) {
      if (node.nodeId === 0) node.nodeId = range.source_node_id;
      if (range.source_node_id !== node.nodeId) {
        this.unexpectedNodeId = range.source_node_id;
        return false;
      }
      this.named += 1;
    }
    const rangeId = range.desc.range_id;
    const storeId = range.source_store_id;
    if (node.nodeId !== 0 && isId(rangeId) && isId(storeId)) {
      this.#countReplica(range, rangeId, storeId);
    }
    return true;
  }

  #countReplica(range: Range, rangeId: number, storeId: number): void {
    const lease = range.lease_history;
    const holds = lease?.replica.store_id === storeId;
    const problems = range.problems ?? 0;
    const place = range.span.start_key ?? 0;
    const placeNumber = this.#places.numberOf(place);
    const { store, staged } = this.stores.get(storeId) ?? this.#addStore(storeId);
    const heldKind = holds ? leaseKindOf(lease) : undefined;
    const sequence = lease === undefined ? 0 : this.#sequenceOf(lease, holds);
    const isNew = stage(staged, rangeId, problems, heldKind, sequence, placeNumber);
    this.order.add(storeId, rangeId, isNew);
    if (!isNew) return;
    const { nodeId } = this.node;
    store.replicas += 1;
    if (range.quiescent === true) store.quiescent += 1;
    if (range.ticking === true) store.ticking += 1;
    if (problems !== 0) {
      countProblems(store.problems, problems);
      this.lists.problems.add(rangeId, problems, { nodeId, storeId, place });
    }
    const load = range.stats;
    this.#addLoad(store, load);
    const queries = load[QUERIES] || 0;
    const writes = load[WRITES] || 0;
    const cpuNanos = load[CPU_NANOS] || 0;
    if (!holds) {
      this.lists.tables.add(placeNumber, { ranges: 0, queries: 0, writes: 0, cpuNanos });
      return;
    }
    store.leases += 1;
    this.lists.tables.add(placeNumber, { ranges: 1, queries, writes, cpuNanos });
    this.#addHeldLease(queries, cpuNanos);
    const { hot } = this.lists;
    const cpuSeconds = Number.isNaN(load[CPU_NANOS]) ? undefined : cpuNanos / 1e9;
    if (!hot.wants(rangeId, queries, cpuSeconds)) return;
    hot.add({ rangeId, nodeId, storeId, place, queries, writes, cpuSeconds });
  }

  /**
   * A replica is a source for the lease it holds, and for one that only another shard sees being held. The lease of
   * another node of this exporter is left to its holder: taken from here, its change would not be counted.
   */
  #sequenceOf({ replica, sequence = 0 }: Lease, holds: boolean): number {
    const holder = replica.node_id ?? 0;
    const isOurs = holder === this.node.nodeId || this.#isAssigned(holder);
    return holds || !isOurs ? sequence : 0;
  }

  #addStore(storeId: number) {
    const expected = SPARE * (this.#before?.get(storeId)?.replicas ?? 0);
    const entry = { store: createStoreTally(), staged: createStagingTable(expected) };
    this.node.stores.set(storeId, entry.store);
    this.stores.set(storeId, entry);
    return entry;
  }

  #addLoad({ load: sums }: StoreTally, load: Float64Array): void {
    for (let at = 0; at < LOADS.length; at += 1) {
      const value = load[at] ?? NaN;
      if (Number.isNaN(value)) continue;
      sums[at] = (sums[at] ?? 0) + value;
      if (at > WRITES) this.node.isDetailed = true;
    }
  }

  #addHeldLease(queries: number, cpuNanos: number): void {
    const { node } = this;
    const bucket = QUERY_BOUNDS.findIndex((upper) => queries <= upper);
    node.byQueries[bucket] = (node.byQueries[bucket] ?? 0) + 1;
    node.maxQueries = Math.max(node.maxQueries ?? 0, queries);
    node.maxCpuNanos = Math.max(node.maxCpuNanos ?? 0, cpuNanos);
  }
}
