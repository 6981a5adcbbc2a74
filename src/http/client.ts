import pLimit from 'p-limit';
import { orAborted, pass } from './abort.ts';
import type { TlsOptions } from './agents.ts';
import { RequestError } from './errors.ts';
import {
  createExchange,
  type Endpoint,
  type ExchangeOptions,
  type HttpAnswer,
} from './exchange.ts';
import { RetryAfterTimers } from './retry-after.ts';
import {
  backoffMs,
  createRetryBudget,
  MAX_WAIT_MS,
  MAX_ATTEMPTS,
  type RetryReason,
  retryReason,
} from './retry.ts';
import {
  createTargets,
  orderTargets,
  tryOneOut,
  type Target,
  type TargetState,
} from './targets.ts';
import { type AttemptRequest, stateName, Attempts } from './attempts.ts';

export interface HttpClientOptions extends ExchangeOptions {
  readonly urls: readonly string[];
  /** How long a bad URL, endpoint or node is left alone. */
  readonly breakerOpenMs: number;
  /** Largest share of the time in which a node may be waited for in vain. */
  readonly maxDuty: number;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly requestRetried: (retry: RetriedRequest) => void;
}

/** A request that is about to be repeated. */
export interface RetriedRequest {
  readonly endpoint: Endpoint;
  readonly reason: RetryReason;
}

export interface ClientRequest extends AttemptRequest {
  /** Index of the URL to begin with. */
  readonly firstUrl?: number | undefined;
  /** One sick gateway can answer 500 to everything: ask once more at the next URL. */
  readonly repeatOn500?: boolean | undefined;
}

/** Breakers keep a request from being sent. */
export class BreakerOpenError extends RequestError {
  /** From when on it may be sent. */
  readonly retryInMs: number;

  constructor(endpoint: Endpoint, retryInMs: number) {
    const seconds = Math.ceil(retryInMs / 1000);
    super('breaker_open', `${endpoint}: failed too often; the next trial is in ${seconds} s`);
    this.retryInMs = retryInMs;
  }
}

/**
 * The one door to one API of one cluster: bounded requests in flight, deadlines, the next URL when
 * one is bad, few repeats. Failures are RequestErrors with a reason of the closed list.
 */
export interface HttpClient extends AsyncDisposable {
  send(request: ClientRequest): Promise<HttpAnswer>;
  /** How long no URL may be asked, ms; 0 when one may. */
  blockedMs(): number;
  /** How long the server asked that nothing be asked of it (429 with Retry-After), ms; 0 when it did not. */
  pausedMs(): number;
  /** Asks again although the server asked for a pause, of whatever. */
  endPause(): void;
  targets(): readonly TargetState[];
  /** For connections from now on; requests under way end on theirs. */
  useTls(tls: TlsOptions): void;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const router = new Router(options);
  return {
    send: (request) => router.send(request),
    blockedMs: () => router.blockedMs(),
    pausedMs: () => router.pauses.leftMs(),
    endPause: () => router.pauses.end(),
    targets: () =>
      router.targets.map(({ name, breaker }) => ({ target: name, state: breaker.state() })),
    useTls: (tls) => router.useTls(tls),
    [Symbol.asyncDispose]: () => router.close(),
  };
}

/** Decides which URL is asked when, and how often. */
class Router {
  readonly targets: readonly Target[];
  readonly pauses: RetryAfterTimers;
  readonly #options: HttpClientOptions;
  readonly #maxAttempts: number;
  readonly #slots: ReturnType<typeof pLimit>;
  readonly #exchange: ReturnType<typeof createExchange>;
  readonly #attempts: Attempts;
  readonly #budget = createRetryBudget();

  constructor(options: HttpClientOptions) {
    const { urls, breakerOpenMs: openMs, monotonicMs, deadlines, maxDuty } = options;
    const { headersMs, headersAfterSilenceMs } = deadlines;
    const states = { openMs, monotonicMs, headersMs, headersAfterSilenceMs };
    this.#options = options;
    this.#maxAttempts = Math.max(MAX_ATTEMPTS, urls.length);
    this.targets = createTargets(urls, states);
    this.pauses = new RetryAfterTimers(monotonicMs);
    this.#slots = pLimit(options.maxConcurrentRequests);
    this.#exchange = createExchange(options);
    const hasSeveralUrls = urls.length > 1;
    this.#attempts = new Attempts({ ...states, exchange: this.#exchange, maxDuty, hasSeveralUrls });
  }

  async send(request: ClientRequest): Promise<HttpAnswer> {
    this.#budget.earn();
    const counted = countHanded(request);
    const about = stateName(request);
    let before: RequestError | undefined;
    for (let repeats = 0; ; repeats += 1) {
      await this.pauses.keep(
        about,
        request.signal,
        `${request.endpoint}: waiting as the server asked`,
      );
      this.#leaveAlone(request);
      try {
        return await this.#askTargets(counted);
      } catch (error) {
        if (!(error instanceof RequestError) || request.signal.aborted) throw error;
        // A repeat that was not admitted any more says less than the failure that led to it.
        if (error.reason === 'breaker_open' && before !== undefined) throw before;
        before = error;
        this.pauses.note(about, error);
        await this.#waitToRepeat(error, counted, repeats);
      }
    }
  }

  /** How long until one of the URLs may be asked. */
  blockedMs(): number {
    const now = this.#options.monotonicMs();
    const waits = this.targets.map(({ breaker }) =>
      Math.max(0, (breaker.trialAtMs() ?? now) - now),
    );
    return Math.min(...waits);
  }

  useTls(tls: TlsOptions): void {
    this.#exchange.useTls(tls);
  }

  async close(): Promise<void> {
    this.#slots.clearQueue();
    await this.#exchange[Symbol.asyncDispose]();
  }

  /** Rejects with the failure when repeating is no use. */
  async #waitToRepeat(
    error: RequestError,
    request: CountedRequest,
    repeats: number,
  ): Promise<void> {
    const reason = request.attempts < this.#maxAttempts && retryReason(error, request);
    const waitMs = backoffMs(error, repeats, this.#options.random);
    if (!reason || waitMs > MAX_WAIT_MS || !this.#budget.spend()) throw error;
    this.#options.requestRetried({ endpoint: request.endpoint, reason });
    await pass(waitMs, request.signal, `${request.endpoint}: waiting to ask again`);
  }

  /** A node that gave no answer must not hold a slot at every turn. */
  #leaveAlone(request: ClientRequest): void {
    const leftMs = this.#attempts.leftAloneMs(request);
    if (leftMs === 0) return;
    const what = `${request.endpoint} of node ${request.node}`;
    const seconds = Math.ceil(leftMs / 1000);
    throw new RequestError('timeout', `${what}: gave no answer and is left alone for ${seconds} s`);
  }

  /** The URLs in turn, until one gives an answer that no other URL would better. */
  async #askTargets(request: CountedRequest): Promise<HttpAnswer> {
    let last: RequestError | undefined;
    const rankOf = (target: Target): number => this.#attempts.rank(target, request);
    const order = orderTargets(this.targets, request.firstUrl ?? 0, rankOf);
    for (const target of tryOneOut(order)) {
      if (request.attempts >= this.#maxAttempts) break;
      if (!this.#attempts.admit(target, request)) continue;
      try {
        return await this.#askTarget(target, request);
      } catch (error) {
        if (!(error instanceof RequestError) || request.signal.aborted) throw error;
        // Half an answer was handed on; another server's cannot be put behind it.
        if (request.bytes > 0) throw error;
        // A second 500 is the cluster's answer, not one gateway's.
        const isSick = error.status === 500 && request.repeatOn500 === true && last?.status !== 500;
        if (!error.isUrlFault && !isSick) throw error;
        last = error;
      }
    }
    if (last !== undefined) throw last;
    await this.#awaitTrial(request);
    return this.#askTargets(request);
  }

  /** The request on trial speaks for this one, too. Rejects when there is none. */
  async #awaitTrial(request: CountedRequest): Promise<void> {
    const trials = this.targets.flatMap((target) => this.#attempts.trial(target, request) ?? []);
    const what = `${request.endpoint}: waiting for a trial`;
    if (trials.length === 0) throw new BreakerOpenError(request.endpoint, this.#retryInMs(request));
    await orAborted(Promise.race(trials), request.signal, what);
  }

  #retryInMs(request: ClientRequest): number {
    const trials = this.targets.map((target) => this.#attempts.trialAtMs(target, request));
    return Math.max(0, Math.min(...trials) - this.#options.monotonicMs());
  }

  /** One request to one URL, once a slot is free; a poll that is over does not wait for its turn. */
  async #askTarget(target: Target, request: CountedRequest): Promise<HttpAnswer> {
    const turn = Promise.withResolvers<void>();
    request.attempts += 1;
    const work = this.#slots(() => {
      turn.resolve();
      return this.#attempts.send(target, request);
    });
    const what = `${request.endpoint}: waiting for a free slot`;
    await orAborted(Promise.race([turn.promise, work]), request.signal, what);
    return work;
  }
}

/** A request that knows how often it was sent and how much of its answer was handed on. */
interface CountedRequest extends ClientRequest {
  attempts: number;
  bytes: number;
}

function countHanded(request: ClientRequest): CountedRequest {
  const counted: CountedRequest = {
    ...request,
    attempts: 0,
    bytes: 0,
    onChunk(chunk) {
      counted.bytes += chunk.length;
      request.onChunk(chunk);
    },
  };
  return counted;
}
