import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { messageOf } from '../../format.ts';
import { inSlices } from '../../time-slice.ts';
import type { CollectorPoll } from '../collector.ts';
import { MIN_WITH_NON_VOTERS, type VotersOf } from './failure-domains.ts';
import type { KnownRanges, SampledRange } from './known-ranges.ts';

const MINUTE_MS = 60_000;
const MAX_AGE_MS = 60 * MINUTE_MS;
/** A sample of this age is taken again, so that it does not expire before. */
const REFRESH_AGE_MS = 30 * MINUTE_MS;
/** A request that failed is followed by a pause. */
const PAUSE_MS = 5 * MINUTE_MS;
/** Requests and ranges after each complete scan. */
const MAX_REQUESTS = 5;
const MAX_SAMPLES = 100;
/** All requests of a scan end after this time: its result must not wait for long. */
const MAX_WAIT_MS = 20_000;
/** Types of replicas in a range whose configuration is not changing. */
const VOTER = 0;
const NON_VOTER = 5;

/** A number above all numbers of replicas. */
const KEY_STEP = 1024;

/** Ranges of one table index share a zone configuration, so that one with as many replicas stands for all. */
function keyOf({
  tableIndexNumber,
  replicas,
}: Pick<SampledRange, 'tableIndexNumber' | 'replicas'>): number {
  return tableIndexNumber * KEY_STEP + replicas;
}

/** Also true of a time in the future: the clock was set back, and nobody knows how much time has passed. */
function hasPassed(lengthMs: number, sinceMs: number, nowMs: number): boolean {
  return nowMs < sinceMs || nowMs - sinceMs >= lengthMs;
}

interface VoterSample {
  /** Undefined where the range that was requested has another number of replicas. */
  readonly voters: number | undefined;
  readonly sinceMs: number;
}

type VoterContext = Omit<CollectorPoll<unknown, unknown>, 'options' | 'state'>;

/** How many voters ranges have, by the number of their table index and their number of replicas. */
export class KnownVoters {
  readonly #samples = new Map<number, VoterSample>();
  /** The range that was requested last, by the same key. */
  readonly #lastRequested = new Map<number, number>();
  #pausedSinceMs = -Infinity;
  /** Why the last request failed; undefined after one that succeeded. */
  #failure: string | undefined;

  readonly votersOf: VotersOf = (tableIndexNumber, replicas) =>
    this.#samples.get(keyOf({ tableIndexNumber, replicas }))?.voters;

  /**
   * Finds out, after all nodes were read, how many voters the ranges have, with few requests. A failure leaves the voters
   * unknown, which crdb_ranges_of_unknown_voters admits, and never fails the scan.
   */
  async learn(
    api: ClusterApi,
    context: VoterContext,
    known: KnownRanges,
    isNodeDown: boolean,
  ): Promise<void> {
    const nowMs = context.nowMs();
    for (const [key, { sinceMs }] of this.#samples) {
      // While a node is down types hardly change, and may not be readable.
      if (!isNodeDown && hasPassed(MAX_AGE_MS, sinceMs, nowMs)) this.#samples.delete(key);
    }
    const chosen = await this.#choose(known, nowMs);
    if (chosen.length > 0 && hasPassed(PAUSE_MS, this.#pausedSinceMs, nowMs)) {
      await this.#request(api, context, known, chosen);
    }
    // A sample that could not be taken again is still used.
    const lacksSome = chosen.some((range) => !this.#samples.has(keyOf(range)));
    if (this.#failure === undefined || !lacksSome) return;
    context.warnings.add(
      `the voters of ranges with 4 or more replicas are not known (${this.#failure}): crdb_node_dependent_ranges and crdb_locality_dependent_ranges may be too low; let a proxy pass GET /_status/ranges/ and run GRANT SYSTEM VIEWCLUSTERMETADATA for the user`,
    );
  }

  /**
   * Chooses a range for each table index and number of replicas of which the voters are not known, or were read more than
   * 30 minutes ago: where a replica is missing first, then what is not known, then the oldest.
   */
  async #choose(known: KnownRanges, nowMs: number): Promise<readonly SampledRange[]> {
    const chosen = new Map<number, SampledRange>();
    const urgent = new Set<number>();
    const offer = (range: SampledRange): void => {
      const key = keyOf(range);
      const sinceMs = this.#samples.get(key)?.sinceMs;
      if (sinceMs !== undefined && !hasPassed(REFRESH_AGE_MS, sinceMs, nowMs)) return;
      if (range.isMissingSome) urgent.add(key);
      // The range that was requested last may have given no answer, so another range is better.
      const other = chosen.get(key);
      const isOtherBetter = other !== undefined && other.rangeId !== this.#lastRequested.get(key);
      if (!isOtherBetter) chosen.set(key, range);
    };
    await inSlices(known.offerSamples(MIN_WITH_NON_VOTERS, offer));
    const rank = (key: number): number =>
      urgent.has(key) ? -1 : (this.#samples.get(key)?.sinceMs ?? 0);
    return [...chosen].toSorted(([a], [b]) => rank(a) - rank(b)).map(([, range]) => range);
  }

  async #request(
    api: ClusterApi,
    context: VoterContext,
    known: KnownRanges,
    chosen: readonly SampledRange[],
  ): Promise<void> {
    const deadline = AbortSignal.timeout(MAX_WAIT_MS);
    try {
      for (const [nodeId, ranges] of rangesByNode(known, chosen)) {
        for (const range of ranges) this.#lastRequested.set(keyOf(range), range.rangeId);
        await api.rangeDescriptors(context, {
          deadline,
          nodeId,
          rangeIds: ranges.map(({ rangeId }) => rangeId),
          firstUrl: nodeId % context.urls,
          onRange: (rangeId, types) => {
            const range = ranges.find((each) => each.rangeId === rangeId);
            if (range !== undefined) this.#add(range, types, context.nowMs());
          },
        });
        this.#failure = undefined;
      }
    } catch (error) {
      this.#failure = messageOf(error);
      this.#pausedSinceMs = context.nowMs();
    }
  }

  /** Takes over the types of a range, unless its configuration is changing: another range is requested next time. */
  #add(range: SampledRange, types: readonly (number | undefined)[], sinceMs: number): void {
    if (!types.every((type) => type === VOTER || type === NON_VOTER)) return;
    const voters = types.filter((type) => type === VOTER).length;
    if (voters === 0) return;
    const key = keyOf(range);
    // A range with another number of replicas does not refute an older sample, which stays until it expires.
    if (this.#samples.get(key)?.voters === undefined) {
      this.#samples.set(key, { voters: undefined, sinceMs });
    }
    this.#samples.set(keyOf({ ...range, replicas: types.length }), { voters, sinceMs });
  }
}

/** At most 100 ranges at 5 nodes that hold them. */
function rangesByNode(
  known: KnownRanges,
  chosen: readonly SampledRange[],
): ReadonlyMap<number, readonly SampledRange[]> {
  const byNode = new Map<number, readonly SampledRange[]>();
  for (const range of chosen.slice(0, MAX_SAMPLES)) {
    const holders = known.reportingNodes(range.rangeId);
    const nextId = byNode.size < MAX_REQUESTS ? holders[0] : undefined;
    const nodeId = holders.find((id) => byNode.has(id)) ?? nextId;
    if (nodeId !== undefined) byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), range]);
  }
  return byNode;
}
