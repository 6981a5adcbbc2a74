import type { ClusterApi, PollStats } from '../../cockroach/cluster-api.ts';
import { messageOf } from '../../format.ts';
import { inSlices } from '../../time-slice.ts';
import { LISTED_PROBLEMS } from '../../vocabulary.ts';
import type { CollectContext } from '../collector.ts';
import { FailureDomains } from './failure-domains.ts';
import type { KnownRanges, WholeView } from './known-ranges.ts';
import { type KnownVoters, SampleChoice } from './known-voters.ts';
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
  readonly voters: KnownVoters;
}

/** After a scan without failures: what depends on each node, and reports of the ranges that no live one holds. */
export function viewWhole(
  state: WholeViewState,
  { problems }: RangeLists,
  assignment: Assignment,
  readNodes: ReadonlySet<number>,
): WholeView & { readonly isKnown: boolean } {
  const nodes = { ...assignment, toScan: [...readNodes] };
  const domains = new FailureDomains(nodes, !state.hasCompleteScan, state.voters);
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

/** Of all requests for types of a scan: its result must not wait for long. */
const MAX_WAIT_MS = 20_000;

type VoterContext = Pick<
  CollectContext<unknown, { readonly known: KnownRanges } & WholeViewState>,
  keyof PollStats | 'state' | 'nowMs' | 'urls' | 'warn'
>;

/**
 * After all nodes were read: finds out how many voters the ranges of each place have, with few requests for one range of
 * each. A failure leaves the voters unknown, which crdb_ranges_of_unknown_voters admits, and never fails the scan.
 */
export async function learnVoters(
  api: ClusterApi,
  context: VoterContext,
  { toSkip }: Assignment,
): Promise<void> {
  const { state, nowMs, warn } = context;
  const { voters } = state;
  voters.expire(nowMs(), toSkip.length > 0);
  const choice = new SampleChoice(voters, nowMs());
  await inSlices(state.known.chooseSamples(choice));
  if (voters.isReady(nowMs())) await askForTypes(api, context, choice);
  if (voters.failure === undefined || choice.isEmpty) return;
  warn(
    `the voters of ranges with 4 or more replicas are not known (${voters.failure}): crdb_node_dependent_ranges and crdb_locality_dependent_ranges may be too low; let a proxy pass GET /_status/ranges/ and run GRANT SYSTEM VIEWCLUSTERMETADATA for the user`,
  );
}

async function askForTypes(
  api: ClusterApi,
  context: VoterContext,
  choice: SampleChoice,
): Promise<void> {
  const { state, nowMs, urls } = context;
  const { voters } = state;
  const deadline = AbortSignal.timeout(MAX_WAIT_MS);
  try {
    for (const [at, { nodeId, rangeIds }] of choice.requests().entries()) {
      await api.rangeTypes(context, {
        deadline,
        nodeId,
        rangeIds,
        firstUrl: at % urls,
        onRange(range) {
          const place = choice.placeOf(range.rangeId);
          if (place !== undefined) voters.learn(place, range, nowMs());
        },
      });
      voters.succeeded();
    }
  } catch (error) {
    voters.failed(messageOf(error), nowMs());
  }
}
