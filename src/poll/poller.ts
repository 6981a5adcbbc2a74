import { setTimeout as sleep } from 'node:timers/promises';
import type { CollectFailure, FailureReason, Reading } from '../collectors/collector.ts';
import type { Log } from '../log.ts';
import { applyBudget } from '../metrics/budget.ts';
import { Sheet } from '../metrics/sheet.ts';
import { renderSnapshot, type Snapshot } from '../metrics/snapshot.ts';
import { beforeFirstPoll, type CollectorPlan, type Outcome } from './outcome.ts';
import {
  countOverruns,
  effectiveIntervalSeconds,
  firstDelayMs,
  maxAgeSeconds,
  nextDelayMs,
} from './schedule.ts';

/** Both clocks: the wall clock only for timestamps, the monotonic one for every interval and age. */
export interface Clock {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}

/** What the poller reports; plain functions over the exporter's own counters. */
export interface PollReport {
  readonly finished: () => void;
  readonly failed: (reason: FailureReason) => void;
  readonly skipped: (reason: 'overrun' | 'breaker_open' | 'shutdown') => void;
  readonly seriesDropped: (family: string, reason: 'budget' | 'duplicate', count: number) => void;
}

export interface PollerOptions {
  readonly cluster: string;
  readonly plan: CollectorPlan;
  readonly timeoutSeconds: number;
  readonly maxAgeSeconds: number | undefined;
  readonly maxDuty: number;
  /** Series that the sheet may have, and the cluster's other snapshots that share a budget. */
  readonly maxSeries: number | undefined;
  readonly clusterBudget: () => { readonly maxSeries: number; readonly others: Snapshot[] };
  /** The room, bound to its API, options and memory. */
  readonly collect: (sheet: Sheet, reading: Reading) => Promise<CollectFailure | undefined>;
  /** False while every URL is known to be bad: the poll is then skipped. */
  readonly available: () => boolean;
  readonly reasonOf: (error: unknown) => FailureReason;
  readonly clock: Clock;
  readonly random: () => number;
  readonly report: PollReport;
  readonly log: Log;
  /** A poller of the same plan whose data is shown until there is newer data. */
  readonly previous?: Poller | undefined;
}

interface Published {
  readonly snapshot: Snapshot;
  readonly atMonotonicMs: number;
}

/** Polls one collector of one cluster: never two polls at once, each within its deadline. */
export class Poller {
  readonly plan: CollectorPlan;
  readonly #options: PollerOptions;
  #outcome: Outcome;
  #published: Published | undefined;

  constructor(options: PollerOptions) {
    this.plan = options.plan;
    this.#options = options;
    this.#outcome = options.previous?.outcome ?? beforeFirstPoll(options.plan);
    if (options.previous !== undefined) this.#published = options.previous.#published;
  }

  get outcome(): Outcome {
    return this.#outcome;
  }

  /** What the last poll that published said, unless it is too old to be shown. */
  snapshot(): Snapshot | undefined {
    if (this.#published === undefined) return undefined;
    const { clock, maxAgeSeconds: configured } = this.#options;
    const ageSeconds = (clock.monotonicMs() - this.#published.atMonotonicMs) / 1000;
    const limit = maxAgeSeconds(configured, this.#outcome.intervalSeconds);
    return ageSeconds <= limit ? this.#published.snapshot : undefined;
  }

  /** Polls until the signal aborts; resolves when the last poll has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { random, available } = this.#options;
    let delayMs = firstDelayMs(random);
    while (await sleepUnlessAborted(delayMs, signal)) {
      const tookMs = available() ? await this.#poll(signal) : this.#skip();
      delayMs = nextDelayMs(this.#outcome.intervalSeconds * 1000, tookMs, random);
    }
  }

  /** Resolves to the poll's length, ms. */
  async #poll(stop: AbortSignal): Promise<number> {
    const { clock, report, timeoutSeconds } = this.#options;
    const startedAt = clock.monotonicMs();
    const deadline = AbortSignal.timeout(timeoutSeconds * 1000);
    const signal = AbortSignal.any([stop, deadline]);
    const reading: Reading = { signal, pages: 0, items: 0, bytes: 0, limits: new Set() };
    const error = await this.#collect(reading);
    const tookMs = clock.monotonicMs() - startedAt;
    if (stop.aborted) return tookMs;
    if (deadline.aborted) reading.limits.add('duration');
    report.finished();
    if (error !== undefined) report.failed(error.reason);
    const missed = countOverruns(this.#outcome.intervalSeconds * 1000, tookMs);
    for (let due = 0; due < missed; due += 1) report.skipped('overrun');
    this.#conclude(error, { reading, tookMs });
    return tookMs;
  }

  /** Runs the room and publishes what it wrote; resolves to what went wrong, if anything did. */
  async #collect(reading: Reading): Promise<CollectFailure | undefined> {
    const { cluster, collect, reasonOf, clock } = this.#options;
    const sheet = new Sheet({ crdb_cluster: cluster });
    let failure: CollectFailure | undefined;
    try {
      failure = await collect(sheet, reading);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { reason: reasonOf(error), message };
    }
    this.#trim(sheet, reading);
    const snapshot = await renderSnapshot(sheet);
    this.#published = { snapshot, atMonotonicMs: clock.monotonicMs() };
    return failure;
  }

  #trim(sheet: Sheet, reading: Reading): void {
    const { report, maxSeries = Infinity, clusterBudget } = this.#options;
    for (const [family, count] of sheet.duplicates) {
      report.seriesDropped(family, 'duplicate', count);
    }
    for (const budget of [{ maxSeries }, clusterBudget()]) {
      for (const [family, count] of applyBudget({ sheet, ...budget })) {
        reading.limits.add('series');
        report.seriesDropped(family, 'budget', count);
      }
    }
  }

  #conclude(
    error: CollectFailure | undefined,
    { reading, tookMs }: { readonly reading: Reading; readonly tookMs: number },
  ): void {
    const { items, pages, bytes, limits } = reading;
    const atMs = this.#options.clock.wallMs();
    const durationSeconds = tookMs / 1000;
    this.#logChange(error);
    this.#outcome = {
      isGood: error === undefined,
      hasEnded: true,
      error,
      last: { atMs, durationSeconds, items, pages, bytes, limits },
      lastSuccessMs: error === undefined ? atMs : this.#outcome.lastSuccessMs,
      intervalSeconds: effectiveIntervalSeconds({
        configuredSeconds: this.plan.configuredIntervalSeconds,
        lastDurationSeconds: durationSeconds,
        maxDuty: this.#options.maxDuty,
      }),
    };
  }

  #skip(): number {
    const error = { reason: 'breaker_open', message: 'every URL is bad; not asked' } as const;
    this.#options.report.skipped('breaker_open');
    this.#logChange(error);
    this.#outcome = { ...this.#outcome, isGood: false, hasEnded: true, error };
    return 0;
  }

  /** One line per change of state, not per poll. */
  #logChange(error: CollectFailure | undefined): void {
    const { log, cluster } = this.#options;
    const { isGood, hasEnded, error: before } = this.#outcome;
    const fields = { cluster, collector: this.plan.collector, shard: this.plan.shard };
    if (error === undefined) {
      if (!isGood) log.info(fields, hasEnded ? 'polls are good again' : 'first poll was good');
    } else if (error.reason === before?.reason) {
      log.debug({ ...fields, reason: error.reason }, error.message);
    } else {
      log.warn({ ...fields, reason: error.reason }, error.message);
    }
  }
}

/** False when the signal aborted instead. */
async function sleepUnlessAborted(delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(delayMs, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
