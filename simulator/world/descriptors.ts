import { canLead, leadersOf, validLeaseOf } from './leadership.ts';
import { withNextLease } from './leases.ts';
import type { Range, Replica } from './ranges.ts';
import { canReach } from './reachability.ts';
import { votesAfter } from './replica-types.ts';
import { nodeOf, type WorldState } from './state.ts';

/**
 * Changes keys or replicas of a range and raises its generation. Replicas that are cut off keep what they knew of the
 * range, also those that the range no longer names.
 */
export function changeRange(
  state: WorldState,
  range: Range,
  change: Partial<Pick<Range, 'end' | 'replicas'>>,
): void {
  const before = snapshotOf(range);
  const cutOff = range.replicas.filter((replica) => !hears(state, range, replica));
  Object.assign(range, change);
  range.generation += 1;
  for (const replica of cutOff) {
    const known = replica.knows ?? before;
    const at = range.replicas.findIndex(({ replicaId }) => replicaId === replica.replicaId);
    const left = range.replicas[at];
    if (left !== undefined) range.replicas[at] = { ...left, knows: known };
    else if (known !== 'nothing') {
      state.removed.push({ range: known, replica: { ...replica, knows: known } });
    }
  }
  dropReplaced(state, range);
}

/** A store holds one replica of a range: a new one replaces one that was removed from the descriptor. */
function dropReplaced(state: WorldState, { id, replicas }: Range): void {
  state.removed = state.removed.filter(
    (held) =>
      held.range.id !== id || replicas.every(({ storeId }) => storeId !== held.replica.storeId),
  );
}

/** The range as it is now, for a replica that will not learn of changes; it serves nobody. */
export function snapshotOf(range: Range): Range {
  const replicas = range.replicas.map((replica): Replica => ({ ...replica, knows: undefined }));
  return { ...range, replicas, queriesPerSecond: 0, extraCpuNanos: 0, forced: new Set() };
}

/** Whether the replica learns of changes of the range. */
export function hears(state: WorldState, range: Range, { nodeId }: Replica): boolean {
  const { process, isBehind } = nodeOf(state, nodeId);
  if (process !== 'up' || isBehind) return false;
  const holder = validLeaseOf(state, range);
  return holder === undefined || canReach(state, holder.nodeId, nodeId);
}

/**
 * What follows from a change of nodes, for all ranges; replicas that were removed go from nodes that can know of it,
 * unless a merge left them behind.
 */
export function settle(state: WorldState): void {
  for (const range of state.ranges.values()) settleRange(state, range);
  state.removed = state.removed.filter(({ replica, isLeftOver }) => {
    if (isLeftOver) return true;
    const { process, isBehind } = nodeOf(state, replica.nodeId);
    return process !== 'up' || isBehind;
  });
}

/** A lease that is not valid moves to a replica that can lead, and nodes that are not cut off learn what the range is. */
export function settleRange(state: WorldState, range: Range): void {
  moveLease(state, range);
  if (range.replicas.some(({ knows }) => knows !== undefined)) catchUp(state, range);
}

/** Without a majority the lease cannot move. */
function moveLease(state: WorldState, range: Range): void {
  const holderStore = range.leases.at(-1)?.storeId;
  const holder = range.replicas.find(({ storeId }) => storeId === holderStore);
  if (holder !== undefined && votesAfter(holder) && canLead(state, range, holder.nodeId)) return;
  const [next] = leadersOf(state, range);
  if (next === undefined) return;
  range.leases = withNextLease(range.leases, next, 'request', state.now());
}

function catchUp(state: WorldState, range: Range): void {
  if (validLeaseOf(state, range) === undefined) return;
  range.replicas = range.replicas.map((replica) =>
    replica.knows !== undefined && hears(state, range, replica)
      ? { ...replica, knows: undefined }
      : replica,
  );
}
