import type { ConnectionOptions } from 'node:tls';
import pLimit, { type LimitFunction } from 'p-limit';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Endpoint, RetryReason } from '../vocabulary.ts';
import { abortable, delay } from './deadlines.ts';
import type { HealthOptions } from './endpoint-health.ts';
import { RequestError, toRequestError } from './errors.ts';
import { Health } from './health.ts';
import { isRefusal, type Refusal, Refusals } from './refusals.ts';
import { type HttpRequest, performRequest, type RequestOptions, targetOf } from './request.ts';
import { MAX_ATTEMPTS, MAX_WAIT_MS, planRetry, RetryBudget } from './retry.ts';
import type { Upstream } from './upstream.ts';

/** For TCP and TLS together; a black-holed host must not use up the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

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
  attempts: number;
  /** A part of the body arrived, and may have been handed on: another server's cannot follow it. */
  hasBody: boolean;
  /** Another URL may do better after the last failure. */
  shouldFailover: boolean;
  readonly refusals: Refusal[];
}

/**
 * All requests to one API of one cluster: bounded concurrency, deadlines, failover between the URLs, few retries, circuit
 * breakers. Failures are RequestErrors with a reason of the closed list.
 */
export class HttpClient implements AsyncDisposable {
  readonly #options: HttpClientOptions;
  readonly #maxAttempts: number;
  #agent: Dispatcher;
  /** Agents with older TLS settings, until their requests have ended. */
  readonly #retired = new Set<Dispatcher>();
  readonly #health: Health;
  readonly #slots: LimitFunction;
  readonly #budget = new RetryBudget();
  readonly #refusals: Refusals;

  constructor(options: HttpClientOptions) {
    const { urls, maxConcurrentRequests } = options;
    this.#options = options;
    this.#maxAttempts = Math.max(MAX_ATTEMPTS, urls.length);
    this.#agent = createAgent(options);
    this.#health = new Health(urls, options);
    this.#slots = pLimit(maxConcurrentRequests);
    this.#refusals = new Refusals(this.#health.upstreams);
  }

  /** Sends a request, and again where that may help. */
  async send<T>(request: HttpRequest<T>): Promise<T> {
    const { stats } = request;
    const call: Call<T> = {
      request,
      attempts: 0,
      hasBody: false,
      shouldFailover: false,
      refusals: [],
    };
    let before: RequestError | undefined;
    this.#budget.deposit();
    for (let retries = 0; ; retries += 1) {
      await this.#waitForPause(request);
      this.#skipSilentNode(request);
      try {
        return await this.#tryUpstreams(call);
      } catch (error) {
        if (!(error instanceof RequestError) || stats.signal.aborted) throw error;
        // The failure that led to a retry matters more than that it could not be sent.
        if (error.reason === 'breaker_open' && before !== undefined) throw before;
        before = error;
        await this.#waitToRetry(error, call, retries);
      }
    }
  }

  /** How long no URL may be sent a request, ms; 0 when one may. */
  blockedMs(): number {
    return this.#health.blockedMs();
  }

  /** What is left of the longest pause (Retry-After) that keeps an endpoint from all URLs, ms. */
  pausedMs(): number {
    return this.#health.pausedMs();
  }

  /** Ends all pauses that the servers requested. */
  endPause(): void {
    this.#health.endPauses();
  }

  /** Leaves out a URL for some minutes whose token was refused. Returns false, and does not, where no other is left. */
  leaveOut(url: string, error: RequestError): boolean {
    return this.#refusals.leaveOut(url, error);
  }

  upstreams(): readonly Pick<Upstream, 'name' | 'lastFailure' | 'state'>[] {
    return this.#health.upstreams;
  }

  /** For connections from now on; requests in flight end on theirs. */
  useTls(tls: HttpClientOptions['tls']): void {
    const old = this.#agent;
    this.#agent = createAgent({ ...this.#options, tls });
    this.#retired.add(old);
    void old.close().finally(() => this.#retired.delete(old));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#slots.clearQueue();
    await Promise.all([this.#agent, ...this.#retired].map((agent) => agent.destroy()));
  }

  /** A node that sent no response must not hold a slot at every poll. */
  #skipSilentNode(request: HttpRequest): void {
    const leftMs = this.#health.skippedMs(request);
    if (leftMs === 0) return;
    const { endpoint, node } = request;
    const seconds = Math.ceil(leftMs / 1000);
    const text = `${endpoint} of node ${node}: no response; paused for ${seconds} s`;
    throw new RequestError('timeout', text, { endpoint, node });
  }

  /** Waits out a short pause that the servers requested; during a long one, fails as the request did that started it. */
  async #waitForPause(request: HttpRequest): Promise<void> {
    const pause = this.#health.pauseOf(request);
    if (pause === undefined) return;
    const leftMs = pause.untilMs - this.#options.monotonicMs();
    if (leftMs > MAX_WAIT_MS) throw pause.error;
    const { endpoint, stats } = request;
    // Timers may fire a little early.
    await delay(
      Math.ceil(leftMs) + 1,
      stats.signal,
      `${endpoint}: waiting for Retry-After`,
      request,
    );
  }

  #maxAttemptsOf({ isSentOnce }: HttpRequest): number {
    return isSentOnce === true ? 1 : this.#maxAttempts;
  }

  /** Rejects with the failure when a retry is no use. */
  async #waitToRetry<T>(error: RequestError, call: Call<T>, retries: number): Promise<void> {
    const { request, attempts, hasBody } = call;
    const { endpoint, stats } = request;
    if (hasBody || attempts >= this.#maxAttemptsOf(request)) throw error;
    const { random, monotonicMs } = this.#options;
    const pausedMs = (this.#health.pauseOf(request)?.untilMs ?? -Infinity) - monotonicMs();
    const retry = planRetry(error, request, { retries, pausedMs, random });
    if (retry === undefined || !this.#budget.withdraw()) throw error;
    this.#options.requestRetried(endpoint, retry.reason);
    await delay(retry.waitMs, stats.signal, `${endpoint}: waiting for a retry`, request);
  }

  /** Tries the URLs in turn, until one returns a response that no other URL would improve. */
  async #tryUpstreams<T>(call: Call<T>): Promise<T> {
    const { request } = call;
    let last: RequestError | undefined;
    let order = this.#health.order(request);
    for (let [upstream] = order; upstream !== undefined; [upstream] = order) {
      order = order.slice(1);
      if (call.attempts >= this.#maxAttemptsOf(request)) break;
      const tried = this.#health.tryAcquire(upstream, request);
      if (tried === undefined) continue;
      call.attempts += 1;
      try {
        const response = await this.#inSlot(request, () => this.#attempt(upstream, call));
        this.#refusals.accepted(request, upstream, call.refusals);
        return response;
      } catch (error) {
        if (!(error instanceof RequestError) || request.stats.signal.aborted) throw error;
        if (isRefusal(request, error)) {
          if (upstream.isLeftOut) continue;
          call.refusals.push({ upstream, error });
          if (!this.#refusals.isDoubtful(request, call.refusals)) throw error;
          order = order.toSorted((a, b) => b.acceptedAtMs - a.acceptedAtMs);
          last = error;
          continue;
        }
        // A second 500 is the cluster's response, not one gateway's.
        const isGatewayFault =
          error.status === 500 && request.retryOn500 === true && last?.status !== 500;
        if (call.hasBody || (!call.shouldFailover && !isGatewayFault)) throw error;
        last = error;
      } finally {
        for (const breaker of tried) breaker.endTrial(request.endpoint);
      }
    }
    if (last !== undefined) throw last;
    await this.#waitForTrial(request);
    return this.#tryUpstreams(call);
  }

  /** The running trial decides for this request, too. Rejects when there is none. */
  async #waitForTrial(request: HttpRequest): Promise<void> {
    const { endpoint, stats } = request;
    const trials = this.#health.runningTrials(request);
    if (trials.length === 0) throw new BreakerOpenError(endpoint, this.#health.blockedMs(request));
    await abortable(
      Promise.race(trials),
      stats.signal,
      `${endpoint}: waiting for a trial`,
      request,
    );
  }

  /** Runs `work` once a slot is free; a poll that is over does not wait for its turn. */
  async #inSlot<T>(request: HttpRequest, work: () => Promise<T>): Promise<T> {
    const { endpoint, stats } = request;
    const turn = Promise.withResolvers<void>();
    const done = this.#slots(() => {
      turn.resolve();
      return work();
    });
    const what = `${endpoint}: waiting for a free slot`;
    await abortable(Promise.race([turn.promise, done]), stats.signal, what, request);
    return done;
  }

  async #attempt<T>(upstream: Upstream, call: Call<T>): Promise<T> {
    const { request } = call;
    const { endpoint, stats } = request;
    // A request that is never sent proves nothing about the URL.
    if (stats.signal.aborted) {
      const what = `${endpoint} at ${upstream.name}`;
      throw toRequestError(stats.signal.reason, what, targetOf(request, upstream));
    }
    const attempt = this.#health.begin(upstream, request);
    try {
      const result = await performRequest(request, attempt, this.#agent, this.#options);
      this.#health.succeeded(attempt);
      return result;
    } catch (error) {
      call.hasBody = attempt.hasBody;
      if (error instanceof RequestError) call.shouldFailover = this.#health.failed(attempt, error);
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
    // deadlines.ts watches headers and chunks; undici's timers are coarse.
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
