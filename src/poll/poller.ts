import { setTimeout as sleep } from 'node:timers/promises';
import type {
  CollectFailure,
  FailureReason,
  PollReading,
  Reading,
} from '../collectors/collector.ts';
import type { Log } from '../log.ts';
import { Sheet } from '../metrics/sheet.ts';
import type { Snapshot } from '../metrics/snapshot.ts';
import { beforeFirstPoll, type CollectorPlan, type Outcome } from './outcome.ts';
import { createPollLog, type PollLog } from './poll-log.ts';
import { Publication, type PublicationOptions } from './publication.ts';
import {
  countOverruns,
  effectiveIntervalSeconds,
  firstDelayMs,
  isDue,
  nextDelayMs,
  phaseMs,
} from './schedule.ts';

/** Both clocks: the wall clock only for timestamps, the monotonic one for every interval and age. */
export interface Clock {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}

/** What the poller reports; plain functions over the exporter's own counters. */
interface PollReport {
  readonly finished: () => void;
  readonly failed: (reason: FailureReason) => void;
  readonly skipped: (reason: 'overrun' | 'breaker_open' | 'shutdown') => void;
  readonly seriesDropped: PublicationOptions['seriesDropped'];
}

/** What a room was given, and what it remembers from poll to poll. */
export interface Room {
  readonly options: unknown;
  readonly memory: unknown;
}

export interface PollerOptions extends Pick<
  PublicationOptions,
  'maxAgeSeconds' | 'maxSeries' | 'clusterBudget'
> {
  readonly cluster: string;
  readonly plan: CollectorPlan;
  readonly timeoutSeconds: number;
  readonly maxDuty: number;
  /** The room, bound to its API, options and memory. */
  readonly collect: (sheet: Sheet, reading: PollReading) => Promise<CollectFailure | undefined>;
  /** False while every URL is known to be bad: the poll is then skipped. */
  readonly available: () => boolean;
  readonly reasonOf: (error: unknown) => FailureReason;
  readonly clock: Clock;
  readonly random: () => number;
  readonly report: PollReport;
  readonly log: Log;
  readonly room: Room;
  /** Called when a poll has ended or was skipped and the outcome says so. */
  readonly ended?: (() => void) | undefined;
}

/** What a poll is told by who wants it: when to give up, and when nobody wants it any more. */
interface PollOrder {
  readonly stop: AbortSignal;
  readonly timeoutMs: number;
}

/** How long a poll that was cut by its deadline may take to say so. */
const CUT_MS = 200;

/** Polls one collector of one cluster: never two polls at once, each within its deadline. */
export class Poller {
  readonly #options: PollerOptions;
  #plan: CollectorPlan;
  #outcome: Outcome;
  readonly #publication: Publication;
  readonly #log: PollLog;
  /** The poll that is running; whoever wants one meanwhile waits for it. */
  #polling: Promise<void> | undefined;
  /** When the last poll began, monotonic ms. */
  #beganAt: number | undefined;
  #nextPollMs: number | undefined;
  /** Forgotten with the first poll here, so that it does not stay in memory. */
  #previous: Poller | undefined;

  /** Until its first poll has ended, a poller shows what the previous one showed. */
  constructor(options: PollerOptions, previous?: Poller) {
    this.#plan = options.plan;
    this.#options = options;
    this.#previous = previous;
    this.#outcome = beforeFirstPoll(options.plan);
    if (previous !== undefined) this.#outcome = this.#takeOver(previous.outcome);
    const { clock, report } = options;
    this.#publication = new Publication(
      { ...options, monotonicMs: clock.monotonicMs, seriesDropped: report.seriesDropped },
      previous === undefined ? undefined : previous.#publication,
    );
    this.#log = createPollLog(options.log, () => {
      const { collector, shard } = this.#plan;
      return { cluster: options.cluster, collector, shard };
    });
  }

  get room(): Room {
    return this.#options.room;
  }

  get plan(): CollectorPlan {
    return this.#plan;
  }

  /** From now on all that is said of this collector has that label `shard`. */
  relabel(shard: string): void {
    this.#plan = { ...this.#plan, shard };
  }

  get outcome(): Outcome {
    return this.#outcome;
  }

  get isPolling(): boolean {
    return this.#polling !== undefined;
  }

  /** Wall clock, ms; undefined when no poll is planned. */
  get nextPollMs(): number | undefined {
    return this.#nextPollMs;
  }

  /** What the last poll published, unless it is too old to be shown; before the budget of the cluster. */
  published(): Snapshot | undefined {
    return this.#publication.snapshot(this.#outcome.intervalSeconds);
  }

  /** What is shown of it: without what is over the budget of the cluster. */
  snapshot(): Snapshot | undefined {
    const published = this.published();
    return published && this.#options.clusterBudget.shown(published);
  }

  /** Polls until the signal aborts; resolves when its last poll has ended. */
  async run(stop: AbortSignal): Promise<void> {
    const { random, clock, timeoutSeconds } = this.#options;
    let delayMs = firstDelayMs(random);
    let last = this.#beganAt;
    let isFirst = true;
    while (await this.#sleep(delayMs, stop)) {
      // Somebody may have asked for a poll meanwhile: then the interval runs from that one.
      const isDone = this.#beganAt !== last && this.#polling === undefined;
      if (!isDone) await this.#begin({ stop, timeoutMs: timeoutSeconds * 1000 });
      last = this.#beganAt;
      const elapsedMs = clock.monotonicMs() - (last ?? 0);
      const intervalMs = this.#outcome.intervalSeconds * 1000;
      delayMs = nextDelayMs(intervalMs, elapsedMs, random);
      if (isFirst) delayMs += phaseMs(intervalMs, random);
      isFirst = false;
    }
  }

  /** Resolves when no poll is running. */
  async settled(): Promise<void> {
    await this.#polling;
  }

  /**
   * Polls now, unless the last poll began less than an interval ago: nobody can make the exporter ask
   * more often than it is configured to. Waits for the poll that is running, `waitMs` at most.
   */
  async pollNow({ stop, waitMs }: { stop: AbortSignal; waitMs: number }): Promise<void> {
    if (this.#polling === undefined && !this.#isDue()) return;
    const timeoutMs = Math.min(waitMs, this.#options.timeoutSeconds * 1000);
    const waited = sleep(waitMs + CUT_MS, undefined, { ref: false });
    await Promise.race([this.#begin({ stop, timeoutMs }), waited]);
  }

  /** The running poll, or a new one. */
  #begin(order: PollOrder): Promise<void> {
    this.#polling ??= this.#pollOrSkip(order).finally(() => {
      this.#polling = undefined;
      this.#options.ended?.();
    });
    return this.#polling;
  }

  async #pollOrSkip(order: PollOrder): Promise<void> {
    // Its last poll may still be ending, and what it remembers is remembered here.
    await this.#previous?.settled();
    this.#previous = undefined;
    this.#beganAt = this.#options.clock.monotonicMs();
    if (this.#options.available()) await this.#poll(order, this.#beganAt);
    else this.#skip();
  }

  #isDue(): boolean {
    if (this.#beganAt === undefined) return true;
    const elapsedMs = this.#options.clock.monotonicMs() - this.#beganAt;
    return isDue(elapsedMs, this.#outcome.intervalSeconds * 1000);
  }

  /** False when the signal aborted instead. */
  async #sleep(delayMs: number, stop: AbortSignal): Promise<boolean> {
    this.#nextPollMs = this.#options.clock.wallMs() + delayMs;
    const slept = await sleepUnlessAborted(delayMs, stop);
    this.#nextPollMs = undefined;
    return slept;
  }

  async #poll({ stop, timeoutMs }: PollOrder, beganAt: number): Promise<void> {
    const { clock, report } = this.#options;
    const deadline = AbortSignal.timeout(Math.ceil(timeoutMs));
    const signal = AbortSignal.any([stop, deadline]);
    const notices = new Set<string>();
    const reading: PollReading = {
      signal,
      pages: 0,
      items: 0,
      bytes: 0,
      limits: new Set(),
      notice: (text) => notices.add(text),
    };
    const error = await this.#collect(reading);
    const tookMs = clock.monotonicMs() - beganAt;
    if (stop.aborted) return;
    this.#log.noticed(notices);
    if (deadline.aborted) reading.limits.add('duration');
    report.finished();
    if (error !== undefined) report.failed(error.reason);
    const missed = countOverruns(this.#outcome.intervalSeconds * 1000, tookMs);
    for (let due = 0; due < missed; due += 1) report.skipped('overrun');
    this.#conclude(error, { reading, tookMs });
  }

  /** Runs the room and publishes what it wrote; resolves to what went wrong, if anything did. */
  async #collect(reading: PollReading): Promise<CollectFailure | undefined> {
    const { cluster, collect, reasonOf } = this.#options;
    const sheet = new Sheet({ crdb_cluster: cluster });
    let failure: CollectFailure | undefined;
    try {
      failure = await collect(sheet, reading);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { reason: reasonOf(error), message };
    }
    await this.#publication.publish(sheet, reading.limits);
    return failure;
  }

  #conclude(
    error: CollectFailure | undefined,
    { reading, tookMs }: { readonly reading: Reading; readonly tookMs: number },
  ): void {
    const { items, pages, bytes, limits } = reading;
    const atMs = this.#options.clock.wallMs();
    const durationSeconds = tookMs / 1000;
    this.#log.ended(this.#outcome, error);
    this.#outcome = {
      isGood: error === undefined,
      hasEnded: true,
      error,
      last: { atMs, durationSeconds, items, pages, bytes, limits },
      lastSuccessMs: error === undefined ? atMs : this.#outcome.lastSuccessMs,
      intervalSeconds: this.#intervalSecondsAfter(durationSeconds),
    };
  }

  /** The outcome of the previous poller under the interval of this one. */
  #takeOver(outcome: Outcome): Outcome {
    const intervalSeconds = this.#intervalSecondsAfter(outcome.last?.durationSeconds ?? 0);
    return { ...outcome, intervalSeconds };
  }

  #intervalSecondsAfter(lastDurationSeconds: number): number {
    const { plan, maxDuty } = this.#options;
    const configuredSeconds = plan.configuredIntervalSeconds;
    return effectiveIntervalSeconds({ configuredSeconds, lastDurationSeconds, maxDuty });
  }

  #skip(): void {
    const error = { reason: 'breaker_open', message: 'every URL is bad; not asked' } as const;
    this.#options.report.skipped('breaker_open');
    this.#log.ended(this.#outcome, error);
    this.#outcome = { ...this.#outcome, isGood: false, hasEnded: true, error };
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
