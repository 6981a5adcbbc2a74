import { LISTED_PROBLEMS } from '../../vocabulary.ts';
import { FailureDomains } from './failure-domains.ts';
import type { WholeView } from './known-ranges.ts';
import type { Place } from './range.ts';
import type { Assignment } from './scan.ts';
import type { RangeLists, ScannedNode } from './tally.ts';

/** Bit of a problem that no replica reports. */
const NO_LIVE_REPLICA = 1 << LISTED_PROBLEMS.indexOf('no_live_replica');

/** What a view of all nodes leaves to the next scan. */
export interface WholeViewState {
  hasCompleteScan: boolean;
  /** Stores of each node when it was last read. */
  readonly storesOf: Map<number, ScannedNode['stores']>;
}

/** After a scan without failures: what depends on each node, and reports of the ranges that no live one holds. */
export function viewWhole(
  state: WholeViewState,
  { problems }: RangeLists,
  assignment: Assignment,
  readNodes: ReadonlySet<number>,
): WholeView & { readonly isKnown: boolean } {
  const nodes = { ...assignment, toScan: [...readNodes] };
  const domains = new FailureDomains(nodes, !state.hasCompleteScan);
  state.hasCompleteScan = true;
  for (const nodeId of state.storesOf.keys()) {
    if (!domains.isMember(nodeId)) state.storesOf.delete(nodeId);
  }
  // The ranges of a node that went down before it was ever read are unknown.
  const isKnown = assignment.toSkip.every((nodeId) => state.storesOf.has(nodeId));
  const onLost = (rangeId: number, nodeId: number, place: Place): void => {
    if (!isKnown) return;
    const stores = [...(state.storesOf.get(nodeId)?.keys() ?? [])];
    const storeId = stores.length === 1 ? (stores[0] ?? 0) : 0;
    problems.add(rangeId, NO_LIVE_REPLICA, { nodeId, storeId, place });
  };
  return { domains, onLost, isKnown };
}
