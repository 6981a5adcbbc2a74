import { slotOf, slotsOf } from '#json';
import { LOADS, type Replica, replicaShape } from './replica.ts';

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
  /** The texts of the pretty keys. */
  spanStart: slotOf(replicaShape, 'span', 'start_key'),
  spanEnd: slotOf(replicaShape, 'span', 'end_key'),
} as const;
const SLOTS = slotsOf(replicaShape);

/** The record of a replica that was read as an object, but for its texts. */
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
