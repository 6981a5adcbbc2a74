import { pass } from './abort.ts';
import { ByName } from './by-name.ts';
import type { RequestError } from './errors.ts';
import { MAX_WAIT_MS } from './retry.ts';

/** Too many requests: the only status that speaks of whoever asks, not of what was asked for. */
const THROTTLED = 429;
/** Statuses that do not pass with time. */
const LASTING: ReadonlySet<number> = new Set([401, 403, 404, 501]);
/** A balancer that asks for years must not silence the exporter. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** How long a server asked to be left alone (Retry-After); requests wait or fail. */
class RetryAfterTimer {
  readonly #monotonicMs: () => number;
  #asked: { readonly error: RequestError; readonly untilMs: number } | undefined;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** What is left of it, ms. */
  leftMs(): number {
    return Math.max(0, (this.#asked?.untilMs ?? -Infinity) - this.#monotonicMs());
  }

  /** Waits out a short pause, or fails as the request did that was asked for a long one. */
  async keep(signal: AbortSignal, what: string): Promise<void> {
    const leftMs = this.leftMs();
    if (leftMs > MAX_WAIT_MS && this.#asked !== undefined) throw this.#asked.error;
    if (leftMs > 0) await pass(leftMs, signal, what);
  }

  /** Takes what the server asked for; a longer pause is not shortened. */
  note(error: RequestError): void {
    if (error.retryAfterSeconds === undefined) return;
    const lengthMs = Math.min(error.retryAfterSeconds * 1000, MAX_RETRY_AFTER_MS);
    if (lengthMs < this.leftMs()) return;
    this.#asked = { error, untilMs: this.#monotonicMs() + lengthMs };
  }
}

/** The pauses that servers asked for: of a whole API, or of one endpoint, table or node. */
export class RetryAfterTimers {
  readonly #monotonicMs: () => number;
  #api: RetryAfterTimer;
  readonly #byName: ByName<RetryAfterTimer>;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#api = new RetryAfterTimer(monotonicMs);
    this.#byName = new ByName(() => new RetryAfterTimer(monotonicMs));
  }

  /** What is left of the pause of the whole API, ms. */
  leftMs(): number {
    return this.#api.leftMs();
  }

  /** Waits until a request about `name` may be sent, or fails as the one did that was asked for a long pause. */
  async keep(name: string, signal: AbortSignal, what: string): Promise<void> {
    await this.#api.keep(signal, what);
    await this.#byName.peek(name)?.keep(signal, what);
  }

  /** Takes what the server asked for in answer to a request about `name`. */
  note(name: string, error: RequestError): void {
    const { status = 0 } = error;
    if (status === THROTTLED) this.#api.note(error);
    else if (!LASTING.has(status) && error.retryAfterSeconds !== undefined) {
      this.#byName.get(name).note(error);
    }
  }

  end(): void {
    this.#api = new RetryAfterTimer(this.#monotonicMs);
    this.#byName.clear();
  }
}
