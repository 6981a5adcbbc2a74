import { REPORTED_PROBLEMS } from '#base';
import { isId, RequestError } from '#cockroach';
import type { RecordBatch } from '#json';
import { nameKey } from './key-space.ts';
import { MAX_RANGE_ID } from './range-map.ts';
import { recordOf, SLOT } from './replica-record.ts';
import {
  countProblems,
  EXPIRATION,
  leaseKindOf,
  LOADS,
  QUERY_RATE_BOUNDS,
  type Replica,
  ReplicaColumns,
  LOAD_INDEX,
} from './replica.ts';
import type { ScannedNode, StoreTotals } from './scan-result.ts';
import { lastTableIdOf, parseLastTable, parseTableIndex, type TableIndex } from './table-index.ts';

// A constant is read faster than a property, for each replica.
const { queries: QUERIES, writes: WRITES, cpuNanos: CPU_NANOS } = LOAD_INDEX;

/** The response holds ranges of another node than the one that was requested. */
export class WrongNodeError extends RequestError {}

const ONE_NODE =
  'look for a proxy or load balancer that caches responses or sends requests for one node to another, and leave collectors.ranges.route at auto; local needs the URL of one node';

/** A store while its node is read. */
interface ReadStore {
  readonly totals: StoreTotals;
  /** The largest id of the ranges that it has listed; 0 before the first. */
  highestId: number;
  /** The ranges that it has listed; only kept once their ids do not rise. */
  rangeIds: Set<number> | undefined;
}

/**
 * The replicas of one node while it is read. None counts before the node is complete: a node that fails half way leaves no
 * trace. This costs about 80 bytes a replica, for the nodes that are being read.
 */
export class NodeReplicas {
  /** 0 of the node beside the exporter until its first replica names it: another one may have taken its place. */
  nodeId: number;
  readonly replicas = new ReplicaColumns();
  /** Elements of the response. */
  elements = 0;
  /** A replica has arrived twice. */
  hasRepeated = false;
  /** The replicas are runs of one store each, with rising range ids, and no store comes back. */
  isInOrder = true;
  readonly #isAssigned: (nodeId: number) => boolean;
  readonly #stores = new Map<number, ReadStore>();
  #isDetailed = false;
  readonly #byQueries = QUERY_RATE_BOUNDS.map(() => 0);
  #maxQueries: number | undefined;
  #maxCpuNanos: number | undefined;
  #storeId = 0;
  #withoutProblems = 0;
  #knowsLeaseKinds = true;

  constructor(nodeId: number, isLocal: boolean, isAssigned: (nodeId: number) => boolean) {
    this.nodeId = isLocal ? 0 : nodeId;
    this.#isAssigned = isAssigned;
  }

  get totals(): ScannedNode {
    return {
      nodeId: this.nodeId,
      stores: new Map(Array.from(this.#stores, ([storeId, { totals }]) => [storeId, totals])),
      isDetailed: this.#isDetailed,
      withoutProblems: this.#withoutProblems,
      knowsLeaseKinds: this.#knowsLeaseKinds,
      byQueries: this.#byQueries,
      maxQueries: this.#maxQueries,
      maxCpuNanos: this.#maxCpuNanos,
    };
  }

  /** Number of stores. */
  get stores(): number {
    return this.#stores.size;
  }

  /** Adds elements that were read with `replicaShape`. Throws when another node has answered. */
  addBatch(batch: RecordBatch): void {
    const { numbers, slots } = batch;
    let { first } = batch;
    for (let left = batch.count; left > 0; left -= 1) {
      const tableIndex = batch.parse(first + SLOT.spanStart, parseTableIndex);
      this.#add(numbers, first, tableIndex, batch.parse(first + SLOT.spanEnd, parseLastTable));
      first += slots;
    }
  }

  /** Adds a replica that was read as an object. Throws like `addBatch`. */
  addReplica(replica: Replica): void {
    this.#add(recordOf(replica), 0, replica.span.start_key, replica.span.end_key);
  }

  /**
   * Adds the element whose record begins at a place of `record`, unless it lacks an id. Throws when another node has
   * answered.
   */
  #add(record: Float64Array, first: number, tableIndex: TableIndex = 0, lastTable = 0): void {
    const nodeId = record[first + SLOT.nodeId];
    const storeId = record[first + SLOT.storeId];
    const rangeId = record[first + SLOT.rangeId];
    this.elements += 1;
    if (!isId(nodeId) || !isId(storeId) || !isId(rangeId)) return;
    if (this.nodeId === 0) this.nodeId = nodeId;
    if (nodeId !== this.nodeId) {
      const message = `${nameList(this.nodeId)}: the response holds ranges of node ${nodeId}`;
      throw new WrongNodeError('decode', message, { remedy: ONE_NODE });
    }
    if (rangeId > MAX_RANGE_ID) {
      const message = `the range id ${rangeId} is above ${MAX_RANGE_ID}`;
      const remedy = 'no cluster has this many ranges: look for a proxy that changes numbers';
      throw new RequestError('decode', `${nameList(nodeId)}: ${message}`, { remedy });
    }
    const store = this.#stores.get(storeId) ?? this.#addStore(storeId);
    const isFollowing =
      storeId === this.#storeId ? rangeId > store.highestId : store.highestId === 0;
    if (!isFollowing) this.isInOrder = false;
    this.#storeId = storeId;
    if (this.#isRepeated(store, storeId, rangeId)) this.hasRepeated = true;
    else {
      const index = this.#count(record, first, store.totals);
      this.replicas.tableIndexes[index] = tableIndex;
      this.replicas.lastTableIds[index] = lastTableIdOf(tableIndex, lastTable);
    }
  }

  #addStore(storeId: number): ReadStore {
    const totals = {
      replicas: 0,
      leases: 0,
      quiescent: 0,
      ticking: 0,
      problems: REPORTED_PROBLEMS.map(() => 0),
      load: new Float64Array(LOADS.length),
    };
    const store = { totals, highestId: 0, rangeIds: undefined };
    this.#stores.set(storeId, store);
    return store;
  }

  #isRepeated(store: ReadStore, storeId: number, rangeId: number): boolean {
    const { rangeIds, storeIds, length } = this.replicas;
    const isRising = rangeId > store.highestId;
    if (isRising) store.highestId = rangeId;
    else {
      const listed = rangeIds.subarray(0, length);
      store.rangeIds ??= new Set(listed.filter((_, index) => storeIds[index] === storeId));
    }
    if (store.rangeIds?.has(rangeId) === true) return true;
    store.rangeIds?.add(rangeId);
    return false;
  }

  /** Returns the index of the replica in the columns. */
  #count(record: Float64Array, first: number, totals: StoreTotals): number {
    const storeId = record[first + SLOT.storeId] ?? 0;
    const hasLease = record[first + SLOT.lease] === 1;
    const holdsLease = hasLease && record[first + SLOT.leaseStoreId] === storeId;
    // Servers send them always, if only as `{}`: what is wrong with a replica without them is not known.
    const reported = record[first + SLOT.problems] ?? NaN;
    if (Number.isNaN(reported)) this.#withoutProblems += 1;
    const problems = reported || 0;
    totals.replicas += 1;
    if (holdsLease) totals.leases += 1;
    if (record[first + SLOT.quiescent] === 1) totals.quiescent += 1;
    if (record[first + SLOT.ticking] === 1) totals.ticking += 1;
    if (problems !== 0) countProblems(totals.problems, problems);
    this.#addLoad(totals, record, first + SLOT.load);
    const queries = record[first + SLOT.load + QUERIES] || 0;
    const cpuNanos = record[first + SLOT.load + CPU_NANOS] || 0;
    if (holdsLease) {
      let bucket = 0;
      while (queries > (QUERY_RATE_BOUNDS[bucket] ?? Infinity)) bucket += 1;
      this.#byQueries[bucket] = (this.#byQueries[bucket] ?? 0) + 1;
      // Setting a fraction each time would allocate it.
      if (queries > (this.#maxQueries ?? -1)) this.#maxQueries = queries;
      if (cpuNanos > (this.#maxCpuNanos ?? -1)) this.#maxCpuNanos = cpuNanos;
    }
    const { replicas } = this;
    const index = replicas.append();
    replicas.rangeIds[index] = record[first + SLOT.rangeId] ?? 0;
    replicas.storeIds[index] = storeId;
    replicas.problems[index] = problems;
    if (hasLease) {
      const term = record[first + SLOT.leaseTerm] ?? 0;
      const epoch = record[first + SLOT.leaseEpoch] ?? 0;
      if (holdsLease) {
        const kind = leaseKindOf(term, epoch);
        if (kind === undefined) this.#knowsLeaseKinds = false;
        // Any kind but none: the lease is held.
        replicas.leases[index] = kind ?? EXPIRATION;
      }
      replicas.sequences[index] = this.#sequenceOf(record, first, holdsLease);
    }
    replicas.queries[index] = queries;
    replicas.writes[index] = record[first + SLOT.load + WRITES] || 0;
    replicas.cpuNanos[index] = cpuNanos;
    replicas.startKeys[index] = nameKey(record[first + SLOT.startKey] || 0);
    replicas.endKeys[index] = nameKey(record[first + SLOT.endKey] || 0);
    return index;
  }

  /**
   * The sequence of a lease is taken from the replica that holds it, and from another one only if its holder is scanned by
   * another shard. Example: node 1 says that node 2 holds the lease with sequence 9; a shard that scans both waits for
   * node 2 to say so, as a change counts where the lease is held.
   */
  #sequenceOf(record: Float64Array, first: number, holdsLease: boolean): number {
    const sequence = record[first + SLOT.leaseSequence] || 0;
    const holder = record[first + SLOT.leaseNodeId] || 0;
    const isOurs = holder === this.nodeId || this.#isAssigned(holder);
    return holdsLease || !isOurs ? sequence : 0;
  }

  #addLoad({ load: sums }: StoreTotals, record: Float64Array, first: number): void {
    for (let index = 0; index < LOADS.length; index += 1) {
      const value = record[first + index] ?? NaN;
      if (Number.isNaN(value)) continue;
      sums[index] = (sums[index] ?? 0) + value;
      if (index > WRITES) this.#isDetailed = true;
    }
  }
}

/** How messages name the list of a node. */
export function nameList(nodeId: number): string {
  return `ranges of node ${nodeId === 0 ? 'local' : nodeId}`;
}
