import type { Attempt } from './attempt.ts';
import { Breaker, type BreakerOptions } from './breaker.ts';
import { type Blamed, RequestError, TOO_MANY_REQUESTS } from './errors.ts';
import type { HttpRequest } from './request.ts';
import { isRefusal, pauseSeconds, POLICY } from './retry-policy.ts';
import { createUpstream, type Upstream } from './upstream.ts';

export interface HealthOptions extends BreakerOptions {
  /** `headersMs` is the wait for the headers of a response. */
  readonly deadlines: { readonly headersMs: number };
  /** All URLs of the cluster, where other APIs have some, too; default: those of this API. */
  readonly clusterUrls?: readonly string[];
  /** Largest share of the time that is spent on a silent node: with 0.1 a wait of 5 s is followed by 50 s without requests. */
  readonly maxDuty: number;
}

/** The health of an endpoint, or of a node, at all URLs. */
interface TargetHealth {
  readonly breaker: Breaker;
  /** When the last request failed, by URL, running ms. A URL where it succeeded is absent. */
  readonly failedAtMs: Map<Upstream, number>;
}

/** The failures of a request at the URLs that it has tried in this round. */
export type Failures = ReadonlyMap<Upstream, RequestError>;

/**
 * Decides to which URL of one API a request is sent. Each URL, each endpoint and each node has a circuit breaker. What a
 * failure says of them:
 *
 * - connecting failed: the URL. It opens the breaker of one of several URLs at once, of the only one after three;
 * - no response, and nothing else arrived from the URL meanwhile: the URL, while another one works;
 * - no response of a node, while its URL sent other things: the node, which is paused for the time waited / `maxDuty`;
 * - a refusal of the login, or a Retry-After: the URL if another one does better, otherwise the endpoint or node;
 * - all else that may pass: the endpoint or the node. Its next request begins at another URL.
 */
export class Health {
  readonly upstreams: readonly Upstream[];
  /** How often a request is sent at most. */
  readonly maxAttempts: number;
  readonly #options: HealthOptions;
  readonly #endpoints = new Map<string | number, TargetHealth>();
  readonly #nodes = new Map<string | number, TargetHealth>();

  constructor(urls: readonly string[], options: HealthOptions) {
    this.#options = options;
    this.maxAttempts = Math.max(POLICY.attempts, urls.length);
    // With several URLs the next one can be used at once.
    const maxFailures = urls.length === 1 ? this.maxAttempts : 1;
    const { clusterUrls = urls } = options;
    this.upstreams = urls.map((url, index) =>
      createUpstream(url, index, clusterUrls, new Breaker(maxFailures, options)),
    );
  }

  #target({ endpoint, node }: HttpRequest): TargetHealth {
    const targets = node === undefined ? this.#endpoints : this.#nodes;
    const name = node ?? endpoint;
    const target = targets.get(name) ?? {
      breaker: new Breaker(this.maxAttempts, this.#options),
      failedAtMs: new Map<Upstream, number>(),
    };
    // The map is in the order of the last use: the first node in it is forgotten first.
    targets.delete(name);
    targets.set(name, target);
    const [oldest] = this.#nodes.size > POLICY.rememberedNodes ? this.#nodes.keys() : [];
    if (oldest !== undefined) this.#nodes.delete(oldest);
    return target;
  }

  /** How many nodes are remembered. */
  get nodes(): number {
    return this.#nodes.size;
  }

  /** The URL to which the request is sent next in a round; undefined when no other one may be used now. */
  choose(request: HttpRequest, tried: Failures): Upstream | undefined {
    const isOpen = this.#target(request).breaker.state === 'open';
    // A round that has begun goes through all URLs.
    if (isOpen && tried.size === 0) return undefined;
    const { onlyUrl } = request;
    return this.#order(request).find(
      (upstream) =>
        !tried.has(upstream) &&
        upstream.breaker.state !== 'open' &&
        (onlyUrl === undefined || upstream === this.upstreams[onlyUrl]),
    );
  }

  /** The URLs in the order in which this request tries them; URLs of the same rank follow each other from `firstUrl` on. */
  #order(request: HttpRequest): readonly Upstream[] {
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    const fromFirst = [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)];
    return fromFirst.toSorted((a, b) => this.#rank(a, request) - this.#rank(b, request));
  }

  /**
   * The lowest comes first: a half-open URL, so that it is soon known whether it works again; one where the last request
   * to this endpoint or node did not fail; the oldest failure. Requests that are many, and that may take long, try
   * a half-open URL last.
   */
  #rank(upstream: Upstream, request: HttpRequest): number {
    const isOneOfMany = request.node !== undefined || request.blames === 'nobody';
    if (upstream.breaker.state === 'half_open') return isOneOfMany ? Number.MAX_VALUE : -2;
    return this.#target(request).failedAtMs.get(upstream) ?? -1;
  }

  /** How long failures keep every request from all URLs, ms. Pauses do not count: a poll fails for them, and says so. */
  failedMs(): number {
    return this.#msUntil(Math.min(...this.upstreams.map(({ breaker }) => breaker.failedUntilMs)));
  }

  /** How long failures and pauses keep this request from all URLs that it may use, ms. */
  blockedMs(request: HttpRequest): number {
    const usable = this.upstreams.filter((_, index) => (request.onlyUrl ?? index) === index);
    const openUntilMs = Math.min(...usable.map(({ breaker }) => breaker.openUntilMs));
    return this.#msUntil(Math.max(openUntilMs, this.#target(request).breaker.openUntilMs));
  }

  /** The longest pause that keeps this request, or without one the requests to any endpoint, from all URLs. */
  pauseOf(request?: HttpRequest): Breaker['pause'] {
    const targets = request === undefined ? this.#endpoints.values() : [this.#target(request)];
    const pauses = Array.from(targets, ({ breaker }) => breaker.pause);
    const urlPauses = this.upstreams.flatMap(({ breaker }) => breaker.pause ?? []);
    const areAllPaused = urlPauses.length === this.upstreams.length;
    if (areAllPaused) pauses.push(urlPauses.toSorted((a, b) => a.untilMs - b.untilMs)[0]);
    const present = pauses.filter((pause) => pause !== undefined);
    return present.toSorted((a, b) => b.untilMs - a.untilMs)[0];
  }

  #msUntil(timeMs: number): number {
    return Math.max(0, timeMs - this.#options.runningMs());
  }

  /** Whether any URL but these works. */
  #hasOther(...upstreams: readonly Upstream[]): boolean {
    return this.upstreams.some(
      (each) => !upstreams.includes(each) && each.breaker.state === 'closed',
    );
  }

  /** Creates the attempt that is sent now. The trial of a URL is short while another one works; the trial of a node is not. */
  begin<T>(upstream: Upstream, request: HttpRequest<T>): Attempt<T> {
    const headersMs = request.headersMs ?? this.#options.deadlines.headersMs;
    const isHalfOpen = upstream.breaker.state === 'half_open';
    const isTrial = isHalfOpen && request.node === undefined && this.#hasOther(upstream);
    for (const breaker of [upstream.breaker, this.#target(request).breaker]) breaker.requestSent();
    return {
      request,
      upstream,
      headersMs: isTrial ? Math.min(headersMs, POLICY.trialHeadersMs) : headersMs,
      isTrial,
      startMs: this.#options.runningMs(),
      arrivalsBefore: upstream.arrivals,
      code: 'error',
      hasBody: false,
    };
  }

  succeeded({ request, upstream, startMs }: Attempt): void {
    const target = this.#target(request);
    for (const { breaker } of [upstream, target]) {
      breaker.succeeded();
      breaker.endPause(startMs);
    }
    target.failedAtMs.delete(upstream);
  }

  /** Records a failure. Returns whether the URL is silent, so that another one may do better. */
  failed(attempt: Attempt, error: RequestError): boolean {
    const { request, upstream, startMs, code } = attempt;
    const target = this.#target(request);
    const isPause = pauseSeconds(error) !== undefined;
    const isFault = error.blames !== 'nobody' || code === 'error' || isPause;
    if (!isFault) this.succeeded(attempt);
    if (code !== 'error') upstream.breaker.succeeded();
    // The next request of this kind begins at another URL.
    target.failedAtMs.set(upstream, this.#options.runningMs());
    if (error.blames === 'nobody') return false;
    upstream.lastFailure = error;
    if (error.blames === 'url') upstream.breaker.failed(startMs);
    // `roundEnded` decides what is paused.
    if (error.blames === 'url' || isPause) return false;
    if (mayBlame(request, 'endpoint')) target.breaker.failed(startMs);
    // A URL that was silent before has not changed: the next one gets whatever was its trial.
    const mayBeUrl = attempt.isTrial || mayBlame(request, 'url');
    return mayBeUrl && wasSilent(attempt, error) && this.#isUrlSilent(attempt);
  }

  /**
   * Finds what is silent: the node if anything arrived from its URL since the request was sent, otherwise the URL, which is
   * left alone if another one works. Example: node 3 gets a request at 0 s, and has not responded at 30 s. If the URL sent
   * the list of node 1 at 20 s, node 3 is paused for 300 s, with a `max_duty` of 0.1. The end of a poll proves nothing of
   * the URL before the time of a trial is over; of a node's URL never, as the node may prepare its list for minutes.
   */
  #isUrlSilent({ request, upstream, startMs, arrivalsBefore }: Attempt): boolean {
    const { node, stats } = request;
    const waitedMs = this.#options.runningMs() - startMs;
    if (upstream.arrivals !== arrivalsBefore) {
      if (node !== undefined) this.#pauseNode(request, waitedMs);
      return false;
    }
    const isCutShort = node !== undefined || waitedMs < POLICY.trialHeadersMs;
    if (!this.#hasOther(upstream) || (stats.signal.aborted && isCutShort)) return false;
    upstream.breaker.open(startMs);
    return true;
  }

  /** Fails requests for a silent node until `waitedMs` is no more than its share of the time. */
  #pauseNode(request: HttpRequest, waitedMs: number): void {
    const { endpoint, node } = request;
    const pauseMs = Math.min(waitedMs / this.#options.maxDuty, POLICY.maxNodePauseMs);
    if (pauseMs === 0) return;
    const text = `${endpoint} of node ${node}: no response; paused for ${Math.ceil(pauseMs / 1000)} s`;
    const error = new RequestError('timeout', text, { endpoint, node });
    this.#target(request).breaker.startPause(error, pauseMs);
  }

  /**
   * Finds after the last attempt of a round what a Retry-After pauses, and whose fault a refusal was. Example: B responds 503
   * with Retry-After to the list of a node. If C sends it, B is paused. If A and C want a pause, too, the node is paused for
   * the shortest of them: one overloaded node must not stop the others. A 429 always pauses its URL.
   */
  roundEnded(request: HttpRequest, failures: Failures, isAnswered: boolean): void {
    const pauses = [...failures].flatMap(([upstream, error]) => {
      const seconds = pauseSeconds(error);
      return seconds === undefined ? [] : [{ upstream, error, ms: seconds * 1000 }];
    });
    const hasOther = this.#hasOther(...pauses.map(({ upstream }) => upstream));
    const { urls = [], targets = [] } = Object.groupBy(pauses, ({ error }) =>
      hasOther || error.status === TOO_MANY_REQUESTS ? 'urls' : 'targets',
    );
    for (const { upstream, error, ms } of urls) {
      upstream.lastFailure = error;
      upstream.breaker.startPause(error, ms);
    }
    const [shortest] = targets.toSorted((a, b) => a.ms - b.ms);
    if (shortest) this.#target(request).breaker.startPause(shortest.error, shortest.ms);
    if (!isAnswered) return;
    for (const [upstream, error] of failures) {
      if (!isRefusal(request, error)) continue;
      upstream.lastFailure = error;
      upstream.breaker.open(this.#options.runningMs());
    }
  }
}

/** Whether a failure of the request may be held against its URL, or against its endpoint or node. */
function mayBlame({ blames }: HttpRequest, what: Blamed): boolean {
  return blames === undefined || blames === what;
}

/**
 * Whether no headers arrived in time. A node is also silent if its body does not arrive in time, or if a gateway says that
 * the node did not respond. A response that was still arriving when the poll ended is not silence.
 */
function wasSilent({ request, code }: Attempt, error: RequestError): boolean {
  if (error.isNodeTimeout) return true;
  if (error.late === undefined) return false;
  return code === 'error' || (request.node !== undefined && !request.stats.signal.aborted);
}
