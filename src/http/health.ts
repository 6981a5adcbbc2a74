import type { Breaker, Pause } from './breaker.ts';
import { isNodeTimeout, missedDeadline, type RequestError } from './errors.ts';
import { isAboutUrl, pauseEverywhere, pauseLengthMs } from './pauses.ts';
import { type Attempt, type HttpRequest, subjectOf } from './request.ts';
import { BoundedMap, EndpointHealth, type HealthOptions, Upstream } from './upstream.ts';

/** Of the time left, for finding out whether one of several URLs works again. */
const PROBE_SHARE = 1 / 3;

/** A node without a response is left alone no longer than this. */
const MAX_PAUSE_MS = 300_000;

/** One try of a request, with the state that classifies its outcome. */
interface TrackedAttempt extends Attempt {
  readonly request: HttpRequest;
  readonly endpoint: EndpointHealth;
  readonly isUrlProbe: boolean;
  /** By the clock of the breakers. */
  readonly sentAtMs: number;
  /** When the URL had last answered before. */
  readonly urlAnsweredAtMs: number;
}

/**
 * The health of the URLs of one API, their endpoints and the nodes behind them: where a request may be sent now, and what
 * each outcome proves.
 */
export class Health {
  readonly upstreams: readonly Upstream[];
  readonly #options: HealthOptions;
  readonly #nodes = new BoundedMap<number, EndpointHealth>();
  /** When any URL last answered. */
  #apiAnsweredAtMs = -Infinity;
  #failures = 0;

  constructor(urls: readonly string[], options: HealthOptions) {
    this.upstreams = urls.map((url) => new Upstream(url, urls.length === 1, options));
    this.#options = options;
  }

  /** The URLs in the order in which this request may try them. */
  order(request: HttpRequest): readonly Upstream[] {
    const inUse = this.upstreams.filter(({ isLeftOut }) => !isLeftOut);
    const areAllOpen = inUse.every(({ breaker }) => breaker.state === 'open');
    const first = (request.firstUrl ?? 0) % this.upstreams.length;
    const ranked = [...this.upstreams.slice(first), ...this.upstreams.slice(0, first)]
      .map((upstream) => ({ upstream, rank: this.#rank(upstream, request) }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ upstream }) => upstream);
    // Each half-open URL may cost a wait: all but the first of them come last.
    const [, ...late] = ranked.filter(({ state }) => state === 'half_open');
    const ordered = [...ranked.filter((upstream) => !late.includes(upstream)), ...late];
    return ordered.filter(({ isLeftOut }) => !isLeftOut || areAllOpen);
  }

  #rank(upstream: Upstream, request: HttpRequest): number {
    const { breaker, failureOrder } = this.#endpoint(upstream, request);
    const failure = failureOrder.get(upstream) ?? 0;
    // An endpoint finds out whether a silent URL works again, not the ranges of a node, which may take long.
    if (request.node !== undefined) {
      return upstream.isAvoidedForNodes ? this.#failures + 1 : failure;
    }
    if (upstream.state === 'half_open') return failure - Number.MAX_SAFE_INTEGER;
    return breaker.state === 'closed' ? failure : Number.MAX_SAFE_INTEGER;
  }

  #endpoint(upstream: Upstream, request: HttpRequest): EndpointHealth {
    const { node } = request;
    if (node === undefined) return upstream.endpoint(subjectOf(request));
    const health = this.#nodes.get(node) ?? new EndpointHealth(this.#options, true);
    this.#nodes.set(node, health);
    return health;
  }

  /** All of them must let the request through. */
  #breakers(upstream: Upstream, request: HttpRequest): readonly Breaker[] {
    return [upstream.breaker, this.#endpoint(upstream, request).breaker];
  }

  /**
   * The breakers that the request probes, which must be notified of its end; undefined when it may not be sent to this
   * URL now.
   */
  tryAcquire(upstream: Upstream, request: HttpRequest): readonly Breaker[] | undefined {
    const { endpoint } = request;
    const breakers = this.#breakers(upstream, request);
    if (!breakers.every((breaker) => breaker.allows(endpoint))) return undefined;
    const probed = breakers.filter(({ state }) => state === 'half_open');
    for (const breaker of probed) breaker.startProbe(endpoint);
    return probed;
  }

  /** The ends of the running probes that decide whether this request may be sent. */
  runningProbes(request: HttpRequest): readonly Promise<void>[] {
    const breakers = this.upstreams.flatMap((upstream) => this.#breakers(upstream, request));
    return breakers.flatMap((breaker) => breaker.probeEnded(request.endpoint) ?? []);
  }

  /** How long failures keep this request from all URLs, and pauses; without a request, failures alone any request. */
  blockedMs(request?: HttpRequest): number {
    const probesAtMs = this.upstreams.map((upstream) => {
      if (request === undefined) return upstream.breaker.failedUntilMs;
      return Math.max(...this.#breakers(upstream, request).map(({ probeAtMs }) => probeAtMs));
    });
    return Math.max(0, Math.min(...probesAtMs) - this.#options.monotonicMs());
  }

  /** The pause that keeps this request from all URLs: of the shortest, if each has one. */
  pauseOf(request: HttpRequest): Pause | undefined {
    return pauseEverywhere(this.upstreams, (upstream) => this.#breakers(upstream, request));
  }

  /** What is left of the longest pause that keeps an endpoint from all URLs, ms. */
  pausedMs(): number {
    const names = new Set(this.upstreams.flatMap((upstream) => [...upstream.endpointNames()]));
    const pauses = [undefined, ...names].map((name) =>
      pauseEverywhere(this.upstreams, (upstream) => [
        upstream.breaker,
        ...(name === undefined ? [] : [upstream.endpoint(name).breaker]),
      ]),
    );
    const untilMs = Math.max(...pauses.map((pause) => pause?.untilMs ?? 0));
    return Math.max(0, untilMs - this.#options.monotonicMs());
  }

  endPauses(): void {
    for (const { breaker } of this.#nodes.values()) breaker.endPause();
    for (const upstream of this.upstreams) upstream.endPauses();
  }

  /** How long the node of this request is still to be left alone, ms. */
  silentNodeMs({ node = NaN }: HttpRequest): number {
    const silence = this.#nodes.get(node)?.silence;
    return Math.max(0, (silence?.retryAtMs ?? 0) - this.#options.monotonicMs());
  }

  begin(upstream: Upstream, request: HttpRequest): TrackedAttempt {
    const isUrlProbe = upstream.state === 'half_open';
    const endpoint = this.#endpoint(upstream, request);
    const attempt: TrackedAttempt = {
      upstream,
      request,
      endpoint,
      isUrlProbe,
      headersMs: this.#headersMs(endpoint, request, isUrlProbe),
      sentAtMs: this.#options.monotonicMs(),
      startMs: performance.now(),
      urlAnsweredAtMs: upstream.answeredAtMs,
      code: 'error',
      bytes: 0,
      hasBody: false,
      onHeaders: () => {
        upstream.recordAnswer();
        this.#apiAnsweredAtMs = this.#options.monotonicMs();
        endpoint.recordHeaders(performance.now() - attempt.startMs);
      },
    };
    return attempt;
  }

  /** How long to wait for headers, so that time is left for another URL where there are several. */
  #headersMs(endpoint: EndpointHealth, request: HttpRequest, isUrlProbe: boolean): number {
    const fullMs = this.#fullHeadersMs(request);
    if (this.upstreams.length === 1) return endpoint.headersMs(isUrlProbe, fullMs);
    const shortMs = endpoint.shortHeadersMs(fullMs);
    const leftMs = Math.round((request.stats.endsAtMs ?? Infinity) - performance.now());
    if (isUrlProbe) return Math.min(shortMs, Math.max(1, Math.round(leftMs * PROBE_SHARE)));
    const leavesTime = request.node === undefined && leftMs > 2 * shortMs;
    return Math.min(endpoint.headersMs(false, fullMs), leavesTime ? leftMs - shortMs : Infinity);
  }

  #fullHeadersMs({ headersMs }: HttpRequest): number {
    return headersMs ?? this.#options.deadlines.headersMs;
  }

  succeeded({ upstream, endpoint, request }: TrackedAttempt): void {
    upstream.breaker.endPastPause();
    endpoint.breaker.endPastPause();
    endpoint.succeeded(upstream);
    const { silence } = endpoint;
    endpoint.silence = undefined;
    // A node that answers here is evidence against the URL at which it was silent.
    if (silence?.isUrlSuspect !== true || silence.upstream === upstream) return;
    const nowMs = this.#options.monotonicMs();
    silence.upstream.recordSilence(subjectOf(request), nowMs, silence.sentAtMs);
  }

  /** Records a failure; returns whether another URL may do better. */
  failed(attempt: TrackedAttempt, error: RequestError): boolean {
    if (error.scope !== 'none') attempt.upstream.lastFailure = error;
    if (this.#startPause(attempt, error)) return true;
    if (isSilence(attempt, error)) return this.#silent(attempt);
    const { upstream, endpoint, sentAtMs, code } = attempt;
    if (error.scope === 'endpoint') {
      endpoint.breaker.failed(sentAtMs);
      this.#preferOthers(attempt);
    } else if (code !== 'error') {
      this.succeeded(attempt);
      // Another server may judge differently.
      this.#preferOthers(attempt);
    }
    if (error.scope === 'url') upstream.breaker.failed(sentAtMs);
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

  #silent(attempt: TrackedAttempt): boolean {
    const { upstream, endpoint, request, sentAtMs, startMs } = attempt;
    const waitedMs = performance.now() - startMs;
    this.#preferOthers(attempt);
    // A poll that ended soon after its request was sent proves nothing.
    const shortMs = endpoint.shortHeadersMs(this.#fullHeadersMs(request));
    if (request.stats.signal.aborted && waitedMs < shortMs / 2) return false;
    const sinceMs = endpoint.recordSilence(sentAtMs);
    endpoint.breaker.failed(sentAtMs);
    if (request.node !== undefined) {
      this.#nodeSilent(attempt, waitedMs);
      return attempt.isUrlProbe;
    }
    const isUrlSilent = upstream.answeredAtMs < sentAtMs;
    if (isUrlSilent) upstream.avoidForNodes(waitedMs / this.#options.maxDuty);
    upstream.recordSilence(request.endpoint, sentAtMs, sinceMs);
    return attempt.isUrlProbe || (isUrlSilent && this.upstreams.length > 1);
  }

  /**
   * The first silence may be that of the URL or of the whole API; a node is left alone from the second one on, when the
   * URL has answered something between the two.
   */
  #nodeSilent(
    { upstream, endpoint, sentAtMs, urlAnsweredAtMs }: TrackedAttempt,
    waitedMs: number,
  ): void {
    const endedAtMs = this.#options.monotonicMs();
    const { silence: before } = endpoint;
    const isNodeSilent = before !== undefined && urlAnsweredAtMs > before.endedAtMs;
    const isUrlSuspect =
      !isNodeSilent && this.#apiAnsweredAtMs >= sentAtMs && upstream.answeredAtMs < sentAtMs;
    if (isUrlSuspect) upstream.avoidForNodes(waitedMs / this.#options.maxDuty);
    if (isNodeSilent) before.upstream.avoidForNodes(-Infinity);
    const owedMs = isNodeSilent ? (before.owedMs + waitedMs) / this.#options.maxDuty : 0;
    const pauseMs = Math.min(owedMs, MAX_PAUSE_MS);
    endpoint.silence = {
      upstream,
      sentAtMs,
      endedAtMs,
      owedMs: isNodeSilent ? 0 : waitedMs,
      retryAtMs: endedAtMs + pauseMs,
      isUrlSuspect,
    };
  }

  /** Nothing usable came from this URL: the next request of its kind begins at another one. */
  #preferOthers({ upstream, endpoint }: TrackedAttempt): void {
    this.#failures += 1;
    endpoint.failureOrder.set(upstream, this.#failures);
  }
}

/**
 * No headers in time. For a node also headers without a body in time, and a gateway that got no response from it; a response
 * that was still arriving when the poll was over is no silence.
 */
function isSilence({ request, code }: TrackedAttempt, error: RequestError): boolean {
  if (isNodeTimeout(error, request)) return true;
  if (!missedDeadline(error)) return false;
  return code === 'error' || (request.node !== undefined && !request.stats.signal.aborted);
}
