import { scopeOf, isNodeTimeout, isOurTimeout } from './failure-scope.ts';
import { RequestError } from './errors.ts';
import type { Exchange, HttpAnswer, HttpRequest } from './exchange.ts';
import type { Span } from './reading.ts';
import { SilentNodes } from './silent-nodes.ts';
import { ByName } from './by-name.ts';
import { EndpointState, type EndpointStateOptions } from './endpoint-state.ts';
import type { Target } from './targets.ts';

/** Of the time left, for finding out whether one of several URLs is back. */
const TRIAL_SHARE = 1 / 3;

/** A request with what it says of itself when it fails. */
export interface AttemptRequest extends HttpRequest {
  /** The node that prepares the answer behind the URL: its silence is not the URL's. */
  readonly node?: number;
  /** A part of the endpoint that may fail by itself. */
  readonly part?: string;
  /** When its signal aborts at the latest, as `performance.now()`: another URL is to have its turn before. */
  readonly endsAtMs?: number | undefined;
  /** Takes an answer that was read to its end; what it throws is the outcome of the request. */
  readonly onEnd?: (answer: HttpAnswer) => void;
  /** Told of each answer that arrived, error statuses included. */
  readonly onAnswered?: (span: Span) => void;
}

export interface AttemptsOptions extends EndpointStateOptions {
  readonly exchange: Exchange;
  /** A node that gave no answer is left alone so long that waiting for it takes no larger share of the time. */
  readonly maxDuty: number;
  /** Whether there is another URL when a trial of one ends badly. */
  readonly hasSeveralUrls: boolean;
}

/** What a request is about: a node, or a part of an endpoint. */
export function stateName({ node, part, endpoint }: AttemptRequest): string {
  return node === undefined ? (part ?? endpoint) : `node ${node}`;
}

/** One request at one URL. */
interface Attempt {
  readonly target: Target;
  readonly state: EndpointState;
  readonly request: AttemptRequest;
  readonly isUrlTrial: boolean;
  readonly sentAtMs: number;
  /** When the URL had answered last before. */
  readonly urlAnsweredAtMs: number;
  /** Headers came. */
  isHeard: boolean;
  waitedMs: number;
}

/** Sends single requests, and takes from each outcome what it says of the URL, the endpoint or the node. */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #nodes: ByName<EndpointState>;
  readonly #silentNodes: SilentNodes;
  #failures = 0;

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#nodes = new ByName(() => new EndpointState(options));
    this.#silentNodes = new SilentNodes(options);
  }

  stateOf(target: Target, request: AttemptRequest): EndpointState {
    const states = request.node === undefined ? target.endpoints : this.#nodes;
    return states.get(stateName(request));
  }

  /** How long the node of this request is still to be left alone, ms. */
  leftAloneMs({ node }: AttemptRequest): number {
    return node === undefined ? 0 : this.#silentNodes.leftAloneMs(node);
  }

  /** The lower, the sooner this URL is to be asked. */
  rank(target: Target, request: AttemptRequest): number {
    const state = this.stateOf(target, request);
    const failure = state.failureAt(target);
    // An endpoint finds out whether a silent URL is back, not a node's list, which may take long.
    if (request.node !== undefined) {
      return target.isAvoidedForNodes ? this.#failures + 1 : failure;
    }
    if (target.breaker.state() === 'half_open') return failure - Number.MAX_SAFE_INTEGER;
    return state.breaker.state() === 'closed' ? failure : Number.MAX_SAFE_INTEGER;
  }

  /** True when the request may be sent to this URL now. */
  admit(target: Target, request: AttemptRequest): boolean {
    if (!target.breaker.admit(request.endpoint)) return false;
    if (this.stateOf(target, request).breaker.admit()) return true;
    target.breaker.released(request.endpoint);
    return false;
  }

  /** The trial whose end decides whether the request may be sent to this URL, if one is running. */
  trial(target: Target, request: AttemptRequest): Promise<void> | undefined {
    const { breaker } = this.stateOf(target, request);
    return target.breaker.trial(request.endpoint) ?? breaker.trial();
  }

  /** When the request may be sent to this URL, monotonic ms. */
  trialAtMs(target: Target, request: AttemptRequest): number {
    const { breaker } = this.stateOf(target, request);
    return Math.max(target.breaker.trialAtMs() ?? 0, breaker.trialAtMs() ?? 0);
  }

  /** Sends an admitted request. Rejects like the exchange. */
  async send(target: Target, request: AttemptRequest): Promise<HttpAnswer> {
    const state = this.stateOf(target, request);
    const sentAtMs = this.#options.monotonicMs();
    const isUrlTrial = target.breaker.state() === 'half_open';
    const that: Attempt = {
      target,
      state,
      request,
      isUrlTrial,
      sentAtMs,
      urlAnsweredAtMs: target.answeredAtMs,
      isHeard: false,
      waitedMs: 0,
    };
    const startMs = performance.now();
    const onHeaders = (): void => {
      that.isHeard = true;
      target.answered();
      this.#silentNodes.apiAnswered();
      state.headerDeadline.answered(performance.now() - startMs);
    };
    let isAnswer = true;
    try {
      const headersMs = this.#headersMs(that);
      const answer = await this.#options.exchange.send(target, request, { headersMs, onHeaders });
      this.#succeed(that);
      this.#hand(that, answer);
      return answer;
    } catch (error) {
      that.waitedMs = performance.now() - startMs;
      isAnswer = that.isHeard && !isBrokenOff(error) && !isNodeTimeout(error, request);
      throw error instanceof RequestError ? this.#learn(that, error) : error;
    } finally {
      if (isAnswer) request.onAnswered?.({ startMs, endMs: performance.now() });
    }
  }

  /** Hands an answer on. Another server may send a better one than one that makes no sense. */
  #hand(that: Attempt, answer: HttpAnswer): void {
    try {
      that.request.onEnd?.(answer);
    } catch (error) {
      this.#askLater(that);
      throw error;
    }
  }

  #headersMs({ state: { headerDeadline }, request, isUrlTrial }: Attempt): number {
    const { hasSeveralUrls } = this.#options;
    if (!hasSeveralUrls) return isUrlTrial ? headerDeadline.trialMs() : headerDeadline.headersMs();
    const shortMs = headerDeadline.shortMs();
    const leftMs = Math.round((request.endsAtMs ?? Infinity) - performance.now());
    if (isUrlTrial) return Math.min(shortMs, Math.max(1, Math.round(leftMs * TRIAL_SHARE)));
    const isForOthers = request.node === undefined && leftMs > 2 * shortMs;
    return Math.min(headerDeadline.headersMs(), isForOthers ? leftMs - shortMs : Infinity);
  }

  /** Settles both breakers; returns the failure, which may gain that another URL is worth asking. */
  #learn(that: Attempt, error: RequestError): RequestError {
    const { target, state, request, sentAtMs } = that;
    if (isSilence(that, error)) return this.#learnFromSilence(that, error);
    const scope = scopeOf(error, request.proxied === true);
    if (scope === 'endpoint') this.#fail(that);
    else if (that.isHeard) this.#answered(that, error);
    else state.breaker.released();
    if (scope === 'url') target.breaker.failed(sentAtMs, request.endpoint);
    else target.breaker.released(request.endpoint);
    return error;
  }

  #learnFromSilence(that: Attempt, error: RequestError): RequestError {
    const { target, state, request, sentAtMs, waitedMs } = that;
    const { endpoint, node } = request;
    // A poll that ended soon after its request was sent says nothing of anybody, but does not begin there again.
    if (request.signal.aborted && waitedMs < state.headerDeadline.shortMs() / 2) {
      this.#askLater(that);
      state.breaker.released();
      target.breaker.released(endpoint);
      return error;
    }
    state.headerDeadline.silent(sentAtMs);
    this.#fail(that);
    if (node === undefined) {
      this.#endpointSilent(that);
    } else {
      this.#silentNodes.silent(node, that);
      target.breaker.released(endpoint);
    }
    return error.as(error.reason, error.message, this.#isNextUrlWorthAsking(that));
  }

  #endpointSilent({ target, state, request, sentAtMs, waitedMs }: Attempt): void {
    const { monotonicMs, maxDuty } = this.#options;
    const sinceMs = state.headerDeadline.silentSinceMs ?? sentAtMs;
    if (target.answeredAtMs < sentAtMs) target.avoidForNodes(monotonicMs() + waitedMs / maxDuty);
    target.fellSilent({ what: request.endpoint, sentAtMs, sinceMs });
  }

  /** A node's silence would only be waited for again; that of an endpoint at a URL which answers others, too. */
  #isNextUrlWorthAsking({ target, request, sentAtMs, isUrlTrial }: Attempt): boolean {
    if (isUrlTrial) return true;
    if (request.node !== undefined || !this.#options.hasSeveralUrls) return false;
    return target.answeredAtMs < sentAtMs;
  }

  /** An answer that is no success: another server may not be of that opinion, unless it is about who asks. */
  #answered(that: Attempt, { reason }: RequestError): void {
    this.#succeed(that);
    if (reason !== 'auth' && reason !== 'forbidden') this.#askLater(that);
  }

  #succeed({ target, state, request }: Attempt): void {
    state.succeeded(target);
    if (request.node !== undefined) this.#silentNodes.answered(request.node, target);
  }

  #fail(that: Attempt): void {
    this.#askLater(that);
    that.state.breaker.failed(that.sentAtMs);
  }

  /** Nothing usable came from this URL: the next request of its kind begins at another one. */
  #askLater({ target, state }: Attempt): void {
    this.#failures += 1;
    state.askLater(target, this.#failures);
  }
}

/**
 * No headers in time. Of a node also headers of which nothing follows in time, and a gateway that has waited for it in
 * vain; an answer that was still arriving when the poll was up is no silence.
 */
function isSilence({ request, isHeard }: Attempt, error: RequestError): boolean {
  if (isNodeTimeout(error, request)) return true;
  if (!isOurTimeout(error)) return false;
  return !isHeard || (request.node !== undefined && !request.signal.aborted);
}

/** An answer that did not arrive, though it had begun to. */
function isBrokenOff(error: unknown): boolean {
  if (!(error instanceof RequestError) || error.status !== undefined) return false;
  return error.reason === 'timeout' || error.reason === 'network';
}
