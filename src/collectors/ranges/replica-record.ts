import { type RecordBatch, slotOf, slotsOf } from '#json';
import { LOADS, type Replica, replicaShape } from './replica.ts';
import {
  FIRST_VIRTUAL_INDEX,
  lastTableIdOf,
  parseLastTable,
  parseTableIndex,
  type TableIndex,
} from './table-index.ts';

/** The slots of `replicaShape` in a record of numbers, whose NaN stands for undefined. */
export const SLOT = {
  rangeId: slotOf(replicaShape, 'desc', 'range_id'),
  startKey: slotOf(replicaShape, 'desc', 'start_key'),
  endKey: slotOf(replicaShape, 'desc', 'end_key'),
  nodeId: slotOf(replicaShape, 'source_node_id'),
  storeId: slotOf(replicaShape, 'source_store_id'),
  /** 1 where there is a lease. */
  lease: slotOf(replicaShape, 'lease_history'),
  leaseEpoch: slotOf(replicaShape, 'lease_history', 'epoch'),
  leaseTerm: slotOf(replicaShape, 'lease_history', 'term'),
  leaseSequence: slotOf(replicaShape, 'lease_history', 'sequence'),
  leaseNodeId: slotOf(replicaShape, 'lease_history', 'replica', 'node_id'),
  leaseStoreId: slotOf(replicaShape, 'lease_history', 'replica', 'store_id'),
  problems: slotOf(replicaShape, 'problems'),
  /** The first of LOADS; the others follow. */
  load: slotOf(replicaShape, 'stats', LOADS[0]),
  quiescent: slotOf(replicaShape, 'quiescent'),
  ticking: slotOf(replicaShape, 'ticking'),
} as const;
const SPAN_START = slotOf(replicaShape, 'span', 'start_key');
const SPAN_END = slotOf(replicaShape, 'span', 'end_key');
const SLOTS = slotsOf(replicaShape);

/** The record of a replica that was read as an object. */
export function recordOf(replica: Replica): Float64Array {
  const { desc, lease_history: lease, stats } = replica;
  const record = new Float64Array(SLOTS);
  const put = (slot: number, value: number | boolean | undefined): void => {
    record[slot] = value === undefined ? NaN : Number(value);
  };
  put(SLOT.rangeId, desc.range_id);
  put(SLOT.startKey, desc.start_key);
  put(SLOT.endKey, desc.end_key);
  put(SLOT.nodeId, replica.source_node_id);
  put(SLOT.storeId, replica.source_store_id);
  put(SLOT.lease, lease !== undefined);
  put(SLOT.leaseEpoch, lease?.epoch);
  put(SLOT.leaseTerm, lease?.term);
  put(SLOT.leaseSequence, lease?.sequence);
  put(SLOT.leaseNodeId, lease?.replica.node_id);
  put(SLOT.leaseStoreId, lease?.replica.store_id);
  put(SLOT.problems, replica.problems);
  for (const [index, name] of LOADS.entries()) put(SLOT.load + index, stats[name]);
  put(SLOT.quiescent, replica.quiescent);
  put(SLOT.ticking, replica.ticking);
  return record;
}

/** The tables where a range begins and ends, as far as they are known. */
export interface RangeTables {
  readonly tableIndex: TableIndex;
  /** Where that is another table than the one it begins in; else 0. */
  readonly lastTableId: number;
}

export function tablesOf({ span }: Replica): RangeTables {
  const tableIndex = span.start_key ?? 0;
  return { tableIndex, lastTableId: lastTableIdOf(tableIndex, span.end_key ?? 0) };
}

const SLASH = 0x2f;
/** Slashes in `/Table/104/1/` and in `/Tenant/3/Table/104/1/`. */
const PREFIX_SLASHES = 4;
const VIRTUAL_PREFIX_SLASHES = 6;
/** Longer prefixes are read each time. */
const MAX_PREFIX = 32;

/**
 * Reads the tables of the ranges of a batch. Neighbours mostly lie in one index: the bytes of its prefix, `/Table/104/1/`, are
 * compared instead of read again.
 */
export class TableReader implements RangeTables {
  tableIndex: TableIndex = 0;
  lastTableId = 0;
  readonly #prefix = new Uint8Array(MAX_PREFIX);
  #length = 0;
  #prefixIndex: TableIndex = 0;

  /** Reads those of the range whose record begins in this slot. */
  read(batch: RecordBatch, first: number): void {
    const { words, bytes } = batch;
    const startSlot = first + SPAN_START;
    const endSlot = first + SPAN_END;
    const startEnd = batch.textEnd(startSlot);
    const endEnd = batch.textEnd(endSlot);
    if (startEnd < 0 || endEnd < 0) {
      this.tableIndex = batch.parse(startSlot, parseTableIndex) ?? 0;
      const lastTable = batch.parse(endSlot, parseLastTable) ?? 0;
      this.lastTableId = lastTableIdOf(this.tableIndex, lastTable);
      return;
    }
    const start = words[2 * startSlot] ?? 0;
    const end = words[2 * endSlot] ?? 0;
    if (!this.#begins(bytes, start, startEnd)) this.#learn(bytes, start, startEnd);
    this.lastTableId = this.#begins(bytes, end, endEnd)
      ? 0
      : lastTableIdOf(this.tableIndex, parseLastTable(bytes, end, endEnd));
  }

  /** Whether the prefix begins the key, which then is of the same index. */
  #begins(bytes: Uint8Array, start: number, end: number): boolean {
    const length = this.#length;
    if (length === 0 || start + length > end) return false;
    const prefix = this.#prefix;
    // The ids at its end differ sooner than what all tables begin with.
    for (let at = length - 1; at >= 0; at -= 1) {
      if (bytes[start + at] !== prefix[at]) return false;
    }
    this.tableIndex = this.#prefixIndex;
    return true;
  }

  #learn(bytes: Uint8Array, start: number, end: number): void {
    this.tableIndex = parseTableIndex(bytes, start, end);
    this.#length = 0;
    if (this.tableIndex === 0) return;
    const isVirtual = this.tableIndex >= FIRST_VIRTUAL_INDEX;
    const needed = isVirtual ? VIRTUAL_PREFIX_SLASHES : PREFIX_SLASHES;
    let slashes = 0;
    const last = Math.min(end, start + MAX_PREFIX);
    for (let at = start; at < last; at += 1) {
      this.#prefix[at - start] = bytes[at] ?? 0;
      if (bytes[at] === SLASH) slashes += 1;
      if (slashes < needed) continue;
      this.#length = at + 1 - start;
      this.#prefixIndex = this.tableIndex;
      return;
    }
  }
}
