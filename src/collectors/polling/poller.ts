import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { beginDeadline, type Clock, type Limit, type Log } from '#base';
import {
  addWarning,
  BreakerOpenError,
  failureOf,
  type FindRemedy,
  type HttpClient,
  type PollWarning,
  RequestError,
  responseSeconds,
} from '#cockroach';
import type { CollectorConfig } from '#config';
import { type ClusterMetrics, filterFamilies, type Snapshot } from '#metrics';
import { type Collector, type CollectorResult, defaultMaxAgeSeconds } from '../collector.ts';
import { STRETCHED, stretchInterval } from './duty.ts';
import { LastOutcome, type Outcome, type PollFailure, unexpectedFailure } from './outcome.ts';
import { type RenderedResult, renderResult } from './render-result.ts';
import { KeptState, type RunningPoll } from './run-collector.ts';
import { Schedule } from './schedule.ts';

export interface PollerOptions {
  readonly cluster: string;
  readonly collector: Collector;
  readonly settings: CollectorConfig;
  /** Value of the label `shard`. */
  readonly shard: string;
  /** The collector's own options, such as `page_limit`; `settings` has what every collector has, such as `interval`. */
  readonly options: unknown;
  readonly http: Pick<HttpClient, 'failedMs'>;
  /** Begins a poll of the collector, which ends at its timeout or when the signal aborts. */
  readonly run: (stop: AbortSignal, state: KeptState<unknown>) => RunningPoll<CollectorResult>;
  /** The collector's work between two polls. */
  readonly work: (stop: AbortSignal, state: KeptState<unknown>) => Promise<void>;
  readonly metrics: ClusterMetrics;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when a poll has ended or was skipped and the outcome is up to date; not after `stop`. */
  readonly pollEnded: () => void;
  readonly findRemedy: FindRemedy;
}

/** The result of a poll that published, with its samples as frozen text. */
interface Published {
  readonly result: CollectorResult;
  readonly snapshot: Snapshot;
  /** Monotonic ms at its end; a host that was suspended during the poll makes the result older by that time. */
  readonly atMs: number;
}

/** Polls one collector of one cluster: never two polls at once, each within its deadline. */
export class Poller {
  readonly collector: Collector;
  readonly shard: string;
  readonly configuredIntervalSeconds: number;
  readonly #options: PollerOptions;
  /** Kept across a reload that keeps the options of the collector. */
  readonly #state: KeptState<unknown>;
  readonly #schedule: Schedule;
  readonly #log: Log;
  readonly #labels: { readonly collector: string; readonly shard: string };
  readonly #outcome: LastOutcome;
  /** The result of the last poll that published; undefined before one has. */
  #published: Published | undefined;
  /** The result that was shown before the running poll. It is shown again when the end of that poll cannot be recorded. */
  #shownBefore: Published | undefined;
  /** When a poll first ended while there was no result to show, monotonic ms; undefined before that. */
  #withoutResultAtMs: number | undefined;
  /** The running poll; `pollNow` waits for it. */
  #polling: Promise<void> | undefined;
  #nextPollMs: number | undefined;
  /** Ends the wait for the next poll. */
  #wake: (() => void) | undefined;
  /** True when a login may have become possible since the running poll began. */
  #isLoginNew = false;
  /** Ends the work between two polls, and resolves when it has ended. */
  #endWork: (() => Promise<void>) | undefined;
  /** The poller before a reload. It is dropped with the first poll, or when the cluster ends, so that it does not stay in memory. */
  #previous: Poller | undefined;

  /** Until its first poll has ended, a poller shows what the previous one showed. */
  constructor(options: PollerOptions, previous?: Poller) {
    const { collector, shard, settings, log } = options;
    this.collector = collector;
    this.shard = shard;
    this.configuredIntervalSeconds = settings.interval;
    this.#options = options;
    const isContinued =
      previous !== undefined && isDeepStrictEqual(previous.#options.options, options.options);
    this.#state = isContinued ? previous.#state : new KeptState(collector);
    this.#previous = previous;
    if (previous !== undefined && previous.#published !== undefined) {
      const { snapshot } = previous.#published;
      const before = previous.options;
      const keeps = (name: string) =>
        collector.keepsFamily?.(name, options.options, before) ?? true;
      this.#published = { ...previous.#published, snapshot: filterFamilies(snapshot, keeps) };
    }
    this.#outcome = new LastOutcome(options.clock, previous?.outcome ?? { state: 'waiting' });
    this.#schedule = new Schedule(options.clock, options.random);
    this.#labels = { collector: collector.name, shard };
    this.#log = log.child(this.#labels);
    options.metrics.preparePolls(this.#labels);
  }

  /** Drops what the collector has kept and published: another cluster answers now. */
  forget(): void {
    this.#state.clear();
    this.#published = undefined;
    this.#shownBefore = undefined;
    this.#withoutResultAtMs = undefined;
  }

  get options(): unknown {
    return this.#options.options;
  }

  get outcome(): Outcome {
    return this.#outcome.value;
  }

  /** The interval now: the configured one, or a longer one while responses are slow. */
  get intervalSeconds(): number {
    return stretchInterval(this.#options.settings, this.outcome.last?.responseSeconds);
  }

  get isPolling(): boolean {
    return this.#polling !== undefined;
  }

  /** The time of the next poll, wall clock, ms; undefined when none is scheduled. */
  get nextPollMs(): number | undefined {
    return this.#nextPollMs;
  }

  /** Seconds since the end of the last poll that published; undefined without one. */
  get resultAgeSeconds(): number | undefined {
    if (this.#published === undefined) return undefined;
    return (this.#options.clock.monotonicMs() - this.#published.atMs) / 1000;
  }

  /** The result of the last poll that published, unless it is too old. */
  get result(): CollectorResult | undefined {
    return this.#current()?.result;
  }

  /** The result of the last poll that published, of any age: for figures that must stay while polls fail. */
  get lastResult(): CollectorResult | undefined {
    return this.#published?.result;
  }

  /**
   * Whether a first result may still come soon: no poll has failed yet, or the first one failed less than an interval ago. Example
   * with an interval of 30 s: nothing responds until 31 s, so the first poll fails. Until 61 s it is worth waiting.
   */
  get isAwaited(): boolean {
    if (this.#published !== undefined) return false;
    if (this.#withoutResultAtMs === undefined) return true;
    const waitedMs = this.#options.clock.monotonicMs() - this.#withoutResultAtMs;
    return waitedMs < this.intervalSeconds * 1000;
  }

  /** The snapshot of the last poll that published, unless it is too old. */
  get snapshot(): Snapshot | undefined {
    return this.#current()?.snapshot;
  }

  /** Polls until the signal aborts; resolves when its last poll has ended. */
  async run(stop: AbortSignal): Promise<void> {
    const schedule = this.#schedule;
    let delayMs = schedule.firstDelayMs();
    let last = schedule.startedAtMs;
    while (await this.#sleep(delayMs, stop)) {
      // A poll on demand may have run meanwhile: then the interval counts from that one.
      const hasPolled = schedule.startedAtMs !== last && this.#polling === undefined;
      if (!hasPolled) await this.#start(stop);
      last = schedule.startedAtMs;
      const mayLogIn = this.#isLoginNew && this.#lacksLogin;
      const hasResult = this.#published !== undefined;
      delayMs = mayLogIn ? 0 : schedule.nextDelayMs(this.intervalSeconds * 1000, hasResult);
    }
  }

  /** Polls at once if the last poll failed because a login or a token was refused: another one may be accepted now. */
  retryRefused(): void {
    const isRefused = this.outcome.failure?.error.reason === 'auth';
    if (this.#polling !== undefined) this.#isLoginNew = true;
    else if (isRefused || this.#lacksLogin) {
      this.#schedule.retryIn(0);
      this.#wake?.();
    }
  }

  /** Whether the last poll failed because there was no login. */
  get #lacksLogin(): boolean {
    const { error } = this.outcome.failure ?? {};
    return error !== undefined && error.request.endpoint === 'login';
  }

  /** Resolves when no poll of this poller or of the one before a reload is running; then drops the latter. */
  async settled(): Promise<void> {
    await this.#polling;
    await this.#endWork?.();
    await this.#previous?.settled();
    this.#previous = undefined;
  }

  /** Whether `pollNow` would begin a poll, and not only wait for a running one. */
  get wouldPoll(): boolean {
    return this.#polling === undefined && this.#schedule.isDue(this.intervalSeconds * 1000);
  }

  /**
   * Polls now, unless the last poll started less than an interval ago: nobody can make the exporter query a cluster
   * more often than configured. Waits for a running poll, `waitMs` at most; the poll keeps its own timeout.
   */
  async pollNow(stop: AbortSignal, waitMs: number): Promise<void> {
    if (this.#polling === undefined && !this.wouldPoll) return;
    using deadline = beginDeadline(waitMs);
    await Promise.race([this.#start(stop), once(deadline.signal, 'abort')]);
  }

  #current() {
    const { resultAgeSeconds = Infinity, intervalSeconds } = this;
    const limit = this.#options.settings.max_age ?? defaultMaxAgeSeconds(intervalSeconds);
    return resultAgeSeconds <= limit ? this.#published : undefined;
  }

  /** The running poll, or a new one. Never rejects: no error of one collector may end the process. */
  #start(stop: AbortSignal): Promise<void> {
    this.#polling ??= this.#pollAndReport(stop).catch((error: unknown) =>
      this.#log.error({ err: error }, 'the end of a poll was not recorded'),
    );
    return this.#polling;
  }

  /** If `pollEnded` throws, the poll counts as failed and the previous result is shown again. */
  async #pollAndReport(stop: AbortSignal): Promise<void> {
    const { pollEnded, metrics } = this.#options;
    this.#shownBefore = this.#published;
    const { lastSuccessMs } = this.outcome;
    try {
      await this.#poll(stop).finally(() => {
        this.#polling = undefined;
      });
      // The cluster may have been removed or replaced meanwhile: then nothing of it is remembered.
      if (!stop.aborted) pollEnded();
    } catch (error) {
      this.#published = this.#shownBefore;
      this.#outcome.value = { ...this.outcome, lastSuccessMs };
      const failure = unexpectedFailure(error, 'the result cannot be shown', this.#log);
      metrics.pollFailed(this.#labels, failure.error.reason);
      this.#conclude(failure, this.outcome.last);
      pollEnded();
    }
  }

  /** Waits until the next poll, or until `retryRefused` wakes it. Resolves to false when the signal aborted. */
  async #sleep(delayMs: number, stop: AbortSignal): Promise<boolean> {
    this.#nextPollMs = this.#options.clock.wallMs() + delayMs;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const signal = AbortSignal.any([stop, woken.signal]);
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    this.#wake = undefined;
    this.#nextPollMs = undefined;
    return !stop.aborted;
  }

  /** Polls once and records the outcome. Skips the poll while all URLs fail. */
  async #poll(stop: AbortSignal): Promise<void> {
    // Its last poll may still be running, and both share one state.
    await this.#previous?.settled();
    this.#previous = undefined;
    await this.#endWork?.();
    const { clock, http, metrics } = this.#options;
    if (stop.aborted) return metrics.pollSkipped(this.#labels, 'shutdown');
    this.#schedule.start();
    this.#isLoginNew = false;
    const [startMs, startedMs] = [clock.monotonicMs(), clock.runningMs()];
    const failedMs = http.failedMs();
    if (failedMs > 0) return this.#skip(failedMs);
    const poll = this.#options.run(stop, this.#state);
    const elapsedMs = (): number => clock.runningMs() - startedMs;
    const { stats } = poll;
    const failure = await this.#collect(poll, () => startMs + elapsedMs());
    const tookMs = elapsedMs();
    if (stop.aborted) return;
    metrics.pollFinished(this.#labels, failure?.error.reason);
    const overruns = Math.floor(tookMs / (this.intervalSeconds * 1000));
    if (overruns > 0) metrics.pollSkipped(this.#labels, 'overrun', overruns);
    const { items, pages, bytes, limits } = stats;
    const counts = { responseSeconds: responseSeconds(stats), items, pages, bytes, limits };
    const last = { atMs: clock.wallMs(), durationSeconds: tookMs / 1000, ...counts };
    this.#conclude(failure, last, stats.warnings);
    this.#beginWork(stop);
  }

  #beginWork(stop: AbortSignal): void {
    const end = new AbortController();
    const signal = AbortSignal.any([stop, end.signal]);
    const working = this.#options
      .work(signal, this.#state)
      .catch((error: unknown) =>
        this.#log.error({ err: error }, 'the work between two polls failed'),
      );
    this.#endWork = () => {
      end.abort();
      return working;
    };
  }

  /** Waits for the result of a poll and publishes it; resolves to why the poll failed, if it did. */
  async #collect(poll: RunningPoll<CollectorResult>, atMs: () => number) {
    let result: CollectorResult;
    try {
      result = await poll.result;
    } catch (error) {
      if (error instanceof BreakerOpenError) this.#schedule.retryIn(error.retryInMs);
      return { error: failureOf(error) };
    }
    try {
      const rendered = await renderResult(this.#options, result);
      // Rendering has let other polls go on.
      const replaced = poll.clusterFailure();
      if (replaced !== undefined) return { error: replaced };
      this.#publish({ result, snapshot: rendered.snapshot, atMs: atMs() });
      this.#countDropped(rendered, poll.stats.limits);
      for (const { reason } of result.partFailures ?? []) {
        this.#options.metrics.pollFailed(this.#labels, reason);
      }
      return result.failure && { error: result.failure };
    } catch (error) {
      return unexpectedFailure(error, 'the result cannot be exported', this.#log);
    }
  }

  /** Shows a result from now on. */
  #publish(published: Published): void {
    const { noData } = published.result;
    // Its text may change from poll to poll: one URL responds 404, the next one 501.
    if (this.#published?.result.noData === undefined && noData !== undefined) {
      this.#log.info(noData);
    }
    this.#published = published;
  }

  #countDropped({ dropped, duplicates }: RenderedResult, limits: Set<Limit>): void {
    const { metrics } = this.#options;
    if (dropped.size > 0) limits.add('series');
    for (const [family, count] of dropped) metrics.seriesDropped(family, 'budget', count);
    for (const [family, count] of duplicates) metrics.seriesDropped(family, 'duplicate', count);
  }

  #skip(failedMs: number): void {
    this.#schedule.retryIn(failedMs);
    const message = `all URLs fail; poll skipped, next attempt in ${Math.ceil(failedMs / 1000)} s`;
    this.#options.metrics.pollSkipped(this.#labels, 'breaker_open');
    this.#conclude({ error: new RequestError('breaker_open', message) }, this.outcome.last);
  }

  /** Replaces the outcome after a poll; `last` is the last poll that ran, which a skipped poll leaves as it was. */
  #conclude(
    failure: PollFailure | undefined,
    last: Outcome['last'],
    warnings: ReadonlyMap<string, PollWarning> = new Map(),
  ): void {
    const before = this.outcome;
    const { clock, settings } = this.#options;
    const explained = failure && this.#explain(failure);
    if (this.#published === undefined) this.#withoutResultAtMs ??= clock.monotonicMs();
    const isStretched = stretchInterval(settings, last?.responseSeconds) > settings.interval;
    const all = { warnings: new Map(warnings) };
    if (isStretched) addWarning(all, STRETCHED);
    const isWhole = explained === undefined && last?.limits.has('duration') !== true;
    this.#outcome.value = {
      state: explained === undefined ? 'ok' : 'failing',
      failure: explained,
      last,
      lastSuccessMs: explained === undefined ? last?.atMs : before.lastSuccessMs,
      warnings: isWhole ? all.warnings : new Map([...(before.warnings ?? []), ...all.warnings]),
    };
    if (explained !== undefined) {
      const { error, remedy } = explained;
      this.#log.debug({ reason: error.reason, hint: remedy }, error.message);
    } else if (before.state === 'waiting') this.#log.info('collector succeeded');
  }

  /** An error of the exporter itself has its remedy already. */
  #explain(failure: PollFailure): PollFailure {
    const { error, rule } = failure;
    if (rule !== undefined) return failure;
    const hasWorked = this.outcome.lastSuccessMs !== undefined;
    const found = this.#options.findRemedy(this.collector, error, hasWorked);
    return { error, rule: found?.rule, remedy: found?.remedy };
  }
}
