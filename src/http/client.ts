import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import pLimit, { type LimitFunction } from 'p-limit';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { BreakerState, Endpoint, RetryReason } from '../vocabulary.ts';
import { performRequest } from './attempt.ts';
import { RequestError, type RequestTarget, toRequestError } from './errors.ts';
import { Health, type HealthOptions, type Upstream } from './health.ts';
import type { HttpRequest, RequestOptions } from './request.ts';
import {
  backoffMs,
  goesToNextUrl,
  isRefusal,
  MAX_ATTEMPTS,
  MAX_WAIT_MS,
  pauseSeconds,
  RetryBudget,
  retryReason,
} from './retry.ts';

/** The time for TCP and TLS together; a black-holed host must not use up the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;
/** A pause may end before its time, with the response to a trial. */
const PAUSE_CHECK_MS = 100;

export interface HttpClientOptions extends RequestOptions, Omit<HealthOptions, 'deadlines'> {
  readonly urls: readonly string[];
  readonly tls: Omit<ConnectionOptions, 'port'>;
  /** Where requests go before they go to their URL, except for these hosts, separated by commas. */
  readonly proxy?: { readonly url: string; readonly exceptions: string } | undefined;
  readonly maxConcurrentRequests: number;
  readonly random: () => number;
  /** Called when a request is about to be sent again. */
  readonly requestRetried: (endpoint: Endpoint, reason: RetryReason) => void;
}

/** Breakers keep a request from being sent. */
export class BreakerOpenError extends RequestError {
  /** When it may be sent. */
  readonly retryInMs: number;

  constructor(endpoint: Endpoint, retryInMs: number) {
    const seconds = Math.ceil(retryInMs / 1000);
    const text = `${endpoint}: failed too often; the next attempt is in ${seconds} s`;
    super('breaker_open', text, { endpoint });
    this.retryInMs = retryInMs;
  }
}

/** A request on its way through attempts at several URLs. */
interface Call<T> {
  readonly request: HttpRequest<T>;
  readonly maxAttempts: number;
  attempts: number;
  /** Another URL may do better than the last attempt. */
  goesOn: boolean;
  /** A part of the body arrived, and may have been handed on: the body of another response cannot follow it. */
  hasBody: boolean;
}

/** The state of a configured URL. */
export interface UrlState {
  /** host:port. */
  readonly name: string;
  readonly state: BreakerState;
  /** Why it is not used, or was not. */
  readonly lastFailure: RequestError | undefined;
}

/**
 * All requests to one API of one cluster: bounded concurrency, deadlines, failover between the URLs, few retries, circuit
 * breakers. Failures are RequestErrors with a reason of the closed list.
 */
export class HttpClient implements AsyncDisposable {
  readonly #options: HttpClientOptions;
  #agent: Dispatcher;
  readonly #health: Health;
  readonly #slots: LimitFunction;
  readonly #budget = new RetryBudget();

  constructor(options: HttpClientOptions) {
    const { urls, maxConcurrentRequests } = options;
    this.#options = options;
    this.#agent = createAgent(options);
    this.#health = new Health(urls, options);
    this.#slots = pLimit(maxConcurrentRequests);
  }

  /** Sends a request, and again where that may help (retry.ts). */
  async send<T>(request: HttpRequest<T>): Promise<T> {
    const { stats, isSentOnce } = request;
    const maxAttempts = isSentOnce === true ? 1 : Math.max(MAX_ATTEMPTS, this.#options.urls.length);
    const call: Call<T> = { request, maxAttempts, attempts: 0, goesOn: false, hasBody: false };
    let before: RequestError | undefined;
    this.#budget.deposit();
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.#tryUrls(call);
      } catch (error) {
        if (!(error instanceof RequestError) || stats.signal.aborted) throw error;
        // The failure that led to a retry matters more than that it could not be sent.
        if (error.reason === 'breaker_open' && before !== undefined) throw before;
        before = error;
        await this.#waitToRetry(error, call, retries);
      }
    }
  }

  /** How long failures keep every request from all URLs, ms; 0 if a request may be sent. */
  blockedMs(): number {
    return this.#health.failedMs();
  }

  /** The longest pause (Retry-After) that keeps an endpoint from all URLs lasts this much longer, ms. */
  pausedMs(): number {
    const untilMs = this.#health.pauseOf()?.untilMs ?? 0;
    return Math.max(0, untilMs - this.#options.monotonicMs());
  }

  upstreams(): readonly UrlState[] {
    return this.#health.upstreams.map(({ name, breaker: { state }, lastFailure }) => {
      return { name, state, lastFailure };
    });
  }

  /** For connections from now on; requests in flight end on theirs. */
  useTls(tls: HttpClientOptions['tls']): void {
    const old = this.#agent;
    this.#agent = createAgent({ ...this.#options, tls });
    void old.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#slots.clearQueue();
    await this.#agent.destroy();
  }

  /** Rejects with the failure when a retry is no use. */
  async #waitToRetry<T>(error: RequestError, call: Call<T>, retries: number): Promise<void> {
    const { request, maxAttempts, attempts, hasBody } = call;
    const { endpoint, stats } = request;
    const { random, monotonicMs, requestRetried } = this.#options;
    const reason = retryReason(error, request);
    const pausedMs = (this.#health.pauseOf(request)?.untilMs ?? 0) - monotonicMs();
    const isLast = hasBody || attempts >= maxAttempts || pausedMs > MAX_WAIT_MS;
    if (reason === undefined || isLast || !this.#budget.withdraw()) throw error;
    requestRetried(endpoint, reason);
    const what = `${endpoint}: waiting for a retry`;
    await delay(backoffMs(retries, random), stats.signal, what, request);
  }

  /** Tries the URLs in turn, until one returns a response that no other URL would improve. */
  async #tryUrls<T>(call: Call<T>): Promise<T> {
    const { request } = call;
    const refusals = new Map<Upstream, RequestError>();
    let previous: RequestError | undefined;
    for (const upstream of this.#health.order(request)) {
      if (call.attempts >= call.maxAttempts) break;
      if (!this.#health.tryAcquire(upstream, request)) continue;
      call.attempts += 1;
      call.goesOn = false;
      try {
        const response = await this.#inSlot(request, () => this.#attempt(upstream, call, previous));
        for (const [url, error] of refusals) this.#health.refused(url, error);
        return response;
      } catch (error) {
        if (!(error instanceof RequestError) || !call.goesOn) throw error;
        previous = error;
        if (isRefusal(request, error)) refusals.set(upstream, error);
      }
    }
    if (previous !== undefined) throw previous;
    await this.#waitForPause(request);
    return this.#tryUrls(call);
  }

  /** Waits for a part of a short pause; during a long one, fails as the request did that started it. */
  async #waitForPause(request: HttpRequest): Promise<void> {
    const { endpoint, stats } = request;
    const pause = this.#health.pauseOf(request);
    if (pause === undefined) throw new BreakerOpenError(endpoint, this.#health.blockedMs(request));
    const leftMs = pause.untilMs - this.#options.monotonicMs();
    if (leftMs > MAX_WAIT_MS) throw pause.error;
    const what = `${endpoint}: waiting for Retry-After`;
    await delay(Math.min(Math.ceil(leftMs), PAUSE_CHECK_MS), stats.signal, what, request);
  }

  /** Runs `work` once a slot is free; a poll that is over does not wait for its turn. */
  async #inSlot<T>(request: HttpRequest, work: () => Promise<T>): Promise<T> {
    const { endpoint, stats } = request;
    const turn = Promise.withResolvers<void>();
    const done = this.#slots(() => {
      turn.resolve();
      // A request that is never sent proves nothing about the URL, but has used up a trial (`tryAcquire`).
      stats.signal.throwIfAborted();
      return work();
    });
    const what = `${endpoint}: waiting for a free slot`;
    await abortable(Promise.race([turn.promise, done]), stats.signal, what, request);
    return done;
  }

  async #attempt<T>(
    upstream: Upstream,
    call: Call<T>,
    previous: RequestError | undefined,
  ): Promise<T> {
    const { request } = call;
    const { stats } = request;
    const attempt = this.#health.begin(upstream, request);
    try {
      const response = await performRequest(request, attempt, this.#agent, this.#options);
      this.#health.succeeded(attempt);
      return response;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      call.hasBody = attempt.hasBody;
      // A limit without a name is that of the decoder: the response was too large or too deep.
      if (error.reason === 'limit') stats.limits.add(error.limit ?? 'bytes');
      const isUrlSilent = this.#health.failed(attempt, error, pauseSeconds(error));
      const isOver = stats.signal.aborted || attempt.hasBody;
      call.goesOn = !isOver && (isUrlSilent || goesToNextUrl(request, error, previous));
      throw error;
    }
  }
}

/** A pool of connections; the time to the headers of a response includes connecting. */
function createAgent({
  tls,
  proxy,
  maxConcurrentRequests,
  deadlines,
}: HttpClientOptions): Dispatcher {
  const timeout = Math.min(CONNECT_TIMEOUT_MS, deadlines.headersMs);
  const connect = { ...tls, timeout, minVersion: 'TLSv1.2' as const };
  const pool = {
    allowH2: false,
    connections: maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // attempt.ts watches headers and chunks; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  };
  if (proxy === undefined) return new Agent(pool);
  return new EnvHttpProxyAgent({
    ...pool,
    httpProxy: proxy.url,
    httpsProxy: proxy.url,
    noProxy: proxy.exceptions,
    requestTls: connect,
    connectTimeout: timeout,
  });
}

/**
 * Waits for shared work (a slot, a login) no longer than `signal` allows. The work itself goes on for others that wait
 * for it.
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  what: string,
  target: RequestTarget = {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(toRequestError(signal.reason, what, target));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

export async function delay(
  ms: number,
  signal: AbortSignal,
  what: string,
  target: RequestTarget = {},
): Promise<void> {
  await abortable(sleep(ms, undefined, { signal }), signal, what, target);
}
