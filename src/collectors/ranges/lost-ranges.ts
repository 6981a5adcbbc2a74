import { NO_LIVE_REPLICA } from './lists.ts';
import type { ScanContext } from './scan-state.ts';
import type { ScannedRanges } from './verification.ts';

/** A range that no live node reports and whose last descriptor has no replica on one. */
export interface LostRange {
  readonly rangeId: number;
  /** Of its last descriptor, voters first. */
  readonly nodes: readonly number[];
  readonly tableIndexNumber: number;
}

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

/** Adds the range to the list of problems. */
export function listLost(
  { state }: ScanContext,
  { rangeId, nodes, tableIndexNumber }: LostRange,
): void {
  const nodeId = Math.min(...nodes);
  state.problems.addRange(1 << NO_LIVE_REPLICA, {
    rangeId,
    nodeId,
    storeId: state.onlyStores.get(nodeId) ?? 0,
    tableIndex: state.known.tableIndexes.get(tableIndexNumber) ?? 0,
    lastNodes: nodes,
  });
}
