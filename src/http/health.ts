import type { Pause } from './breaker.ts';
import { isNodeTimeout, missedDeadline, type RequestError, TOO_MANY_REQUESTS } from './errors.ts';
import type { Attempt, HttpRequest } from './request.ts';
import { EndpointHealth, type HealthOptions, Upstream } from './upstream.ts';

/** While there is no response, every third request gets the full deadline. */
const FULL_DEADLINE_EVERY = 3;
/** A node that did not respond is skipped no longer than this. */
const MAX_SKIP_MS = 300_000;
const UNAVAILABLE = 503;

/** One attempt of a request at one URL, with the health that its outcome changes. */
export interface TrackedAttempt extends Attempt {
  readonly request: HttpRequest;
  readonly upstream: Upstream;
  readonly endpoint: EndpointHealth;
  /** Whether the URL is half open, so that this request finds out whether it works again. */
  readonly isTrial: boolean;
}

/**
 * Decides to which URLs of one API a request may be sent now. Each URL, each endpoint and each node has a circuit breaker. A
 * node that did not respond is skipped for a time.
 */
export class Health {
  readonly upstreams: readonly Upstream[];
  readonly #options: HealthOptions;
  readonly #endpoints = new Map<string | number, EndpointHealth>();
  readonly #nodes = new Map<string | number, EndpointHealth>();
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
   * number for an open URL. Requests to nodes may take long, so other requests try half-open URLs.
   */
  #rank(upstream: Upstream, request: HttpRequest): number {
    const { state } = upstream.breaker;
    if (state === 'half_open' && request.node === undefined) return -2;
    if (state !== 'closed') return Number.MAX_VALUE;
    return this.#endpoint(request).failedAtMs.get(upstream) ?? -1;
  }

  #endpoint({ endpoint, node }: HttpRequest): EndpointHealth {
    const healths = node === undefined ? this.#endpoints : this.#nodes;
    const name = node ?? endpoint;
    const health = healths.get(name) ?? new EndpointHealth(this.upstreams.length, this.#options);
    healths.set(name, health);
    return health;
  }

  /**
   * Returns whether the request may be sent to this URL now. If so, it counts as sent: should its poll end while it waits for
   * a slot, it has used up the trial after a pause, and others wait 5 s for the next one.
   */
  tryAcquire(upstream: Upstream, request: HttpRequest): boolean {
    const breakers = [upstream.breaker, this.#endpoint(request).breaker];
    if (breakers.some(({ state }) => state === 'open')) return false;
    for (const breaker of breakers) breaker.requestBegun();
    return true;
  }

  /** How long failures keep every request from all URLs, ms. Pauses do not count: a poll fails for them, and tells so. */
  failedMs(): number {
    return this.#msUntil(Math.min(...this.upstreams.map(({ breaker }) => breaker.failedUntilMs)));
  }

  /** How long failures and pauses keep this request from all URLs, ms. */
  blockedMs(request: HttpRequest): number {
    const openUntilMs = Math.min(...this.upstreams.map(({ breaker }) => breaker.openUntilMs));
    return this.#msUntil(Math.max(openUntilMs, this.#endpoint(request).breaker.openUntilMs));
  }

  /** The longer pause of those that keep this request from all URLs. */
  pauseOf(request: HttpRequest): Pause | undefined {
    return longest([this.#pauseOfUrls(), this.#endpoint(request).breaker.pause]);
  }

  /** The longest pause that keeps an endpoint from all URLs lasts this much longer, ms. */
  pausedMs(): number {
    const ofEndpoints = Array.from(this.#endpoints.values(), ({ breaker }) => breaker.pause);
    return this.#msUntil(longest([this.#pauseOfUrls(), ...ofEndpoints])?.untilMs ?? 0);
  }

  /** The pause of the URLs that ends first; undefined if one of them has none. */
  #pauseOfUrls(): Pause | undefined {
    const pauses = this.upstreams.flatMap(({ breaker }) => breaker.pause ?? []);
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
    const endpoint = this.#endpoint(request);
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
        const nowMs = this.#options.monotonicMs();
        upstream.recordHeaders(nowMs);
        endpoint.recordHeaders(nowMs - startMs);
      },
    };
  }

  /**
   * How long this attempt may wait for headers. Example: a server that does not respond is waited for 30 s, 5 s, 30 s, 5 s,
   * 5 s, 30 s and so on: every third wait is long, as the server may only have become slow. With several URLs it leaves time
   * of the poll for the next one: of the last 30 s of a poll it gets 25 s, of the last 8 s 4 s.
   */
  #headersMs(endpoint: EndpointHealth, request: HttpRequest, isTrial: boolean): number {
    const fullMs = request.headersMs ?? this.#options.deadlines.headersMs;
    const shortMs = this.#shortHeadersMs(endpoint, request);
    const attempt = endpoint.silences + 1;
    const isFirst = attempt === 1 && !isTrial;
    const deadlineMs = isFirst || attempt % FULL_DEADLINE_EVERY === 0 ? fullMs : shortMs;
    const { endsAtMs } = request.stats;
    if (this.#isOnlyUrl || request.node !== undefined || endsAtMs === undefined) return deadlineMs;
    const leftMs = this.#msUntil(endsAtMs);
    return Math.max(1, Math.round(Math.min(deadlineMs, Math.max(leftMs - shortMs, leftMs / 2))));
  }

  /**
   * The wait for headers after silence: 5 s, or 16 s if the last response took 8 s. A node that has never responded gets
   * all of its time, as it may prepare a long list before it sends headers.
   */
  #shortHeadersMs({ responseMs }: EndpointHealth, { node, headersMs }: HttpRequest): number {
    const { deadlines } = this.#options;
    const fullMs = headersMs ?? deadlines.headersMs;
    if (node !== undefined && responseMs === undefined) return fullMs;
    return Math.min(fullMs, Math.max(deadlines.headersAfterSilenceMs, 2 * (responseMs ?? 0)));
  }

  succeeded({ upstream, endpoint, startMs }: TrackedAttempt): void {
    upstream.breaker.endPause(startMs);
    endpoint.succeeded(upstream, startMs);
  }

  /**
   * Records a failure as a pause that the server requested, as silence, or else as a failure of the scope of the error (the
   * URL, the endpoint or none). Returns whether the URL seems to respond to no request at all.
   */
  failed(attempt: TrackedAttempt, error: RequestError, pauseSeconds?: number): boolean {
    const { upstream, endpoint, request, startMs, code } = attempt;
    if (error.scope !== 'none') upstream.lastFailure = error;
    if (pauseSeconds !== undefined) {
      this.#startPause(attempt, error, pauseSeconds);
      return false;
    }
    let isUrlSilent = false;
    if (error.scope === 'url') upstream.breaker.failed(startMs);
    else if (error.scope === 'none' && code !== 'error') this.succeeded(attempt);
    else if (request.isPart === true) isUrlSilent = attempt.isTrial;
    else if (isSilence(attempt, error)) isUrlSilent = this.#recordSilence(attempt);
    else if (error.scope === 'endpoint') endpoint.breaker.failed(startMs);
    // The next request of this kind begins at another URL.
    if (error.scope !== 'url') endpoint.failedAtMs.set(upstream, this.#options.monotonicMs());
    return isUrlSilent;
  }

  /** Records that a URL refused what another one has just accepted, as a URL of another cluster does. */
  refused(upstream: Upstream, error: RequestError): void {
    upstream.lastFailure = error;
    upstream.breaker.open(this.#options.monotonicMs());
  }

  /**
   * Starts the pause that the response requests. The whole URL is paused after a 429, and after a 503 while another URL is
   * free. Otherwise only the endpoint or node is: one overloaded node must not stop the others.
   */
  #startPause(attempt: TrackedAttempt, error: RequestError, seconds: number): void {
    const { upstream, endpoint, request } = attempt;
    const { status } = error;
    const others = this.upstreams.filter((each) => each !== upstream);
    const isOtherFree = others.some(({ breaker }) => breaker.state !== 'open');
    const isUnavailable = status === UNAVAILABLE && request.node === undefined;
    const isUrlPaused = status === TOO_MANY_REQUESTS || (isUnavailable && isOtherFree);
    (isUrlPaused ? upstream : endpoint).breaker.startPause(error, seconds * 1000);
    if (isUrlPaused) upstream.lastFailure = error;
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
    const shortMs = this.#shortHeadersMs(endpoint, request);
    if (request.stats.signal.aborted && waitedMs < shortMs / 2) return false;
    if (endpoint.silences === 0) endpoint.silentSinceMs = startMs + waitedMs / 2;
    endpoint.silences += 1;
    endpoint.breaker.failed(startMs);
    const isNode = request.node !== undefined;
    if (code !== 'error' || upstream.respondedAtMs >= endpoint.silentSinceMs) {
      const skipMs = Math.min(waitedMs / this.#options.maxDuty, MAX_SKIP_MS);
      if (isNode) endpoint.skippedUntilMs = startMs + waitedMs + skipMs;
      return isTrial;
    }
    // The only URL stays in use when nodes are silent, as other requests need it.
    if (isNode && this.#isOnlyUrl) return isTrial;
    upstream.recordSilence(isNode ? `node ${request.node}` : request.endpoint, startMs);
    return isTrial || !isNode;
  }
}

function longest(pauses: readonly (Pause | undefined)[]): Pause | undefined {
  return pauses.filter((pause) => pause !== undefined).toSorted((a, b) => b.untilMs - a.untilMs)[0];
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
