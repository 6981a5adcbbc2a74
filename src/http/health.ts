import type { Breaker, Pause } from './breaker.ts';
import { isNodeTimeout, missedDeadline, type RequestError } from './errors.ts';
import { type Attempt, type HttpRequest, nameOf } from './request.ts';
import { pauseMs, pausesUrl } from './retry.ts';
import { EndpointHealth, healthOf, type HealthOptions, Upstream } from './upstream.ts';

/** A node that did not respond is skipped no longer than this. */
const MAX_SKIP_MS = 300_000;

/** One attempt of a request at one URL, with the health that its outcome changes. */
export interface TrackedAttempt extends Attempt {
  readonly request: HttpRequest;
  readonly endpoint: EndpointHealth;
  /** Whether the URL is half open, so that this request finds out whether it works again. */
  readonly isTrial: boolean;
}

/**
 * Decides to which URLs of one API a request may be sent now. Each URL, each endpoint at a URL, and each node behind the
 * URLs has a circuit breaker. A node that did not respond is skipped for a time.
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

  /** The URLs in the order in which this request tries them; URLs of the same rank follow each other from `firstUrl` on. */
  order(request: HttpRequest): readonly Upstream[] {
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    return [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)]
      .map((upstream) => ({ upstream, rank: this.#rank(upstream, request) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ upstream }) => upstream);
  }

  /**
   * The lowest rank comes first: -2 for a half-open URL, so that it is soon known whether it works again; -1 where the
   * last request to this endpoint succeeded; the time where it failed, so that the oldest failure comes first; the largest
   * number where a breaker is not closed. Requests to nodes may take long, so other requests try half-open URLs.
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

  /** The breakers of the URL and of the endpoint or node: each of them must let the request through. */
  #breakers(upstream: Upstream, request: HttpRequest): readonly Breaker[] {
    return [upstream.breaker, this.#endpoint(upstream, request).breaker];
  }

  /** Returns whether the request may be sent to this URL now. If so, it counts as sent, and the caller must send it. */
  tryAcquire(upstream: Upstream, request: HttpRequest): boolean {
    const breakers = this.#breakers(upstream, request);
    if (breakers.some(({ state }) => state === 'open')) return false;
    for (const breaker of breakers) breaker.requestBegun();
    return true;
  }

  /** How long failures keep every request from all URLs, ms. Pauses do not count: a poll fails for them, and tells so. */
  failedMs(): number {
    const openUntilMs = this.upstreams.map(({ breaker }) => breaker.failedUntilMs);
    return this.#msUntil(Math.min(...openUntilMs));
  }

  /** How long failures and pauses keep this request from all URLs, ms. */
  blockedMs(request: HttpRequest): number {
    const openUntilMs = this.upstreams.map((upstream) => {
      return Math.max(...this.#breakers(upstream, request).map((breaker) => breaker.openUntilMs));
    });
    return this.#msUntil(Math.min(...openUntilMs));
  }

  /** The pause that keeps this request from all URLs; undefined if a URL has none. */
  pauseOf(request: HttpRequest): Pause | undefined {
    return this.#shortestPause((upstream) => this.#breakers(upstream, request));
  }

  /** The rest of the longest pause that keeps an endpoint from all URLs, ms. The wait between two trials does not count. */
  pausedMs(): number {
    const names = new Set(this.upstreams.flatMap(({ endpoints }) => [...endpoints.keys()]));
    const pauses = [
      this.#shortestPause(({ breaker }) => [breaker]),
      ...Array.from(names, (name) =>
        this.#shortestPause(({ breaker, endpoints }) => [
          breaker,
          endpoints.get(name)?.breaker ?? breaker,
        ]),
      ),
    ];
    const endsMs = pauses.map((pause) => (pause?.isTrial === true ? 0 : (pause?.untilMs ?? 0)));
    return this.#msUntil(Math.max(...endsMs));
  }

  /**
   * The pause that ends first, if every URL has one. At each URL the longest pause of its breakers counts. Example: A is
   * paused for 30 s, and the endpoint at B for 10 s. The endpoint can be requested again in 10 s, at B.
   */
  #shortestPause(breakers: (upstream: Upstream) => readonly Breaker[]): Pause | undefined {
    const pauses = this.upstreams.flatMap((upstream) => {
      const longestFirst = breakers(upstream)
        .flatMap(({ pause }) => pause ?? [])
        .toSorted((a, b) => b.untilMs - a.untilMs);
      return longestFirst.slice(0, 1);
    });
    if (pauses.length < this.upstreams.length) return undefined;
    return pauses.toSorted((a, b) => a.untilMs - b.untilMs)[0];
  }

  /** How long the node of this request is still to be skipped, ms. */
  skippedMs({ node = NaN }: HttpRequest): number {
    return this.#msUntil(this.#nodes.get(node)?.skippedUntilMs ?? 0);
  }

  #msUntil(timeMs: number): number {
    return Math.max(0, timeMs - this.#options.monotonicMs());
  }

  /** Creates the attempt that is sent now, after `tryAcquire`. */
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
   * How long this attempt may wait for headers. With several URLs it leaves time of the poll for the next one. Example: the
   * deadline is 30 s, or 5 s after silence. If the poll has 20 s left, a URL gets 15 s of them. If it has 8 s left, a trial
   * gets 4 s, and any other request gets all.
   */
  #headersMs(endpoint: EndpointHealth, request: HttpRequest, isTrial: boolean): number {
    const fullMs = this.#fullHeadersMs(request);
    const deadlineMs = endpoint.headersMs(isTrial, fullMs);
    const { endsAtMs } = request.stats;
    if (this.#isOnlyUrl || request.node !== undefined || endsAtMs === undefined) return deadlineMs;
    const leftMs = this.#msUntil(endsAtMs);
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
   * Records a failure as a pause that the server requested, as silence, or else as a failure of the scope of the error (the
   * URL, the endpoint or none). Returns whether the URL seems to respond to no request at all.
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

  /** Records that a URL refused what another one has just accepted, as a URL of another cluster does. */
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
   * Decides what is silent: only the endpoint or node, if the URL has responded to another request since the middle of the
   * first wait, and else perhaps the URL. Returns whether it may be the URL, which is assumed of every trial. Example: node
   * 3 gets a request at 0 s, and has not responded at 30 s. If the URL sent the list of node 1 at 20 s, node 3 is skipped
   * for 300 s, with a `max_duty` of 0.1. If the URL sent nothing after 10 s, node 3 is read again in the next scan.
   */
  #recordSilence(attempt: TrackedAttempt): boolean {
    const { upstream, endpoint, request, startMs, code, isTrial } = attempt;
    const waitedMs = this.#options.monotonicMs() - startMs;
    // The poll ended soon after this request was sent, which shows nothing about the server.
    const shortMs = endpoint.shortHeadersMs(this.#fullHeadersMs(request));
    if (request.stats.signal.aborted && waitedMs < shortMs / 2) return false;
    endpoint.recordSilence(startMs, waitedMs);
    const isNode = request.node !== undefined;
    if (code !== 'error' || upstream.respondedAtMs >= (endpoint.silentSinceMs ?? 0)) {
      const skipMs = Math.min(waitedMs / this.#options.maxDuty, MAX_SKIP_MS);
      if (isNode) endpoint.skippedUntilMs = startMs + waitedMs + skipMs;
      return isTrial;
    }
    // The only URL stays in use when nodes are silent, as other requests need it.
    if (isNode && this.#isOnlyUrl) return isTrial;
    upstream.recordSilence(isNode ? nameOf(request) : request.endpoint, startMs);
    return isTrial || !isNode;
  }
}

/**
 * Whether no headers arrived in time. A node is also silent if its body does not arrive in time, or if a gateway says that
 * the node did not respond. A response that was still arriving when the poll ended is not silence.
 */
function isSilence({ request, code }: TrackedAttempt, error: RequestError): boolean {
  if (isNodeTimeout(error, request)) return true;
  if (!missedDeadline(error)) return false;
  return code === 'error' || (request.node !== undefined && !request.stats.signal.aborted);
}
