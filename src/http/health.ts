import { BoundedMap } from './bounded-map.ts';
import type { Breaker, Pause } from './breaker.ts';
import { EndpointHealth, type HealthOptions } from './endpoint-health.ts';
import { isNodeTimeout, missedDeadline, type RequestError } from './errors.ts';
import { isAboutUrl, longestPause, pauseEverywhere, pauseLengthMs } from './pauses.ts';
import { type Attempt, type HttpRequest, subjectOf } from './request.ts';
import { Upstream } from './upstream.ts';

/** A node without a response is skipped no longer than this. */
const MAX_SKIP_MS = 300_000;

/** One try of a request, with what classifies its outcome. */
interface TrackedAttempt extends Attempt {
  readonly request: HttpRequest;
  readonly endpoint: EndpointHealth;
  /** The request finds out whether a half-open URL works again. */
  readonly isTrial: boolean;
}

/**
 * The health of the URLs of one API, of their endpoints and of the nodes behind them: where a request may be sent now. Each
 * has a circuit breaker; a node that did not respond is skipped for a time.
 */
export class Health {
  readonly upstreams: readonly Upstream[];
  readonly #options: HealthOptions;
  readonly #nodes = new BoundedMap<number, EndpointHealth>();
  readonly #isOnlyUrl: boolean;
  /** A number for each failure, in their order. */
  #failures = 0;

  constructor(urls: readonly string[], options: HealthOptions) {
    this.#isOnlyUrl = urls.length === 1;
    this.upstreams = urls.map((url) => new Upstream(url, this.#isOnlyUrl, options));
    this.#options = options;
  }

  /**
   * The URLs in the order in which this request may try them. A URL that failed the request comes after the others; one
   * that is half open comes first, so that it is soon known whether it works again.
   */
  order(request: HttpRequest): readonly Upstream[] {
    const inUse = this.upstreams.filter(({ isLeftOut }) => !isLeftOut);
    const areAllOpen = inUse.every(({ breaker }) => breaker.state === 'open');
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    return [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)]
      .filter(({ isLeftOut }) => !isLeftOut || areAllOpen)
      .map((upstream) => ({ upstream, rank: this.#rank(upstream, request) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ upstream }) => upstream);
  }

  /** Nodes come last at a half-open URL: their lists may take long, so other requests find out whether it works. */
  #rank(upstream: Upstream, request: HttpRequest): number {
    const { breaker, failureOrder } = this.#endpoint(upstream, request);
    if (upstream.state === 'half_open' && request.node === undefined) return -1;
    const isClosed = upstream.state === 'closed' && breaker.state === 'closed';
    return isClosed ? (failureOrder.get(upstream.url) ?? 0) : Number.MAX_SAFE_INTEGER;
  }

  #endpoint(upstream: Upstream, request: HttpRequest): EndpointHealth {
    const { node } = request;
    if (node === undefined) return upstream.endpoint(subjectOf(request));
    return this.#nodes.getOrAdd(node, () => new EndpointHealth(this.#options, true));
  }

  /** All of them must let the request through. */
  #breakers(upstream: Upstream, request: HttpRequest): readonly Breaker[] {
    return [upstream.breaker, this.#endpoint(upstream, request).breaker];
  }

  /**
   * The half-open breakers of which the request is the trial, to be notified of its end; undefined when it may not be sent
   * to this URL now.
   */
  tryAcquire(upstream: Upstream, request: HttpRequest): readonly Breaker[] | undefined {
    const { endpoint } = request;
    const breakers = this.#breakers(upstream, request);
    if (!breakers.every((breaker) => breaker.allows(endpoint))) return undefined;
    const tried = breakers.filter(({ state }) => state === 'half_open');
    for (const breaker of tried) breaker.startTrial(endpoint);
    return tried;
  }

  /** The ends of the running trials that decide whether this request may be sent. */
  runningTrials(request: HttpRequest): readonly Promise<void>[] {
    const breakers = this.upstreams.flatMap((upstream) => this.#breakers(upstream, request));
    return breakers.flatMap((breaker) => breaker.trialEnded(request.endpoint) ?? []);
  }

  /** How long failures keep this request from all URLs, and pauses; without a request, failures alone any request. */
  blockedMs(request?: HttpRequest): number {
    const trialsAtMs = this.upstreams.map((upstream) => {
      if (request === undefined) return upstream.breaker.failedUntilMs;
      return Math.max(...this.#breakers(upstream, request).map(({ trialAtMs }) => trialAtMs));
    });
    return this.#untilMs(Math.min(...trialsAtMs));
  }

  /** The pause that keeps this request from all URLs: of the shortest, if each has one. */
  pauseOf(request: HttpRequest): Pause | undefined {
    return pauseEverywhere(this.upstreams, (upstream) => this.#breakers(upstream, request));
  }

  /** What is left of the longest pause that keeps an endpoint from all URLs, ms. */
  pausedMs(): number {
    return this.#untilMs(longestPause(this.upstreams)?.untilMs ?? 0);
  }

  endPauses(): void {
    const endpoints = this.upstreams.flatMap((upstream) => [...upstream.endpoints.values()]);
    const all = [...this.upstreams, ...endpoints, ...this.#nodes.values()];
    for (const { breaker } of all) breaker.endPause();
  }

  /** How long the node of this request is still to be skipped, ms. */
  skippedMs({ node = NaN }: HttpRequest): number {
    return this.#untilMs(this.#nodes.get(node)?.skippedUntilMs ?? 0);
  }

  #untilMs(timeMs: number): number {
    return Math.max(0, timeMs - this.#options.monotonicMs());
  }

  begin(upstream: Upstream, request: HttpRequest): TrackedAttempt {
    const isTrial = upstream.state === 'half_open';
    const endpoint = this.#endpoint(upstream, request);
    const startMs = this.#options.monotonicMs();
    return {
      upstream,
      request,
      endpoint,
      isTrial,
      headersMs: this.#headersMs(endpoint, request, isTrial),
      startMs,
      code: 'error',
      bytes: 0,
      hasBody: false,
      onHeaders: () => {
        upstream.recordAnswer();
        endpoint.recordHeaders(this.#options.monotonicMs() - startMs);
      },
    };
  }

  #headersMs(endpoint: EndpointHealth, request: HttpRequest, isTrial: boolean): number {
    const leavesTime = !this.#isOnlyUrl && request.node === undefined;
    const leftMs = this.#untilMs((leavesTime ? request.stats.endsAtMs : undefined) ?? Infinity);
    return endpoint.headersMs(isTrial, this.#fullHeadersMs(request), leftMs);
  }

  #fullHeadersMs({ headersMs }: HttpRequest): number {
    return headersMs ?? this.#options.deadlines.headersMs;
  }

  succeeded({ upstream, endpoint }: TrackedAttempt): void {
    upstream.breaker.endPastPause();
    endpoint.breaker.endPastPause();
    endpoint.succeeded(upstream.url);
  }

  /** Records a failure; returns whether another URL may do better. */
  failed(attempt: TrackedAttempt, error: RequestError): boolean {
    const { upstream, endpoint, startMs, code } = attempt;
    if (error.scope !== 'none') upstream.lastFailure = error;
    if (this.#startPause(attempt, error)) return true;
    if (isSilence(attempt, error)) return this.#silent(attempt);
    if (error.scope === 'endpoint') endpoint.breaker.failed(startMs);
    else if (code !== 'error') this.succeeded(attempt);
    // Another server may judge differently.
    if (error.scope === 'endpoint' || code !== 'error') this.#preferOthers(attempt);
    if (error.scope === 'url') upstream.breaker.failed(startMs);
    return error.scope !== 'none' && !missedDeadline(error);
  }

  /** Starts the pause that the response requests; returns whether the next URL is to be tried. */
  #startPause({ upstream, endpoint, request }: TrackedAttempt, error: RequestError): boolean {
    const lengthMs = pauseLengthMs(error);
    if (lengthMs === undefined) return false;
    const isOtherFree = this.upstreams.some((each) => each !== upstream && each.state !== 'open');
    const isUrlPaused = isAboutUrl(error, request, isOtherFree);
    const pause = { untilMs: this.#options.monotonicMs() + lengthMs, error };
    (isUrlPaused ? upstream : endpoint).breaker.startPause(pause);
    if (isUrlPaused) upstream.lastFailure = error;
    return isUrlPaused && isOtherFree;
  }

  /**
   * Decides who is silent. If the URL has responded to other requests since the middle of the first wait, the endpoint or node
   * alone is silent; otherwise the URL may be, which may have frozen soon after the request was sent. Example: node 3 gets a
   * request at 0 s and no response until 30 s. The URL sent the list of node 1 at 20 s, so node 3 is skipped for 300 s with a
   * `max_duty` of 0.1.
   */
  #silent(attempt: TrackedAttempt): boolean {
    const { upstream, endpoint, request, startMs, isTrial, code } = attempt;
    const waitedMs = this.#options.monotonicMs() - startMs;
    this.#preferOthers(attempt);
    // The poll was over soon after its request was sent: nothing is known of the server.
    const shortMs = endpoint.shortHeadersMs(this.#fullHeadersMs(request));
    if (request.stats.signal.aborted && waitedMs < shortMs / 2) return false;
    const silence = endpoint.recordSilence(startMs + waitedMs / 2);
    endpoint.breaker.failed(startMs);
    const isNode = request.node !== undefined;
    if (code === 'error' && upstream.answeredAtMs < silence.sinceMs) {
      // Frozen nodes must not keep other requests from the only URL.
      const name = isNode ? subjectOf(request) : request.endpoint;
      if (!isNode || !this.#isOnlyUrl) upstream.recordSilence(name, startMs);
      return isTrial || (!isNode && !this.#isOnlyUrl);
    }
    // One of several URLs may have fallen silent a moment ago: the node gets a second chance at another one.
    const isSkipped = isNode && (this.#isOnlyUrl || silence.requests > 1);
    const skipMs = Math.min(waitedMs / this.#options.maxDuty, MAX_SKIP_MS);
    if (isSkipped) endpoint.skippedUntilMs = startMs + waitedMs + skipMs;
    return isTrial;
  }

  /** Nothing usable came from this URL: the next request of its kind begins at another one. */
  #preferOthers({ upstream, endpoint }: TrackedAttempt): void {
    this.#failures += 1;
    endpoint.failureOrder.set(upstream.url, this.#failures);
  }
}

/**
 * Whether there were no headers in time. For a node also headers without a body in time, and a gateway that got no response
 * from it; a response that was still arriving when the poll was over is no silence.
 */
function isSilence({ request, code }: TrackedAttempt, error: RequestError): boolean {
  if (isNodeTimeout(error, request)) return true;
  if (!missedDeadline(error)) return false;
  return code === 'error' || (request.node !== undefined && !request.stats.signal.aborted);
}
