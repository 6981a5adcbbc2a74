import type { Breaker, Pause } from './breaker.ts';
import { isNodeTimeout, missedDeadline, type RequestError } from './errors.ts';
import { type Attempt, type HttpRequest, nameOf } from './request.ts';
import { pauseMs, pausesUrl } from './retry.ts';
import { EndpointHealth, healthOf, type HealthOptions, Upstream } from './upstream.ts';

/** A node without a response is skipped no longer than this. */
const MAX_SKIP_MS = 300_000;

/** One try of a request, with what its outcome tells about. */
export interface TrackedAttempt extends Attempt {
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
  readonly #nodes = new Map<number, EndpointHealth>();
  readonly #isOnlyUrl: boolean;

  constructor(urls: readonly string[], options: HealthOptions) {
    this.#isOnlyUrl = urls.length === 1;
    this.upstreams = urls.map((url) => new Upstream(url, this.#isOnlyUrl, options));
    this.#options = options;
  }

  /** The URLs in the order in which this request tries them: those that failed it last come after the others. */
  order(request: HttpRequest): readonly Upstream[] {
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    return [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)]
      .map((upstream) => ({ upstream, rank: this.#rank(upstream, request) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ upstream }) => upstream);
  }

  /**
   * A half-open URL comes first, so that it is soon known whether it works again; the lists of nodes may take long, so
   * other requests find that out.
   */
  #rank(upstream: Upstream, request: HttpRequest): number {
    if (upstream.breaker.state === 'half_open' && request.node === undefined) return -2;
    const isClosed = this.#breakers(upstream, request).every(({ state }) => state === 'closed');
    const failedAtMs = this.#endpoint(upstream, request).failedAtMs.get(upstream) ?? -1;
    return isClosed ? failedAtMs : Number.MAX_VALUE;
  }

  #endpoint(upstream: Upstream, request: HttpRequest): EndpointHealth {
    const { node } = request;
    const create = () => new EndpointHealth(this.#options, node !== undefined);
    if (node === undefined) return healthOf(upstream.endpoints, nameOf(request), create);
    return healthOf(this.#nodes, node, create);
  }

  /** All of them must let the request through. */
  #breakers(upstream: Upstream, request: HttpRequest): readonly Breaker[] {
    return [upstream.breaker, this.#endpoint(upstream, request).breaker];
  }

  /** Whether the request may be sent to this URL now; then it must be. */
  tryAcquire(upstream: Upstream, request: HttpRequest): boolean {
    const breakers = this.#breakers(upstream, request);
    if (breakers.some(({ state }) => state === 'open')) return false;
    for (const breaker of breakers) breaker.requestBegun();
    return true;
  }

  /** How long failures keep this request from all URLs, and pauses; without a request, failures alone any request. */
  blockedMs(request?: HttpRequest): number {
    const openUntilMs = this.upstreams.map((upstream) => {
      if (request === undefined) return upstream.breaker.failedUntilMs;
      return Math.max(...this.#breakers(upstream, request).map((breaker) => breaker.openUntilMs));
    });
    return this.#untilMs(Math.min(...openUntilMs));
  }

  /** The pause that keeps this request from all URLs: the shortest one, if each URL has one. */
  pauseOf(request: HttpRequest): Pause | undefined {
    return this.#shortestPause((upstream) => this.#breakers(upstream, request));
  }

  /** What is left of the longest pause that keeps an endpoint from all URLs, ms. */
  pausedMs(): number {
    const names = new Set(this.upstreams.flatMap(({ endpoints }) => [...endpoints.keys()]));
    const pauses = [undefined, ...names].map((name = '') =>
      this.#shortestPause(({ breaker, endpoints }) => [
        breaker,
        endpoints.get(name)?.breaker ?? breaker,
      ]),
    );
    const requested = pauses.flatMap((pause) => (pause?.isTrial === true ? [] : (pause ?? [])));
    return this.#untilMs(Math.max(0, ...requested.map(({ untilMs }) => untilMs)));
  }

  /** Undefined unless every URL has a pause; at a URL the longest pause of its breakers counts. */
  #shortestPause(breakers: (upstream: Upstream) => readonly Breaker[]): Pause | undefined {
    const pauses = this.upstreams.flatMap((upstream) => {
      const started = breakers(upstream).flatMap(({ pause }) => pause ?? []);
      return started.toSorted((a, b) => b.untilMs - a.untilMs).slice(0, 1);
    });
    if (pauses.length < this.upstreams.length) return undefined;
    return pauses.toSorted((a, b) => a.untilMs - b.untilMs)[0];
  }

  /** How long the node of this request is still to be skipped, ms. */
  skippedMs({ node = NaN }: HttpRequest): number {
    return this.#untilMs(this.#nodes.get(node)?.skippedUntilMs ?? 0);
  }

  #untilMs(timeMs: number): number {
    return Math.max(0, timeMs - this.#options.monotonicMs());
  }

  begin(upstream: Upstream, request: HttpRequest): TrackedAttempt {
    const isTrial = upstream.breaker.state === 'half_open';
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
        upstream.recordHeaders();
        endpoint.recordHeaders(this.#options.monotonicMs() - startMs);
      },
    };
  }

  /**
   * With several URLs, time is left for the next one. Example with a deadline of 30 s, and 5 s after silence: of 20 s that
   * the poll has left a URL gets 15 s; of 8 s a trial gets 4 s, and any other request all.
   */
  #headersMs(endpoint: EndpointHealth, request: HttpRequest, isTrial: boolean): number {
    const fullMs = this.#fullHeadersMs(request);
    const deadlineMs = endpoint.headersMs(isTrial, fullMs);
    const { endsAtMs } = request.stats;
    if (this.#isOnlyUrl || request.node !== undefined || endsAtMs === undefined) return deadlineMs;
    const leftMs = this.#untilMs(endsAtMs);
    const shortMs = endpoint.shortHeadersMs(fullMs);
    if (leftMs > 2 * shortMs) return Math.min(deadlineMs, Math.round(leftMs - shortMs));
    return isTrial ? Math.min(deadlineMs, Math.max(1, Math.round(leftMs / 2))) : deadlineMs;
  }

  #fullHeadersMs({ headersMs }: HttpRequest): number {
    return headersMs ?? this.#options.deadlines.headersMs;
  }

  succeeded({ upstream, endpoint, startMs }: TrackedAttempt): void {
    upstream.breaker.endPause(startMs);
    endpoint.succeeded(upstream, startMs);
  }

  /**
   * Records a failure: a pause that the server requested, silence, or what the scope of the error says. Returns whether the
   * URL seems to be silent as a whole.
   */
  failed(attempt: TrackedAttempt, error: RequestError): boolean {
    const { upstream, endpoint, startMs, code } = attempt;
    if (error.scope !== 'none') upstream.lastFailure = error;
    if (this.#startPause(attempt, error)) return false;
    let isUrlSilent = false;
    if (isSilence(attempt, error)) isUrlSilent = this.#recordSilence(attempt);
    else if (error.scope === 'url') upstream.breaker.failed(startMs);
    else if (error.scope === 'endpoint') endpoint.breaker.failed(startMs);
    else if (code !== 'error') this.succeeded(attempt);
    // The next request of this kind begins at another URL.
    if (error.scope !== 'url') endpoint.failedAtMs.set(upstream, this.#options.monotonicMs());
    return isUrlSilent;
  }

  /** Records that a URL refused what another one has just accepted: a balancer with a login, or another cluster. */
  refused(upstream: Upstream, error: RequestError): void {
    upstream.lastFailure = error;
    upstream.breaker.open(this.#options.monotonicMs());
  }

  /** Starts the pause that the response requests; returns whether it requests one. */
  #startPause({ upstream, endpoint, request }: TrackedAttempt, error: RequestError): boolean {
    const lengthMs = pauseMs(error);
    if (lengthMs === undefined) return false;
    const others = this.upstreams.filter((each) => each !== upstream);
    const isOtherFree = others.some(({ breaker }) => breaker.state !== 'open');
    const isUrlPaused = pausesUrl(error, request, isOtherFree);
    const pause = { untilMs: this.#options.monotonicMs() + lengthMs, error };
    (isUrlPaused ? upstream : endpoint).breaker.startPause(pause);
    if (isUrlPaused) upstream.lastFailure = error;
    return true;
  }

  /**
   * Decides who is silent. If the URL has responded to other requests since the middle of the first wait, the endpoint or
   * node alone is; otherwise the URL may be. Example: node 3 gets a request at 0 s and no response until 30 s. The URL sent
   * the list of node 1 at 20 s, so node 3 is skipped for 300 s with a `max_duty` of 0.1. Had the URL frozen at 10 s, node 3
   * would be read again in the next scan.
   */
  #recordSilence(attempt: TrackedAttempt): boolean {
    const { upstream, endpoint, request, startMs, code, isTrial } = attempt;
    const waitedMs = this.#options.monotonicMs() - startMs;
    // The poll was over soon after its request was sent: nothing is known of the server.
    const shortMs = endpoint.shortHeadersMs(this.#fullHeadersMs(request));
    if (request.stats.signal.aborted && waitedMs < shortMs / 2) return false;
    endpoint.recordSilence(startMs, waitedMs);
    const isNode = request.node !== undefined;
    if (code !== 'error' || upstream.respondedAtMs >= (endpoint.silentSinceMs ?? 0)) {
      const skipMs = Math.min(waitedMs / this.#options.maxDuty, MAX_SKIP_MS);
      if (isNode) endpoint.skippedUntilMs = startMs + waitedMs + skipMs;
      return isTrial;
    }
    // Frozen nodes must not keep other requests from the only URL.
    if (isNode && this.#isOnlyUrl) return isTrial;
    upstream.recordSilence(isNode ? nameOf(request) : request.endpoint, startMs);
    return isTrial || !isNode;
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
