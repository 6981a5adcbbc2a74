import { Breaker, type BreakerOptions, type Pause } from './breaker.ts';
import { isNodeTimeout, missedDeadline, RequestError, TOO_MANY_REQUESTS } from './errors.ts';
import type { Attempt, HttpRequest } from './request.ts';

/**
 * This many failures in a row, or one at each URL, open the breaker of an endpoint or a node, and that of the only URL. One
 * failure opens that of one of several URLs, as the next one can be used at once.
 */
const MAX_FAILURES = 3;
/** While there is no response, every third request gets the full deadline. */
const FULL_DEADLINE_EVERY = 3;
/** A node that did not respond is paused no longer than this. */
const MAX_NODE_PAUSE_MS = 300_000;
const UNAVAILABLE = 503;

export interface HealthOptions extends BreakerOptions {
  /** The waits for the headers of a response. The second one, which is shorter, is for requests after silence. */
  readonly deadlines: { readonly headersMs: number; readonly headersAfterSilenceMs: number };
  /** Largest share of the time that is spent on a silent node: with 0.1 a wait of 5 s is followed by 50 s without requests. */
  readonly maxDuty: number;
}

/** One of the configured URLs of an API, with its health. */
export interface Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened when connecting fails, when two endpoints or nodes are silent, and when the URL refuses what another one accepts. */
  readonly breaker: Breaker;
  /** The last failure because of which the URL is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** When headers last arrived from the URL, monotonic ms. */
  respondedAtMs: number;
  /** An endpoint or node that was silent since the URL last responded, or since silence last opened its breaker. */
  silentName: string | undefined;
}

/** The health of an endpoint, or of a node, at all URLs. */
interface EndpointHealth {
  readonly breaker: Breaker;
  /** When the last request failed, by URL, monotonic ms. A URL where it succeeded is absent. */
  readonly failedAtMs: Map<Upstream, number>;
  /** Number of requests in a row that got no response. */
  silences: number;
  /** How long the headers of the last response took. */
  responseMs: number | undefined;
}

/** One attempt of a request at one URL, with the health that its outcome changes. */
export interface TrackedAttempt extends Attempt {
  readonly request: HttpRequest;
  readonly upstream: Upstream;
  readonly endpoint: EndpointHealth;
}

/**
 * Decides to which URLs of one API a request may be sent now. Each URL, each endpoint and each node has a circuit breaker. A
 * node that did not respond is paused for a time.
 */
export class Health {
  readonly upstreams: readonly Upstream[];
  readonly #options: HealthOptions;
  readonly #endpoints = new Map<string | number, EndpointHealth>();
  readonly #nodes = new Map<string | number, EndpointHealth>();
  readonly #isOnlyUrl: boolean;

  constructor(urls: readonly string[], options: HealthOptions) {
    this.#options = options;
    this.#isOnlyUrl = urls.length === 1;
    const maxFailures = this.#isOnlyUrl ? MAX_FAILURES : 1;
    this.upstreams = urls.map((text) => {
      const url = new URL(text);
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      return {
        url,
        name: `${url.hostname}:${port}`,
        breaker: new Breaker(maxFailures, options),
        lastFailure: undefined,
        respondedAtMs: -Infinity,
        silentName: undefined,
      };
    });
  }

  #endpoint({ endpoint, node }: HttpRequest): EndpointHealth {
    const healths = node === undefined ? this.#endpoints : this.#nodes;
    const name = node ?? endpoint;
    const health = healths.get(name) ?? {
      breaker: new Breaker(Math.max(MAX_FAILURES, this.upstreams.length), this.#options),
      failedAtMs: new Map<Upstream, number>(),
      silences: 0,
      responseMs: undefined,
    };
    healths.set(name, health);
    return health;
  }

  /** The URLs in the order in which this request tries them; URLs of the same rank follow each other from `firstUrl` on. */
  order(request: HttpRequest): readonly Upstream[] {
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    const fromFirst = [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)];
    return fromFirst.toSorted((a, b) => this.#rank(a, request) - this.#rank(b, request));
  }

  /**
   * The lowest rank comes first: -2 for a half-open URL, so that it is soon known whether it works again; -1 where the
   * last request to this endpoint succeeded; the time where it failed, so that the oldest failure comes first; the largest
   * number for an open URL. Requests to nodes may take long, and one of many tables may be silent alone: these try no
   * half-open URL first.
   */
  #rank(upstream: Upstream, request: HttpRequest): number {
    const { state } = upstream.breaker;
    const isTrial = request.node === undefined && request.isPart !== true;
    if (state === 'half_open' && isTrial) return -2;
    if (state !== 'closed') return Number.MAX_VALUE;
    return this.#endpoint(request).failedAtMs.get(upstream) ?? -1;
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

  /** The longest pause that keeps this request, or without one the requests to any endpoint, from all URLs. */
  pauseOf(request?: HttpRequest): Pause | undefined {
    const endpoints = request === undefined ? this.#endpoints.values() : [this.#endpoint(request)];
    const pauses = Array.from(endpoints, ({ breaker }) => breaker.pause);
    const ofUrls = this.upstreams.flatMap(({ breaker }) => breaker.pause ?? []);
    const areAllPaused = ofUrls.length === this.upstreams.length;
    if (areAllPaused) pauses.push(ofUrls.toSorted((a, b) => a.untilMs - b.untilMs)[0]);
    const found = pauses.filter((pause) => pause !== undefined);
    return found.toSorted((a, b) => b.untilMs - a.untilMs)[0];
  }

  #msUntil(timeMs: number): number {
    return Math.max(0, timeMs - this.#options.monotonicMs());
  }

  /** Creates the attempt that is sent now, after `tryAcquire`. */
  begin(upstream: Upstream, request: HttpRequest): TrackedAttempt {
    const endpoint = this.#endpoint(request);
    const startMs = this.#options.monotonicMs();
    return {
      upstream,
      request,
      endpoint,
      headersMs: this.#headersMs(upstream, endpoint, request),
      startMs,
      code: 'error',
      hasBody: false,
      onHeaders: () => {
        const nowMs = this.#options.monotonicMs();
        endpoint.responseMs = nowMs - startMs;
        endpoint.silences = 0;
        upstream.respondedAtMs = nowMs;
        upstream.silentName = undefined;
        upstream.breaker.succeeded();
      },
    };
  }

  /**
   * How long an attempt may wait for headers. Example: a server that does not respond is waited for 30 s, 5 s, 30 s, 5 s,
   * 5 s, 30 s and so on: every third wait is long, as the server may only have become slow. The short wait is 16 s if the
   * last response took 8 s, and the full one for a node that has never responded, as it may prepare a long list before it
   * sends headers. With several URLs time of the poll is left for the next one: of the last 30 s this one gets 25 s, of
   * the last 8 s 4 s.
   */
  #headersMs(upstream: Upstream, endpoint: EndpointHealth, request: HttpRequest): number {
    const { headersMs, headersAfterSilenceMs } = this.#options.deadlines;
    const { silences, responseMs } = endpoint;
    const isNode = request.node !== undefined;
    const fullMs = request.headersMs ?? headersMs;
    const knownMs = responseMs ?? (isNode ? fullMs : 0);
    const shortMs = Math.min(fullMs, Math.max(headersAfterSilenceMs, 2 * knownMs));
    const isFirst = silences === 0 && upstream.breaker.state === 'closed';
    const isFull = isFirst || (silences + 1) % FULL_DEADLINE_EVERY === 0;
    const deadlineMs = isFull ? fullMs : shortMs;
    const { endsAtMs } = request.stats;
    if (this.#isOnlyUrl || isNode || endsAtMs === undefined) return deadlineMs;
    const leftMs = this.#msUntil(endsAtMs);
    return Math.max(1, Math.round(Math.min(deadlineMs, Math.max(leftMs - shortMs, leftMs / 2))));
  }

  succeeded({ upstream, endpoint, startMs }: TrackedAttempt): void {
    upstream.breaker.endPause(startMs);
    endpoint.failedAtMs.delete(upstream);
    endpoint.breaker.succeeded();
    endpoint.breaker.endPause(startMs);
  }

  /**
   * Records a failure as a pause that the server requested, or as a failure of the scope of the error (the URL, the endpoint
   * or none). Returns whether the URL seems to respond to no request at all.
   */
  failed(attempt: TrackedAttempt, error: RequestError, pauseSeconds?: number): boolean {
    const { upstream, endpoint, request, startMs, code } = attempt;
    if (error.scope !== 'none') upstream.lastFailure = error;
    if (pauseSeconds !== undefined) {
      this.#startPause(attempt, error, pauseSeconds);
      return false;
    }
    if (error.scope === 'url') {
      upstream.breaker.failed(startMs);
      return false;
    }
    let isUrlSilent = false;
    if (error.scope === 'none' && code !== 'error') this.succeeded(attempt);
    else if (error.scope === 'endpoint' && request.isPart !== true) {
      endpoint.breaker.failed(startMs);
      if (isSilence(attempt, error)) isUrlSilent = this.#recordSilence(attempt);
    }
    // The next request of this kind begins at another URL.
    endpoint.failedAtMs.set(upstream, this.#options.monotonicMs());
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
    const others = this.upstreams.filter((each) => each !== upstream);
    const isOtherFree = others.some(({ breaker }) => breaker.state !== 'open');
    const isUnavailable = error.status === UNAVAILABLE && request.node === undefined;
    const isUrlPaused = error.status === TOO_MANY_REQUESTS || (isUnavailable && isOtherFree);
    (isUrlPaused ? upstream : endpoint).breaker.startPause(error, seconds * 1000);
    if (isUrlPaused) upstream.lastFailure = error;
  }

  /**
   * Decides what is silent. If headers arrived, or a response to another request in the second half of the wait, it is only
   * the endpoint or the node; otherwise it may be the URL. Returns whether it may be the URL. Example: node 3 gets a request
   * at 0 s, and has not responded at 30 s. If the URL sent the list of node 1 at 20 s, node 3 is paused for 300 s, with a
   * `max_duty` of 0.1. If the URL sent nothing after 10 s, node 3 is read again in the next scan.
   */
  #recordSilence({ upstream, endpoint, request, startMs, code }: TrackedAttempt): boolean {
    const waitedMs = this.#options.monotonicMs() - startMs;
    endpoint.silences += 1;
    const isNode = request.node !== undefined;
    if (code !== 'error' || upstream.respondedAtMs >= startMs + waitedMs / 2) {
      if (isNode) this.#pauseNode(endpoint, request, waitedMs);
      return false;
    }
    // The only URL stays in use when nodes are silent, as other requests need it. A scan that ends soon after a request was
    // sent proves nothing of the URL: two healthy nodes may prepare their lists when it exceeds its timeout.
    const { headersAfterSilenceMs } = this.#options.deadlines;
    const isCutShort = request.stats.signal.aborted && waitedMs < headersAfterSilenceMs / 2;
    if (isNode && (this.#isOnlyUrl || isCutShort)) return false;
    const name = isNode ? `node ${request.node}` : request.endpoint;
    const isSecond = upstream.silentName !== undefined && upstream.silentName !== name;
    // An endpoint that hangs for ever cannot open the breaker again alone.
    upstream.silentName = isSecond ? undefined : name;
    if (isSecond) upstream.breaker.open(startMs);
    return !isNode;
  }

  /** Fails requests for a silent node until `waitedMs` is no more than its share of the time. */
  #pauseNode({ breaker }: EndpointHealth, { endpoint, node }: HttpRequest, waitedMs: number): void {
    const pauseMs = Math.min(waitedMs / this.#options.maxDuty, MAX_NODE_PAUSE_MS);
    if (pauseMs === 0) return;
    const text = `${endpoint} of node ${node}: no response; paused for ${Math.ceil(pauseMs / 1000)} s`;
    breaker.startPause(new RequestError('timeout', text, { endpoint, node }), pauseMs);
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
