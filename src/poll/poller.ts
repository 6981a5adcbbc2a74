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
import { countOverruns, effectiveIntervalSeconds, firstDelayMs, lengthMs } from './schedule.ts';
import { Timetable } from './timetable.ts';

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
  /** How long every URL is known to be bad, ms: until then polls are skipped; 0 when one may be asked. */
  readonly blockedMs: () => number;
  /** When what kept a poll from asking lets it ask, ms from now; undefined for other errors. */
  readonly retryInMs: (error: unknown) => number | undefined;
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
  readonly #timetable: Timetable;
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
    this.#timetable = new Timetable(clock, options.random);
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
    const { random, timeoutSeconds } = this.#options;
    let delayMs = firstDelayMs(random);
    let last = this.#timetable.beganAtMs;
    while (await this.#sleep(delayMs, stop)) {
      // Somebody may have asked for a poll meanwhile: then the interval runs from that one.
      const isDone = this.#timetable.beganAtMs !== last && this.#polling === undefined;
      if (!isDone) await this.#begin({ stop, timeoutMs: timeoutSeconds * 1000 });
      last = this.#timetable.beganAtMs;
      delayMs = this.#timetable.nextDelayMs(this.#outcome.intervalSeconds * 1000);
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
    const isDue = this.#timetable.isDue(this.#outcome.intervalSeconds * 1000);
    if (this.#polling === undefined && !isDue) return;
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
    const beganAt = this.#timetable.begin();
    const blockedMs = this.#options.blockedMs();
    if (blockedMs === 0) await this.#poll(order, beganAt);
    else this.#skip(blockedMs);
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
      endsAtMs: performance.now() + timeoutMs,
      pages: 0,
      items: 0,
      bytes: 0,
      limits: new Set(),
      answering: [],
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
    const { cluster, collect, reasonOf, retryInMs } = this.#options;
    const sheet = new Sheet({ crdb_cluster: cluster });
    let failure: CollectFailure | undefined;
    try {
      failure = await collect(sheet, reading);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#timetable.retryIn(retryInMs(error));
      return { reason: reasonOf(error), message };
    }
    await this.#publication.publish(sheet, reading.limits);
    return failure;
  }

  #conclude(
    error: CollectFailure | undefined,
    { reading, tookMs }: { readonly reading: Reading; readonly tookMs: number },
  ): void {
    const { items, pages, bytes, limits, answering } = reading;
    const atMs = this.#options.clock.wallMs();
    const durationSeconds = tookMs / 1000;
    const answerSeconds = lengthMs(answering) / 1000;
    this.#log.ended(this.#outcome, error);
    this.#outcome = {
      isGood: error === undefined,
      hasEnded: true,
      error,
      last: { atMs, durationSeconds, answerSeconds, items, pages, bytes, limits },
      lastSuccessMs: error === undefined ? atMs : this.#outcome.lastSuccessMs,
      intervalSeconds: this.#intervalSecondsAfter(answerSeconds),
    };
  }

  /** The outcome of the previous poller under the interval of this one. */
  #takeOver(outcome: Outcome): Outcome {
    const intervalSeconds = this.#intervalSecondsAfter(outcome.last?.answerSeconds ?? 0);
    return { ...outcome, intervalSeconds };
  }

  #intervalSecondsAfter(answerSeconds: number): number {
    const { plan, maxDuty } = this.#options;
    const configuredSeconds = plan.configuredIntervalSeconds;
    return effectiveIntervalSeconds({ configuredSeconds, answerSeconds, maxDuty });
  }

  #skip(blockedMs: number): void {
    this.#timetable.retryIn(blockedMs);
    const message = `all URLs fail; poll skipped, next attempt in ${Math.ceil(blockedMs / 1000)} s`;
    const error = { reason: 'breaker_open', message } as const;
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
