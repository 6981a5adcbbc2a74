import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { orAborted } from './abort.ts';
import type { TlsOptions } from './agents.ts';
import { RequestError } from './errors.ts';
import {
  createExchange,
  type Endpoint,
  type ExchangeOptions,
  type HttpAnswer,
  type HttpRequest,
} from './exchange.ts';
import {
  backoffMs,
  createRetryBudget,
  LONGEST_WAIT_MS,
  type RetryReason,
  retryReason,
} from './retry.ts';
import { createTargets, orderTargets, type Target, type TargetState } from './targets.ts';

export interface HttpClientOptions extends ExchangeOptions {
  readonly urls: readonly string[];
  /** How long a bad URL is left alone. */
  readonly breakerOpenMs: number;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  readonly requestRetried: (retry: RetriedRequest) => void;
}

/** A request that is about to be repeated. */
export interface RetriedRequest {
  readonly endpoint: Endpoint;
  readonly reason: RetryReason;
}

export interface ClientRequest extends HttpRequest {
  /** Index of the URL to begin with. */
  readonly firstUrl?: number | undefined;
  /** One sick gateway can answer 500 to everything: ask once more at the next URL. */
  readonly repeatOn500?: boolean | undefined;
}

/** Statuses that speak of one endpoint or of the token: no server asks for patience with them. */
const LASTING: ReadonlySet<number> = new Set([401, 403, 404, 501]);

/**
 * The one door to one API of one cluster: bounded requests in flight, deadlines, the next URL when
 * one is bad, few repeats. Failures are RequestErrors with a reason of the closed list.
 */
export interface HttpClient extends AsyncDisposable {
  send(request: ClientRequest): Promise<HttpAnswer>;
  /** True while at least one URL may be asked. */
  available(): boolean;
  targets(): readonly TargetState[];
  /** For connections from now on; requests under way end on theirs. */
  useTls(tls: TlsOptions): void;
}

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const router = new Router(options);
  return {
    send: (request) => router.send(request),
    available: () => router.targets.some(({ breaker }) => breaker.state() !== 'open'),
    targets: () =>
      router.targets.map(({ name, breaker }) => ({ target: name, state: breaker.state() })),
    useTls: (tls) => router.useTls(tls),
    [Symbol.asyncDispose]: () => router.close(),
  };
}

/** Decides which URL is asked when, and how often. */
class Router {
  readonly targets: readonly Target[];
  readonly #options: HttpClientOptions;
  readonly #slots: ReturnType<typeof pLimit>;
  readonly #exchange: ReturnType<typeof createExchange>;
  readonly #budget = createRetryBudget();
  /** What the server said when it asked to be left alone, and until when (monotonic ms). */
  #pause: { readonly error: RequestError; readonly untilMs: number } | undefined;

  constructor(options: HttpClientOptions) {
    const { urls, breakerOpenMs: openMs, monotonicMs, maxConcurrentRequests } = options;
    this.#options = options;
    this.targets = createTargets(urls, { openMs, monotonicMs });
    this.#slots = pLimit(maxConcurrentRequests);
    this.#exchange = createExchange(options);
  }

  async send(request: ClientRequest): Promise<HttpAnswer> {
    this.#budget.earn();
    const handed = countHanded(request);
    let before: RequestError | undefined;
    for (let repeats = 0; ; repeats += 1) {
      await this.#keepPause(request);
      try {
        return await this.#askTargets(handed);
      } catch (error) {
        if (!(error instanceof RequestError) || request.signal.aborted) throw error;
        // A repeat that was not admitted any more says less than the failure that led to it.
        if (error.reason === 'breaker_open' && before !== undefined) throw before;
        before = error;
        this.#notePause(error);
        const reason = retryReason(error, request, { repeats, bytes: handed.bytes });
        const waitMs = backoffMs(error, repeats, this.#options.random);
        if (reason === undefined || waitMs > LONGEST_WAIT_MS || !this.#budget.spend()) throw error;
        this.#options.requestRetried({ endpoint: request.endpoint, reason });
        await pass(waitMs, request);
      }
    }
  }

  useTls(tls: TlsOptions): void {
    this.#exchange.useTls(tls);
  }

  async close(): Promise<void> {
    this.#slots.clearQueue();
    await this.#exchange[Symbol.asyncDispose]();
  }

  /** The URLs in turn, until one gives an answer that is not the URL's own fault. */
  async #askTargets(request: CountedRequest): Promise<HttpAnswer> {
    let last: RequestError | undefined;
    for (const target of orderTargets(this.targets, request.firstUrl ?? 0)) {
      if (!target.breaker.admit()) continue;
      try {
        return await this.#askTarget(target, request);
      } catch (error) {
        if (!(error instanceof RequestError) || request.signal.aborted) throw error;
        // Half an answer was handed on; another server's cannot be put behind it.
        if (request.bytes > 0) throw error;
        // A second 500 is the cluster's answer, not one gateway's.
        const isSick = error.status === 500 && request.repeatOn500 === true && last?.status !== 500;
        if (!error.blamesUrl && !isSick) throw error;
        last = error;
      }
    }
    if (last !== undefined) throw last;
    const trials = this.targets.flatMap(({ breaker }) => breaker.trial() ?? []);
    const what = `${request.endpoint}: no URL may be asked now`;
    if (trials.length === 0) throw new RequestError('breaker_open', what);
    // The request on trial speaks for this one, too.
    await orAborted(Promise.race(trials), request.signal, what);
    return this.#askTargets(request);
  }

  /** One request to one URL, once a slot is free; a poll that is over does not wait for its turn. */
  async #askTarget(target: Target, request: ClientRequest): Promise<HttpAnswer> {
    const turn = Promise.withResolvers<void>();
    const work = this.#slots(() => {
      turn.resolve();
      return this.#exchangeWith(target, request);
    });
    const what = `${request.endpoint}: waiting for a free slot`;
    await orAborted(Promise.race([turn.promise, work]), request.signal, what);
    return work;
  }

  /** The URL's breaker learns what the outcome says of the URL. */
  async #exchangeWith(target: Target, request: ClientRequest): Promise<HttpAnswer> {
    const { breaker } = target;
    try {
      const answer = await this.#exchange.send(target, request);
      breaker.succeeded();
      return answer;
    } catch (error) {
      if (error instanceof RequestError && error.blamesUrl) breaker.failed();
      else if (error instanceof RequestError && error.status !== undefined) breaker.succeeded();
      else breaker.released();
      throw error;
    }
  }

  /** Waits out a pause that the server asked for, or fails as it did when the pause is long. */
  async #keepPause(request: ClientRequest): Promise<void> {
    if (this.#pause === undefined) return;
    const leftMs = this.#pause.untilMs - this.#options.monotonicMs();
    if (leftMs > LONGEST_WAIT_MS) throw this.#pause.error;
    if (leftMs > 0) await pass(leftMs, request);
  }

  #notePause(error: RequestError): void {
    if (error.retryAfterSeconds === undefined || LASTING.has(error.status ?? 0)) return;
    const untilMs = this.#options.monotonicMs() + error.retryAfterSeconds * 1000;
    this.#pause = { error, untilMs };
  }
}

/** A request that knows how much of its answer was handed on. */
interface CountedRequest extends ClientRequest {
  bytes: number;
}

function countHanded(request: ClientRequest): CountedRequest {
  const counted: CountedRequest = {
    ...request,
    bytes: 0,
    onChunk(chunk) {
      counted.bytes += chunk.length;
      request.onChunk(chunk);
    },
  };
  return counted;
}

async function pass(milliseconds: number, request: ClientRequest): Promise<void> {
  const waited = sleep(milliseconds, undefined, { signal: request.signal });
  await orAborted(waited, request.signal, `${request.endpoint}: waiting to ask again`);
}
