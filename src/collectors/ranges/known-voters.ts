import type { RangeTypes } from '../../cockroach/range-types.ts';
import type { VoterCounts } from './failure-domains.ts';

const MINUTE_MS = 60_000;
const MAX_AGE_MS = 60 * MINUTE_MS;
/** From this age on a sample is taken again, so that it does not expire before. */
const REFRESH_AGE_MS = 30 * MINUTE_MS;
/** A failed request is followed by a pause that doubles up to this. */
const MAX_PAUSE_MS = 16 * MINUTE_MS;
/** Requests and ranges after each complete scan. */
const MAX_REQUESTS = 5;
const MAX_SAMPLES = 100;
/** Types of replicas in a range whose configuration is not changing. */
const VOTER = 0;
const NON_VOTER = 5;
/** Above all numbers of replicas: a key is a place and a number of replicas. */
const PLACE_STEP = 1024;

interface VoterSample {
  readonly voters: number;
  readonly sinceMs: number;
}

/** A range to be asked for, one of its place. */
interface SampleRange {
  readonly rangeId: number;
  /** Nodes that hold it. */
  readonly nodeIds: readonly number[];
}

/** A request for the types of ranges that one node holds. */
export interface SampleRequest {
  readonly nodeId: number;
  readonly rangeIds: readonly number[];
}

/**
 * How many voters the ranges of a place (table and index) have, by their number of replicas. Ranges of one place share a
 * zone configuration, so one of them stands for all.
 */
export class KnownVoters implements VoterCounts {
  readonly #samples = new Map<number, VoterSample>();
  /** The range that was asked for last, by the same key, while its place has no sample. */
  readonly #lastAsked = new Map<number, number>();
  #failures = 0;
  #pausedUntilMs = 0;
  /** Why the last request failed; undefined after one that succeeded. */
  failure: string | undefined;

  votersOf(place: number, intended: number): number | undefined {
    return this.#samples.get(place * PLACE_STEP + intended)?.voters;
  }

  /** Forgets what is older than an hour, but nothing while a node is down: types hardly change, and may not be readable. */
  expire(nowMs: number, isNodeDown: boolean): void {
    if (isNodeDown) return;
    for (const [key, { sinceMs }] of this.#samples) {
      if (nowMs - sinceMs > MAX_AGE_MS) this.#samples.delete(key);
    }
  }

  /** Whether requests may be sent. */
  isReady(nowMs: number): boolean {
    return nowMs >= this.#pausedUntilMs;
  }

  /** The range of the key to try next comes after this one. */
  lastAsked(key: number): number {
    return this.#lastAsked.get(key) ?? 0;
  }

  /** When the sample was taken; undefined without one. */
  sampledAtMs(key: number): number | undefined {
    return this.#samples.get(key)?.sinceMs;
  }

  asked(key: number, rangeId: number): void {
    this.#lastAsked.set(key, rangeId);
  }

  /** Takes over what a range consists of, unless its configuration is changing: another one is asked for then. */
  learn(place: number, { types }: Pick<RangeTypes, 'types'>, nowMs: number): void {
    if (!types.every((type) => type === VOTER || type === NON_VOTER)) return;
    const key = place * PLACE_STEP + types.length;
    const voters = types.filter((type) => type === VOTER).length;
    if (voters === 0) return;
    this.#samples.set(key, { voters, sinceMs: nowMs });
    this.#lastAsked.delete(key);
  }

  succeeded(): void {
    this.#failures = 0;
    this.failure = undefined;
  }

  failed(reason: string, nowMs: number): void {
    this.failure = reason;
    this.#pausedUntilMs = nowMs + Math.min(MAX_PAUSE_MS, MINUTE_MS * 2 ** this.#failures);
    this.#failures += 1;
  }
}

/** Chooses a range for each place and number of replicas of which the voters are not known, or have been for long. */
export class SampleChoice {
  readonly #known: KnownVoters;
  readonly #nowMs: number;
  readonly #chosen = new Map<number, SampleRange>();
  /** Places by the id of the range that is asked for. */
  readonly #asked = new Map<number, number>();
  /** Places where a replica is missing. */
  readonly #urgent = new Set<number>();

  constructor(known: KnownVoters, nowMs: number) {
    this.#known = known;
    this.#nowMs = nowMs;
  }

  /** Whether the range is to be taken for its place. */
  isBetter(place: number, intended: number, rangeId: number, isMissingSome: boolean): boolean {
    const key = place * PLACE_STEP + intended;
    const sinceMs = this.#known.sampledAtMs(key);
    if (sinceMs !== undefined && this.#nowMs - sinceMs < REFRESH_AGE_MS) return false;
    if (isMissingSome) this.#urgent.add(key);
    const chosen = this.#chosen.get(key);
    return chosen === undefined || this.#turn(key, rangeId) < this.#turn(key, chosen.rangeId);
  }

  take(place: number, intended: number, rangeId: number, nodeIds: readonly number[]): void {
    this.#chosen.set(place * PLACE_STEP + intended, { rangeId, nodeIds });
  }

  /** Ranges take turns by id: that after the one that was asked for last is next, and the first after the last. */
  #turn(key: number, rangeId: number): number {
    return rangeId > this.#known.lastAsked(key) ? rangeId : rangeId + Number.MAX_SAFE_INTEGER;
  }

  /** At most 5 requests for 100 ranges: where a replica is missing first, then what is not known, then the oldest. */
  requests(): readonly SampleRequest[] {
    const byNode = new Map<number, number[]>();
    let count = 0;
    for (const [key, { rangeId, nodeIds }] of this.#byUrgency()) {
      const open = nodeIds.find((nodeId) => byNode.has(nodeId));
      const nodeId = open ?? (byNode.size < MAX_REQUESTS ? nodeIds[0] : undefined);
      if (nodeId === undefined) continue;
      byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), rangeId]);
      this.#known.asked(key, rangeId);
      this.#asked.set(rangeId, Math.floor(key / PLACE_STEP));
      count += 1;
      if (count === MAX_SAMPLES) break;
    }
    return Array.from(byNode, ([nodeId, rangeIds]) => ({ nodeId, rangeIds }));
  }

  /** No place needs a sample. */
  get isEmpty(): boolean {
    return this.#chosen.size === 0;
  }

  /** Of a range that is asked for. */
  placeOf(rangeId: number): number | undefined {
    return this.#asked.get(rangeId);
  }

  #byUrgency(): readonly (readonly [key: number, range: SampleRange])[] {
    const rank = (key: number): number =>
      this.#urgent.has(key) ? -1 : (this.#known.sampledAtMs(key) ?? 0);
    return [...this.#chosen].toSorted(([a], [b]) => rank(a) - rank(b));
  }
}
