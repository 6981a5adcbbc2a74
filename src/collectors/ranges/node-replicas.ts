import { isId } from '../../cockroach/node.ts';
import { RequestError } from '../../http/errors.ts';
import { REPORTED_PROBLEMS } from '../../vocabulary.ts';
import { MAX_RANGE_ID } from './range-table.ts';
import {
  countProblems,
  CPU_NANOS,
  type Lease,
  leaseKindOf,
  LOADS,
  NO_LEASE,
  QUERIES,
  QUERY_RATE_BOUNDS,
  type Replica,
  ReplicaColumns,
  WRITES,
  lastTableIdOf,
} from './replica.ts';
import type { ScannedNode, StoreTotals } from './scan-result.ts';

/** The response holds ranges of another node than the one that was requested. */
export class WrongNodeError extends RequestError {}

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
  nodeId: number;
  readonly replicas = new ReplicaColumns();
  /** Elements of the response. */
  elements = 0;
  /** A replica has arrived twice. */
  hasRepeated = false;
  /** The replicas are runs of one store each, with rising range ids, and no store comes back. */
  isInOrder = true;
  readonly #isAssigned: (nodeId: number) => boolean;
  /** The node beside the exporter is the one that its first replica names. */
  #isNodeOpen: boolean;
  readonly #stores = new Map<number, ReadStore>();
  #isDetailed = false;
  readonly #byQueries = QUERY_RATE_BOUNDS.map(() => 0);
  #maxQueries: number | undefined;
  #maxCpuNanos: number | undefined;
  #storeId = 0;
  #withoutProblems = 0;

  constructor(nodeId: number, isLocal: boolean, isAssigned: (nodeId: number) => boolean) {
    this.nodeId = nodeId;
    this.#isNodeOpen = isLocal;
    this.#isAssigned = isAssigned;
  }

  get totals(): ScannedNode {
    return {
      nodeId: this.nodeId,
      stores: new Map(Array.from(this.#stores, ([storeId, { totals }]) => [storeId, totals])),
      isDetailed: this.#isDetailed,
      withoutProblems: this.#withoutProblems,
      byQueries: this.#byQueries,
      maxQueries: this.#maxQueries,
      maxCpuNanos: this.#maxCpuNanos,
    };
  }

  /** Number of stores. */
  get stores(): number {
    return this.#stores.size;
  }

  /** Adds one element, unless it lacks an id. Throws when the response is not that of the node. */
  add(replica: Replica): void {
    const { source_node_id: nodeId, source_store_id: storeId } = replica;
    const rangeId = replica.desc.range_id;
    this.elements += 1;
    if (!isId(nodeId) || !isId(storeId) || !isId(rangeId)) return;
    if (this.#isNodeOpen) this.nodeId = nodeId;
    this.#isNodeOpen = false;
    if (nodeId !== this.nodeId) {
      const message = `${nameList(this.nodeId)}: the response holds ranges of node ${nodeId}`;
      throw new WrongNodeError('decode', message);
    }
    if (rangeId > MAX_RANGE_ID) {
      const message = `the range id ${rangeId} is above ${MAX_RANGE_ID}`;
      throw new RequestError('decode', `${nameList(nodeId)}: ${message}`);
    }
    const store = this.#stores.get(storeId) ?? this.#addStore(storeId);
    const isFollowing =
      storeId === this.#storeId ? rangeId > store.highestId : store.highestId === 0;
    if (!isFollowing) this.isInOrder = false;
    this.#storeId = storeId;
    if (this.#isRepeated(store, storeId, rangeId)) this.hasRepeated = true;
    else this.#count(replica, rangeId, storeId, store.totals);
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

  #count(replica: Replica, rangeId: number, storeId: number, totals: StoreTotals): void {
    const lease = replica.lease_history;
    const holdsLease = lease?.replica.store_id === storeId;
    // Servers send them always, if only as `{}`: what is wrong with a replica without them is not known.
    if (replica.problems === undefined) this.#withoutProblems += 1;
    const problems = replica.problems ?? 0;
    const load = replica.stats;
    totals.replicas += 1;
    if (holdsLease) totals.leases += 1;
    if (replica.quiescent === true) totals.quiescent += 1;
    if (replica.ticking === true) totals.ticking += 1;
    if (problems !== 0) countProblems(totals.problems, problems);
    this.#addLoad(totals, load);
    const queries = load[QUERIES] || 0;
    const cpuNanos = load[CPU_NANOS] || 0;
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
    replicas.rangeIds[index] = rangeId;
    replicas.storeIds[index] = storeId;
    replicas.problems[index] = problems;
    replicas.leases[index] = holdsLease ? leaseKindOf(lease) : NO_LEASE;
    replicas.sequences[index] = lease === undefined ? 0 : this.#sequenceOf(lease, holdsLease);
    replicas.tableIndexes[index] = replica.span.start_key ?? 0;
    replicas.lastTableIds[index] = lastTableIdOf(
      replica.span.start_key ?? 0,
      replica.span.end_key ?? 0,
    );
    replicas.queries[index] = queries;
    replicas.writes[index] = load[WRITES] || 0;
    replicas.cpuNanos[index] = cpuNanos;
    replicas.startKeys[index] = replica.desc.start_key ?? 0;
    replicas.endKeys[index] = replica.desc.end_key ?? 0;
  }

  /**
   * The sequence of a lease is taken from the replica that holds it, and from another one only if its holder is scanned by
   * another shard. Example: node 1 says that node 2 holds the lease with sequence 9; a shard that scans both waits for
   * node 2 to say so, as a change counts where the lease is held.
   */
  #sequenceOf({ replica, sequence = 0 }: Lease, holdsLease: boolean): number {
    const holder = replica.node_id ?? 0;
    const isOurs = holder === this.nodeId || this.#isAssigned(holder);
    return holdsLease || !isOurs ? sequence : 0;
  }

  #addLoad({ load: sums }: StoreTotals, load: Float64Array): void {
    for (let index = 0; index < LOADS.length; index += 1) {
      const value = load[index] ?? NaN;
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
