import { nodesOf } from './descriptors.ts';
import { NO_LIVE_REPLICA } from './lists.ts';
import type { ScanContext } from './scan-state.ts';
import type { ScannedRanges } from './verification.ts';

/** Whether no live node reports the range of this slot although its last descriptor is known, and all of its nodes are not live. */
export function isLost(
  { known, verification, isNothingMissing }: ScannedRanges & { readonly isNothingMissing: boolean },
  slot: number,
): boolean {
  const { found } = known.table.columns;
  const count = known.table.replicasOf(slot);
  if (found[slot] !== 0 || count === 0 || isNothingMissing) return false;
  // Of some replicas it is not known on which nodes they are: these may be live.
  if (count > known.table.placesOf(slot)) return false;
  return verification.liveOf(slot) === 0;
}

/** Adds the range of this slot to the list of problems. */
export function listLost({ state }: ScanContext, slot: number): void {
  const { table, tableIndexes } = state.known;
  const { ids, tableIndexes: numbers } = table.columns;
  const lastNodes = nodesOf(table, slot);
  const nodeId = Math.min(...lastNodes);
  state.problems.addRange(1 << NO_LIVE_REPLICA, {
    rangeId: ids[slot] ?? 0,
    nodeId,
    storeId: state.onlyStores.get(nodeId) ?? 0,
    tableIndex: tableIndexes.get(numbers[slot] ?? 0) ?? 0,
    lastNodes,
  });
}
