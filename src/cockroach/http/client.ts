import { setTimeout as sleep } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Dispatcher } from 'undici';
import type { BreakerState, Endpoint, RetryReason } from '#base';
import { type AgentOptions, createAgent } from './agents.ts';
import { type Attempt, performRequest } from './attempt.ts';
import { type FailureDetails, RequestError, type RequestTarget, toRequestError } from './errors.ts';
import { type Failures, Health, type HealthOptions } from './health.ts';
import { type HttpRequest, requestName, type RequestOptions } from './request.ts';
import {
  backoffMs,
  goesToNextUrl,
  mayBeRepeated,
  POLICY,
  RetryBudget,
  retryReason,
} from './retry-policy.ts';
import { ReusedConnections } from './reused-connections.ts';
import type { Upstream } from './upstream.ts';

export interface HttpClientOptions extends RequestOptions, HealthOptions, AgentOptions {
  readonly deadlines: RequestOptions['deadlines'];
  readonly urls: readonly string[];
  readonly random: () => number;
  /** Called when a request is sent again. */
  readonly requestRetried: (endpoint: Endpoint, reason: RetryReason) => void;
}

const NO_SLOT =
  'other requests of the exporter took too long: raise cluster_api.max_concurrent_requests, or look for what slows those';

/** Breakers keep a request from being sent. */
export class BreakerOpenError extends RequestError {
  /** In how many ms it may be sent. */
  readonly retryInMs: number;

  constructor(request: Pick<HttpRequest, 'name' | 'endpoint'>, retryInMs: number) {
    const seconds = Math.ceil(retryInMs / 1000);
    const text = `${requestName(request)}: failed too often; the next attempt is in ${seconds} s`;
    super('breaker_open', text, { endpoint: request.endpoint });
    this.retryInMs = retryInMs;
  }
}

/** A request on its way through attempts at several URLs. */
interface Call<T> {
  readonly request: HttpRequest<T>;
  attempts: number;
  /** The failure that is worth a retry, until it is sent. */
  retry: { readonly error: RequestError; readonly reason: RetryReason } | undefined;
  /** A part of the body arrived, and may have been handed on: the body of another response cannot follow it. */
  hasBody: boolean;
  /** How often it was sent again after the reset of a reused connection. */
  resets: number;
}

/** The state of a configured URL. */
export interface UrlState {
  /** host:port, with the path where URLs share it. */
  readonly name: string;
  readonly state: BreakerState;
  /** The last failure for which the URL is not used, or was not. */
  readonly lastFailure: RequestError | undefined;
  /** Whether anything has come of a request to it: before, a new client uses every URL. */
  readonly isTried: boolean;
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
  /** All but one of the slots; all of one or two, as half of them would be too few for a scan. */
  readonly #slotsForOthers: LimitFunction;
  readonly #budget = new RetryBudget();
  readonly #reused = new ReusedConnections();

  constructor(options: HttpClientOptions) {
    const { urls, maxConcurrentRequests } = options;
    this.#options = options;
    this.#agent = createAgent(options);
    this.#health = new Health(urls, options);
    this.#slots = pLimit(maxConcurrentRequests);
    this.#slotsForOthers = pLimit(maxConcurrentRequests - Number(maxConcurrentRequests > 2));
  }

  /** Sends a request once a slot is free, and again where that may help (retry-policy.ts). */
  async send<T>(request: HttpRequest<T>): Promise<T> {
    const call: Call<T> = { request, attempts: 0, retry: undefined, hasBody: false, resets: 0 };
    this.#budget.deposit();
    for (let retries = 0; ;) {
      try {
        const answered = await this.#inSlot(request, () => this.#goThroughUrls(call));
        if (answered !== undefined) return answered.response;
        await this.#waitForPause(request);
      } catch (error) {
        if (!(error instanceof RequestError) || request.stats.signal.aborted) throw error;
        // The failure that led to a retry matters more than that it could not be sent.
        if (call.retry !== undefined) throw call.retry.error;
        await this.#waitToRetry(error, call, retries);
        retries += 1;
      }
    }
  }

  /** How long failures keep every request from all URLs, ms; 0 if a request may be sent. */
  failedMs(): number {
    return this.#health.failedMs();
  }

  /** How much longer the longest pause (Retry-After) lasts that keeps an endpoint from all URLs, ms. */
  pausedMs(): number {
    const untilMs = this.#health.pauseOf()?.untilMs ?? 0;
    return Math.max(0, untilMs - this.#options.runningMs());
  }

  upstreams(): readonly UrlState[] {
    return this.#health.upstreams.map(({ name, breaker: { state }, lastFailure, arrivals }) => {
      const isTried = arrivals > 0 || lastFailure !== undefined;
      return { name, state, lastFailure, isTried };
    });
  }

  /** For connections from now on; requests in flight end on theirs. */
  useTls(tls: HttpClientOptions['tls']): void {
    const old = this.#agent;
    this.#agent = createAgent({ ...this.#options, tls });
    void old.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#slotsForOthers.clearQueue();
    this.#slots.clearQueue();
    await this.#agent.destroy();
    this.#reused[Symbol.dispose]();
  }

  /** Rejects with the failure when a retry is no use. */
  async #waitToRetry<T>(error: RequestError, call: Call<T>, retries: number): Promise<void> {
    const { request, attempts, hasBody } = call;
    const { random, runningMs } = this.#options;
    const reason = retryReason(error, request);
    const pausedMs = (this.#health.pauseOf(request)?.untilMs ?? 0) - runningMs();
    const isLast = hasBody || attempts >= this.#health.maxAttempts || pausedMs > POLICY.maxWaitMs;
    if (reason === undefined || isLast) throw error;
    call.retry = { error, reason };
    const what = `${requestName(request)}: waiting for a retry`;
    await delay(backoffMs(retries, random), request.stats.signal, what, request);
  }

  /**
   * One round through the URLs, until one returns a response that no other URL would improve. Resolves to undefined when
   * none may be used now.
   */
  async #goThroughUrls<T>(call: Call<T>): Promise<{ readonly response: T } | undefined> {
    const { request } = call;
    const failures = new Map<Upstream, RequestError>();
    let previous: RequestError | undefined;
    let isAnswered = false;
    let upstream = this.#chooseNext(call, failures);
    try {
      while (upstream !== undefined) {
        const attempt = this.#health.begin(upstream, request);
        request.onSend?.();
        try {
          const response = await performRequest(attempt, this.#agent, this.#options);
          this.#health.succeeded(attempt);
          isAnswered = true;
          return { response };
        } catch (error) {
          if (!(error instanceof RequestError)) throw error;
          if (this.#repeatsFreely(call, attempt, error)) continue;
          failures.set(upstream, error);
          const goesOn = this.#recordFailure(call, attempt, error, previous);
          previous = error;
          upstream = goesOn ? this.#chooseNext(call, failures) : undefined;
        }
      }
    } finally {
      this.#health.roundEnded(request, failures, isAnswered);
    }
    if (previous !== undefined) throw previous;
    return undefined;
  }

  /** The URL of the next attempt, which is counted; a retry is paid for. Throws the failure before it if the budget is spent. */
  #chooseNext<T>(call: Call<T>, failures: Failures): Upstream | undefined {
    const { request, retry } = call;
    if (call.attempts >= this.#health.maxAttempts) return undefined;
    const upstream = this.#health.choose(request, failures);
    if (upstream === undefined) return undefined;
    if (retry !== undefined) {
      if (!this.#budget.withdraw()) throw retry.error;
      call.retry = undefined;
      this.#options.requestRetried(request.endpoint, retry.reason);
    }
    call.attempts += 1;
    return upstream;
  }

  /** Returns whether another URL may do better than the last attempt. */
  #recordFailure<T>(
    call: Call<T>,
    attempt: Attempt,
    error: RequestError,
    previous: RequestError | undefined,
  ): boolean {
    const { request } = call;
    const { stats } = request;
    call.hasBody = attempt.hasBody;
    // The decoder's limit has no name: the response was too large or too deep.
    if (error.reason === 'limit') stats.limits.add(error.limit ?? 'bytes');
    const isUrlSilent = this.#health.failed(attempt, error);
    if (stats.signal.aborted || attempt.hasBody || !mayBeRepeated(request, error)) return false;
    return isUrlSilent || goesToNextUrl(request, error, previous);
  }

  /**
   * Whether a reused connection was reset: then the request is sent again at once. That is no attempt and costs no retry, as
   * long as the pool may have such connections.
   */
  #repeatsFreely<T>(call: Call<T>, { code }: Attempt, error: RequestError): boolean {
    const { endpoint, method, stats } = call.request;
    if (code !== 'error' || method !== 'GET' || stats.signal.aborted) return false;
    if (call.resets >= this.#options.maxConcurrentRequests || !this.#reused.wasReset(error)) {
      return false;
    }
    call.resets += 1;
    this.#options.requestRetried(endpoint, 'network');
    return true;
  }

  /** Waits for a part of a short pause; during a long one, fails as the request did that started it. */
  async #waitForPause(request: HttpRequest): Promise<void> {
    const pause = this.#health.pauseOf(request);
    if (pause === undefined) {
      const blockedMs = this.#health.blockedMs(request);
      if (blockedMs > 0) throw new BreakerOpenError(request, blockedMs);
      // What kept the request has just ended.
      return;
    }
    const leftMs = pause.untilMs - this.#options.runningMs();
    if (leftMs > POLICY.maxWaitMs) throw pause.error;
    const what = `${requestName(request)}: waiting for Retry-After`;
    await delay(
      Math.min(Math.ceil(leftMs), POLICY.pauseCheckMs),
      request.stats.signal,
      what,
      request,
    );
  }

  /**
   * Runs `work` once a slot is free; a poll that is over does not wait for its turn. Example with 4 slots: while the lists of
   * ranges of 8 frozen nodes are requested, 3 at a time, the list of nodes is still read.
   */
  async #inSlot<T>(request: HttpRequest, work: () => Promise<T>): Promise<T> {
    const { stats } = request;
    const begun = Promise.withResolvers<void>();
    const begin = () =>
      this.#slots(() => {
        begun.resolve();
        // A request that is never sent proves nothing.
        stats.signal.throwIfAborted();
        return work();
      });
    const done = mayWaitForOthers(request) ? this.#slotsForOthers(begin) : begin();
    const what = `${requestName(request)}: waiting for a free slot`;
    const target = { endpoint: request.endpoint, node: request.node, remedy: NO_SLOT };
    await abortable(Promise.race([begun.promise, done]), stats.signal, what, target);
    return done;
  }
}

/** Whether other nodes, or a statement, may delay the response for minutes. */
function mayWaitForOthers({ node, blames = 'url' }: HttpRequest): boolean {
  return node !== undefined || blames !== 'url';
}

/**
 * Waits for shared work (a slot, a login) no longer than `signal` allows. The work itself goes on for others that wait
 * for it.
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
  what: string,
  target: FailureDetails = {},
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
