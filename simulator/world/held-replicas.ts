import type { HeldReplica, Range } from './ranges.ts';
import type { WorldState } from './state.ts';

/**
 * The replicas on all stores, or those of some ranges, by range id: those of the descriptors, and those that were removed
 * from them while their nodes were cut off.
 */
export function heldReplicas(state: WorldState, rangeIds?: Iterable<number>): HeldReplica[] {
  const wanted = rangeIds === undefined ? undefined : new Set(rangeIds);
  const ranges =
    wanted === undefined
      ? [...state.ranges.values()]
      : [...wanted].flatMap((id) => state.ranges.get(id) ?? []);
  const held = ranges.flatMap(heldOf);
  const removed = state.removed.filter(({ range }) => wanted?.has(range.id) !== false);
  if (removed.length === 0 && wanted === undefined) return held;
  return [...held, ...removed].toSorted((a, b) => a.range.id - b.range.id);
}

/** The replicas on one store, without a look at the others. */
export function heldByStore(state: WorldState, store: number): HeldReplica[] {
  const held = state.removed.filter(({ replica }) => replica.storeId === store);
  for (const range of state.ranges.values()) {
    const replica = range.replicas.find(({ storeId }) => storeId === store);
    if (replica === undefined || replica.knows === 'nothing') continue;
    held.push({ range: replica.knows ?? range, replica });
  }
  return held;
}

function heldOf(range: Range): HeldReplica[] {
  return range.replicas.flatMap((replica) =>
    replica.knows === 'nothing' ? [] : [{ range: replica.knows ?? range, replica }],
  );
}
