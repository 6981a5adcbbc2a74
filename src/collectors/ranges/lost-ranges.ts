import { nodesOf } from './descriptors.ts';
import { NO_LIVE_REPLICA } from './problem-ranges.ts';
import type { ScanContext } from './scan-state.ts';
import type { ScannedRanges } from './verification.ts';

/**
 * Whether the range of this slot is lost: its last descriptor is known, no node reports it, and none of the nodes in that
 * descriptor is live. While the key space is complete (`isNothingMissing`), no range is lost. `judgeRanges` also leaves out a
 * range while one of its nodes has come up since the scan began.
 */
export function isLost(
  { known, verification, isNothingMissing }: ScannedRanges & { readonly isNothingMissing: boolean },
  slot: number,
): boolean {
  const { found } = known.map.columns;
  const count = known.map.replicasOf(slot);
  if (found[slot] !== 0 || count === 0 || isNothingMissing) return false;
  // The nodes of some replicas are not known: they may be live.
  if (count > known.map.placesOf(slot)) return false;
  return verification.liveOf(slot) === 0;
}

/** Adds the range of this slot to the list of problems. */
export function listLost({ state }: ScanContext, slot: number): void {
  const { map, tableIndexes } = state.known;
  const { ids, tableIndexes: numbers } = map.columns;
  const lastNodes = nodesOf(map, slot);
  const nodeId = Math.min(...lastNodes);
  state.problems.addRange(1 << NO_LIVE_REPLICA, {
    rangeId: ids[slot] ?? 0,
    nodeId,
    storeId: state.members.onlyStoreOf(nodeId),
    tableIndex: tableIndexes.get(numbers[slot] ?? 0) ?? 0,
    lastNodes,
  });
}
