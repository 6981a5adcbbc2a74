import { blameFor, isOurTimeout } from './blame.ts';
import { RequestError } from './errors.ts';
import type { Exchange, HttpAnswer, HttpRequest } from './exchange.ts';
import type { Span } from './reading.ts';
import { type Subject, type SubjectOptions, Subjects } from './subject.ts';
import type { Target } from './targets.ts';

/** A request with what it says of itself when it fails. */
export interface BlamableRequest extends HttpRequest {
  /** The node that prepares the answer behind the URL: its silence is not the URL's. */
  readonly node?: number;
  /** A part of the endpoint that may fail by itself. */
  readonly part?: string;
  /** Told of each answer that arrived, error statuses included. */
  readonly onAnswered?: (span: Span) => void;
}

export interface TriesOptions extends SubjectOptions {
  readonly exchange: Exchange;
  /** A node that gave no answer is left alone so long that waiting for it takes no larger share of the time. */
  readonly maxDuty: number;
  /** Whether there is another URL when a trial of one ends badly. */
  readonly hasSeveralUrls: boolean;
}

/** One request at one URL. */
interface Try {
  readonly target: Target;
  readonly subject: Subject;
  readonly request: BlamableRequest;
  readonly isUrlTrial: boolean;
  readonly sentAtMs: number;
  /** Headers came. */
  isHeard: boolean;
  waitedMs: number;
}

/** Sends single requests, and takes from each outcome what it says of the URL, the endpoint or the node. */
export class Tries {
  readonly #options: TriesOptions;
  readonly #nodes: Subjects;
  #failures = 0;

  constructor(options: TriesOptions) {
    this.#options = options;
    this.#nodes = new Subjects(options);
  }

  subjectOf(target: Target, { node, part, endpoint }: BlamableRequest): Subject {
    if (node !== undefined) return this.#nodes.get(String(node));
    return target.subjects.get(part ?? endpoint);
  }

  /** How long the node of this request is still to be left alone, ms. */
  leftAloneMs({ node }: BlamableRequest): number {
    if (node === undefined) return 0;
    return this.#nodes.get(String(node)).leftAloneMs(this.#options.monotonicMs());
  }

  /** The lower, the sooner this URL is to be asked. */
  rank(target: Target, request: BlamableRequest): number {
    const subject = this.subjectOf(target, request);
    const failure = subject.failureAt(target);
    // An endpoint finds out whether a silent URL is back, not a node's list, which may take long.
    if (request.node !== undefined) return target.isSilent ? this.#failures + 1 : failure;
    if (target.breaker.state() === 'half_open') return -1;
    return subject.breaker.state() === 'closed' ? failure : Number.MAX_SAFE_INTEGER;
  }

  /** True when the request may be sent to this URL now. */
  admit(target: Target, request: BlamableRequest): boolean {
    if (!target.breaker.admit(request.endpoint)) return false;
    if (this.subjectOf(target, request).breaker.admit()) return true;
    target.breaker.released(request.endpoint);
    return false;
  }

  /** The trial whose end decides whether the request may be sent to this URL, if one is running. */
  trial(target: Target, request: BlamableRequest): Promise<void> | undefined {
    const { breaker } = this.subjectOf(target, request);
    return target.breaker.trial(request.endpoint) ?? breaker.trial();
  }

  /** When the request may be sent to this URL, monotonic ms. */
  trialAtMs(target: Target, request: BlamableRequest): number {
    const { breaker } = this.subjectOf(target, request);
    return Math.max(target.breaker.trialAtMs() ?? 0, breaker.trialAtMs() ?? 0);
  }

  /** Sends an admitted request. Rejects like the exchange. */
  async send(target: Target, request: BlamableRequest): Promise<HttpAnswer> {
    const subject = this.subjectOf(target, request);
    const sentAtMs = this.#options.monotonicMs();
    const isUrlTrial = target.breaker.state() === 'half_open';
    const that: Try = {
      target,
      subject,
      request,
      isUrlTrial,
      sentAtMs,
      isHeard: false,
      waitedMs: 0,
    };
    const startMs = performance.now();
    const onHeaders = (): void => {
      that.isHeard = true;
      target.answered();
      subject.patience.answered(performance.now() - startMs);
    };
    let isAnswer = true;
    try {
      const headersMs = this.#headersMs(subject, isUrlTrial);
      const answer = await this.#options.exchange.send(target, request, { headersMs, onHeaders });
      subject.succeeded(target);
      return answer;
    } catch (error) {
      that.waitedMs = performance.now() - startMs;
      isAnswer = that.isHeard && !isBrokenOff(error);
      throw error instanceof RequestError ? this.#learn(that, error) : error;
    } finally {
      if (isAnswer) request.onAnswered?.({ startMs, endMs: performance.now() });
    }
  }

  #headersMs({ patience }: Subject, isUrlTrial: boolean): number {
    if (!isUrlTrial) return patience.headersMs();
    return this.#options.hasSeveralUrls ? patience.shortMs() : patience.trialMs();
  }

  /** Settles both breakers; returns the failure, which may gain that another URL is worth asking. */
  #learn(that: Try, error: RequestError): RequestError {
    const { target, subject, request, sentAtMs } = that;
    if (!that.isHeard && isOurTimeout(error)) return this.#learnFromSilence(that, error);
    const blame = blameFor(error, request.proxied === true);
    if (blame === 'subject') this.#fail(that);
    else if (that.isHeard) subject.succeeded(target);
    else subject.breaker.released();
    if (blame === 'url') target.breaker.failed(sentAtMs, request.endpoint);
    else target.breaker.released(request.endpoint);
    return error;
  }

  #learnFromSilence(that: Try, error: RequestError): RequestError {
    const { target, subject, request, sentAtMs, waitedMs } = that;
    const { endpoint, node } = request;
    // A poll that ended soon after its request was sent says nothing of anybody.
    const wasShort = waitedMs < subject.patience.shortMs() / 2;
    if (wasShort || (node !== undefined && target.isSilent)) {
      subject.breaker.released();
      target.breaker.released(endpoint);
      return error;
    }
    subject.patience.silent(sentAtMs);
    this.#fail(that);
    if (node !== undefined) this.#leaveAlone(that);
    else {
      const sinceMs = subject.patience.silentSinceMs ?? sentAtMs;
      if (target.fellSilent({ endpoint, sentAtMs, sinceMs })) this.#nodes.forgive(target);
    }
    // Who asks a doubtful URL first must not pay for it with the poll.
    return that.isUrlTrial ? error.as('timeout', error.message, true) : error;
  }

  #leaveAlone({ target, subject, request, waitedMs }: Try): void {
    const { monotonicMs, maxDuty } = this.#options;
    subject.leaveAlone(monotonicMs(), waitedMs / maxDuty);
    target.breaker.released(request.endpoint);
  }

  #fail({ target, subject, sentAtMs }: Try): void {
    this.#failures += 1;
    subject.failed(target, sentAtMs, this.#failures);
  }
}

/** An answer that did not arrive, though it had begun to. */
function isBrokenOff(error: unknown): boolean {
  if (!(error instanceof RequestError) || error.status !== undefined) return false;
  return error.reason === 'timeout' || error.reason === 'network';
}
