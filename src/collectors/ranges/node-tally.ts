import { isId } from '../../cockroach/node.ts';
import { REPORTED_PROBLEMS } from '../../vocabulary.ts';
import { stage } from './known-ranges.ts';
import type { HotCandidates, ProblemReports } from './listed-ranges.ts';
import { createStagingTable, type RangeTable } from './range-table.ts';
import {
  countProblems,
  CPU_NANOS,
  type Lease,
  leaseKindOf,
  LOADS,
  NO_LEASE,
  QUERIES,
  QUERY_BOUNDS,
  type Replica,
  type TableIndexes,
  WRITES,
} from './replica.ts';
import type { TableLoads } from './top-tables.ts';

/** Sums over the replicas of one store. */
export interface StoreTotals {
  replicas: number;
  leases: number;
  quiescent: number;
  ticking: number;
  /** Replicas by index of REPORTED_PROBLEMS. */
  readonly problems: number[];
  /** Sums by index of LOADS. */
  readonly load: Float64Array;
}

/** A node that was read, in a few numbers. */
export interface NodeTotals {
  readonly nodeId: number;
  /** Sums by store id. */
  readonly stores: ReadonlyMap<number, StoreTotals>;
  /** Whether a replica has more load than queries and writes; servers leave zeros out. */
  readonly sentDetails: boolean;
  /** Lease-holding replicas up to each of QUERY_BOUNDS and above the one before. */
  readonly byQueries: readonly number[];
  /** Maxima over the lease-holding replicas; undefined without any. */
  readonly maxQueries: number | undefined;
  readonly maxCpuNanos: number | undefined;
}

/** A store is expected to have up to 5 % more replicas than when it was last read. */
const EXPECTED_GROWTH = 1.05;

/** Ranges that may be listed, of a node or of a scan. */
export interface ListCandidates {
  readonly hot: HotCandidates;
  readonly problems: ProblemReports;
  readonly tables: TableLoads;
}

/** The properties of the scan that a tally reads. */
export interface TallyContext {
  readonly lists: ListCandidates;
  readonly tableIndexes: TableIndexes;
  /** Whether this exporter scans that other node, too. */
  readonly isAssigned: (nodeId: number) => boolean;
  /** Whether the node is the one beside the exporter, which its first replica names. */
  readonly isLocal: boolean;
  /** The stores of the node when it was last read. */
  readonly before?: NodeTotals['stores'] | undefined;
}

/** A store while its node is read. */
interface StoreTally {
  readonly totals: StoreTotals;
  /** Its replicas, which are committed to the known ranges when the node is complete. */
  readonly staged: RangeTable;
}

/**
 * The response of one node while it is read. Nothing of it counts before it is complete: a node that fails half way leaves
 * no trace. This costs up to 32 bytes a replica, for the nodes that are being read.
 */
export class NodeTally {
  nodeId: number;
  /** Elements of the response. */
  elements = 0;
  /** Elements that name the node they come from. */
  named = 0;
  /** Another node that an element came from. */
  unexpectedNodeId: number | undefined;
  readonly lists: ListCandidates;
  readonly order = new ReplicaOrder();
  /** The stores by id. */
  readonly stores = new Map<number, StoreTally>();
  readonly #context: TallyContext;
  #sentDetails = false;
  readonly #byQueries = QUERY_BOUNDS.map(() => 0);
  #maxQueries: number | undefined;
  #maxCpuNanos: number | undefined;

  constructor(nodeId: number, context: TallyContext) {
    this.nodeId = nodeId;
    this.lists = context.lists;
    this.#context = context;
  }

  get totals(): NodeTotals {
    return {
      nodeId: this.nodeId,
      stores: new Map(Array.from(this.stores, ([storeId, { totals }]) => [storeId, totals])),
      sentDetails: this.#sentDetails,
      byQueries: this.#byQueries,
      maxQueries: this.#maxQueries,
      maxCpuNanos: this.#maxCpuNanos,
    };
  }

  /** Counts one element. False when it comes from another node than the one that was queried. */
  count(replica: Replica): boolean {
    const { isLocal } = this.#context;
    const { source_node_id: nodeId, source_store_id: storeId } = replica;
    this.elements += 1;
    if (isId(nodeId)) {
      if (isLocal && this.named === 0) this.nodeId = nodeId;
      if (nodeId !== this.nodeId) {
        this.unexpectedNodeId = nodeId;
        return false;
      }
      this.named += 1;
    }
    const isNodeKnown = !isLocal || this.named > 0;
    const rangeId = replica.desc.range_id;
    if (isNodeKnown && isId(rangeId) && isId(storeId)) {
      this.#countReplica(replica, rangeId, storeId);
    }
    return true;
  }

  #countReplica(replica: Replica, rangeId: number, storeId: number): void {
    const { nodeId } = this;
    const { lists, tableIndexes } = this.#context;
    const lease = replica.lease_history;
    const holdsLease = lease?.replica.store_id === storeId;
    const problems = replica.problems ?? 0;
    const startsAt = replica.span.start_key ?? 0;
    const tableIndex = tableIndexes.numberOf(startsAt);
    const { totals, staged } = this.stores.get(storeId) ?? this.#addStore(storeId);
    const isNew = stage(staged, {
      rangeId,
      problems,
      lease: holdsLease ? leaseKindOf(lease) : NO_LEASE,
      sequence: lease === undefined ? 0 : this.#sequenceOf(lease, holdsLease),
      tableIndex,
    });
    this.order.add(storeId, rangeId, isNew);
    if (!isNew) return;
    totals.replicas += 1;
    if (replica.quiescent === true) totals.quiescent += 1;
    if (replica.ticking === true) totals.ticking += 1;
    if (problems !== 0) {
      countProblems(totals.problems, problems);
      lists.problems.add(problems, { rangeId, nodeId, storeId, tableIndex: startsAt });
    }
    const load = replica.stats;
    this.#addLoad(totals, load);
    const queries = load[QUERIES] || 0;
    const writes = load[WRITES] || 0;
    const cpuNanos = load[CPU_NANOS] || 0;
    if (!holdsLease) {
      lists.tables.add(tableIndex, { ranges: 0, queries: 0, writes: 0, cpuNanos });
      return;
    }
    totals.leases += 1;
    lists.tables.add(tableIndex, { ranges: 1, queries, writes, cpuNanos });
    this.#addHeldLease(queries, cpuNanos);
    const cpuSeconds = Number.isNaN(load[CPU_NANOS]) ? undefined : cpuNanos / 1e9;
    if (!lists.hot.wants(rangeId, queries, cpuSeconds)) return;
    const range = { rangeId, nodeId, storeId, tableIndex: startsAt };
    lists.hot.add({ ...range, queries, writes, cpuSeconds });
  }

  /**
   * The sequence of a lease is taken from the replica that holds it, and from another one only if its holder is scanned by
   * another shard. Example: node 1 says that node 2 holds the lease with sequence 9; a shard that scans both waits for
   * node 2 to say so, as a change counts where the lease is held.
   */
  #sequenceOf({ replica, sequence = 0 }: Lease, holdsLease: boolean): number {
    const holder = replica.node_id ?? 0;
    const isOurs = holder === this.nodeId || this.#context.isAssigned(holder);
    return holdsLease || !isOurs ? sequence : 0;
  }

  #addStore(storeId: number): StoreTally {
    const expected = EXPECTED_GROWTH * (this.#context.before?.get(storeId)?.replicas ?? 0);
    const totals: StoreTotals = {
      replicas: 0,
      leases: 0,
      quiescent: 0,
      ticking: 0,
      problems: REPORTED_PROBLEMS.map(() => 0),
      load: new Float64Array(LOADS.length),
    };
    const store = { totals, staged: createStagingTable(expected) };
    this.stores.set(storeId, store);
    return store;
  }

  #addLoad({ load: sums }: StoreTotals, load: Float64Array): void {
    for (let index = 0; index < LOADS.length; index += 1) {
      const value = load[index] ?? NaN;
      if (Number.isNaN(value)) continue;
      sums[index] = (sums[index] ?? 0) + value;
      if (index > WRITES) this.#sentDetails = true;
    }
  }

  #addHeldLease(queries: number, cpuNanos: number): void {
    const bucket = QUERY_BOUNDS.findIndex((upper) => queries <= upper);
    this.#byQueries[bucket] = (this.#byQueries[bucket] ?? 0) + 1;
    this.#maxQueries = Math.max(this.#maxQueries ?? 0, queries);
    this.#maxCpuNanos = Math.max(this.#maxCpuNanos ?? 0, cpuNanos);
  }
}

/**
 * Why a list of replicas cannot be taken as it is: the server changed the order of the stores between two pages; the list
 * moved on by one replica between two pages; or a replica came twice in one response.
 */
type ListFault = 'order changed' | 'offset moved' | 'repeated';

/**
 * Watches the order in which the replicas of one node arrive. A server draws a new order of its stores for each request and
 * cuts the page out of the whole, so pages of a node with several stores repeat some replicas and lose as many others. With
 * two replicas on each of the stores 1 and 2 and pages of two, the first page may be those of store 1 (of the order 1, 2)
 * and the second one, too (of the order 2, 1).
 */
class ReplicaOrder {
  /** Replicas that had arrived before. */
  repeated = 0;
  #pages = 1;
  #isPageBegin = false;
  #storeId = 0;
  #rangeId = 0;
  /** Stores whose replicas were followed by those of another store. */
  readonly #ended = new Set<number>();
  #isChanged = false;

  add(storeId: number, rangeId: number, isNew: boolean): void {
    if (!isNew) this.repeated += 1;
    const isSameStore = storeId === this.#storeId;
    if (this.#isPageBegin) this.#pages += 1;
    const isMoved = this.#isPageBegin && isSameStore && rangeId === this.#rangeId;
    this.#isPageBegin = false;
    if (isSameStore) {
      if (rangeId <= this.#rangeId && !isMoved) this.#isChanged = true;
    } else {
      this.#ended.add(this.#storeId);
      if (this.#ended.has(storeId)) this.#isChanged = true;
      this.#storeId = storeId;
    }
    this.#rangeId = rangeId;
  }

  /** Begins another page: later replicas belong to it. */
  endPage(): void {
    this.#isPageBegin = true;
  }

  /** Returns the fault of the list so far. In one response only a repeated replica is a fault: the order of its stores does not matter. */
  get fault(): ListFault | undefined {
    if (this.#pages > 1 && this.#isChanged) return 'order changed';
    if (this.repeated === 0) return undefined;
    return this.#pages > 1 ? 'offset moved' : 'repeated';
  }
}
