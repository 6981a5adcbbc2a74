import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { messageOf } from '../../format.ts';
import { inSlices } from '../../time-slice.ts';
import type { CollectorPoll } from '../collector.ts';
import type { Work } from './range-table.ts';

/** A range with so many intended replicas may have non-voters. */
export const MIN_WITH_NON_VOTERS = 4;

const MINUTE_MS = 60_000;
const MAX_AGE_MS = 60 * MINUTE_MS;
/** A sample of this age is taken again, so that it does not expire before. */
const REFRESH_AGE_MS = 30 * MINUTE_MS;
/** A failed request is followed by a pause that doubles up to this. */
const MAX_PAUSE_MS = 16 * MINUTE_MS;
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
function keyOf(tableIndex: number, intended: number): number {
  return tableIndex * KEY_STEP + intended;
}

interface VoterSample {
  readonly voters: number;
  readonly sinceMs: number;
}

type VoterContext = Omit<CollectorPoll<unknown, unknown>, 'options' | 'state'>;

/** How many voters ranges have, by the number of their table index and their number of replicas. */
export class KnownVoters {
  readonly #samples = new Map<number, VoterSample>();
  /** The range that was requested last, by the same key, while there is no sample. */
  readonly #lastRequested = new Map<number, number>();
  #failures = 0;
  #pausedUntilMs = 0;
  /** Why the last request failed; undefined after one that succeeded. */
  #failure: string | undefined;

  votersOf(tableIndex: number, intended: number): number | undefined {
    return this.#samples.get(keyOf(tableIndex, intended))?.voters;
  }

  /**
   * Finds out, after all nodes were read, how many voters the ranges have that `offer` offers, with few requests. A failure
   * leaves the voters unknown, which crdb_ranges_of_unknown_voters admits, and never fails the scan.
   */
  async learn(
    api: ClusterApi,
    context: VoterContext,
    isNodeDown: boolean,
    offer: (choice: SampleChoice) => Work,
  ): Promise<void> {
    const nowMs = context.nowMs();
    // While a node is down types hardly change, and may not be readable.
    if (!isNodeDown) this.#expire(nowMs);
    const choice = new SampleChoice(this.#samples, this.#lastRequested, nowMs);
    await inSlices(offer(choice));
    if (nowMs >= this.#pausedUntilMs) await this.#request(api, context, choice);
    if (this.#failure === undefined || choice.isEmpty) return;
    context.warn(
      `the voters of ranges with 4 or more replicas are not known (${this.#failure}): crdb_node_dependent_ranges and crdb_locality_dependent_ranges may be too low; let a proxy pass GET /_status/ranges/ and run GRANT SYSTEM VIEWCLUSTERMETADATA for the user`,
    );
  }

  #expire(nowMs: number): void {
    for (const [key, { sinceMs }] of this.#samples) {
      if (nowMs - sinceMs > MAX_AGE_MS) this.#samples.delete(key);
    }
  }

  async #request(api: ClusterApi, context: VoterContext, choice: SampleChoice): Promise<void> {
    const deadline = AbortSignal.timeout(MAX_WAIT_MS);
    try {
      for (const [index, { nodeId, samples }] of choice.requests().entries()) {
        for (const { key, rangeId } of samples) this.#lastRequested.set(key, rangeId);
        await api.rangeTypes(context, {
          deadline,
          nodeId,
          rangeIds: samples.map(({ rangeId }) => rangeId),
          firstUrl: index % context.urls,
          onRange: ({ rangeId, types }) => {
            const sample = samples.find((each) => each.rangeId === rangeId);
            if (sample !== undefined) this.#add(sample.tableIndex, types, context.nowMs());
          },
        });
        this.#failures = 0;
        this.#failure = undefined;
      }
    } catch (error) {
      this.#failure = messageOf(error);
      this.#pausedUntilMs =
        context.nowMs() + Math.min(MAX_PAUSE_MS, MINUTE_MS * 2 ** this.#failures);
      this.#failures += 1;
    }
  }

  /** Takes over the types of a range, unless its configuration is changing: another range is requested next time. */
  #add(tableIndex: number, types: readonly (number | undefined)[], nowMs: number): void {
    if (!types.every((type) => type === VOTER || type === NON_VOTER)) return;
    const voters = types.filter((type) => type === VOTER).length;
    if (voters === 0) return;
    const key = keyOf(tableIndex, types.length);
    this.#samples.set(key, { voters, sinceMs: nowMs });
    this.#lastRequested.delete(key);
  }
}

/** A range whose types are requested. */
interface SampleRange {
  readonly key: number;
  readonly tableIndex: number;
  readonly rangeId: number;
  /** Nodes that hold it. */
  readonly nodeIds: readonly number[];
}

/** A request for the types of ranges that one node holds. */
interface SampleRequest {
  readonly nodeId: number;
  readonly samples: SampleRange[];
}

/** Chooses a range for each table index and number of replicas of which the voters are not known, or have been for long. */
export class SampleChoice {
  readonly #samples: ReadonlyMap<number, VoterSample>;
  readonly #lastRequested: ReadonlyMap<number, number>;
  readonly #nowMs: number;
  readonly #chosen = new Map<number, SampleRange>();
  /** Keys with a range that misses a replica. */
  readonly #urgent = new Set<number>();

  constructor(
    samples: ReadonlyMap<number, VoterSample>,
    lastRequested: ReadonlyMap<number, number>,
    nowMs: number,
  ) {
    this.#samples = samples;
    this.#lastRequested = lastRequested;
    this.#nowMs = nowMs;
  }

  /** No sample is needed. */
  get isEmpty(): boolean {
    return this.#chosen.size === 0;
  }

  /** Takes over the range if it is the next one of its key; `nodesOf` reads the nodes that hold it. */
  offer(
    range: Pick<SampleRange, 'tableIndex' | 'rangeId'>,
    intended: number,
    isMissingSome: boolean,
    nodesOf: () => readonly number[],
  ): void {
    const key = keyOf(range.tableIndex, intended);
    const sinceMs = this.#samples.get(key)?.sinceMs;
    if (sinceMs !== undefined && this.#nowMs - sinceMs < REFRESH_AGE_MS) return;
    if (isMissingSome) this.#urgent.add(key);
    const chosen = this.#chosen.get(key);
    const order = this.#order(key, range.rangeId);
    if (chosen !== undefined && this.#order(key, chosen.rangeId) <= order) return;
    this.#chosen.set(key, { ...range, key, nodeIds: nodesOf() });
  }

  /** The range after the one that was requested last is next, by id, and the first after the last. */
  #order(key: number, rangeId: number): number {
    const last = this.#lastRequested.get(key) ?? 0;
    return rangeId > last ? rangeId : rangeId + Number.MAX_SAFE_INTEGER;
  }

  /** At most 5 requests for 100 ranges: where a replica is missing first, then what is not known, then the oldest. */
  requests(): readonly SampleRequest[] {
    const byNode = new Map<number, SampleRequest>();
    const urgency = ({ key }: SampleRange): number =>
      this.#urgent.has(key) ? -1 : (this.#samples.get(key)?.sinceMs ?? 0);
    let count = 0;
    for (const range of [...this.#chosen.values()].toSorted((a, b) => urgency(a) - urgency(b))) {
      const open = range.nodeIds.find((nodeId) => byNode.has(nodeId));
      const nodeId = open ?? (byNode.size < MAX_REQUESTS ? range.nodeIds[0] : undefined);
      if (nodeId === undefined) continue;
      const request = byNode.get(nodeId) ?? { nodeId, samples: [] };
      byNode.set(nodeId, request);
      request.samples.push(range);
      count += 1;
      if (count === MAX_SAMPLES) break;
    }
    return [...byNode.values()];
  }
}
