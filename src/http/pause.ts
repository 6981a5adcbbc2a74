import { pass } from './abort.ts';
import type { RequestError } from './errors.ts';
import { LONGEST_WAIT_MS } from './retry.ts';

/** Statuses that speak of one endpoint or of the token: no server asks for patience with them. */
const LASTING: ReadonlySet<number> = new Set([401, 403, 404, 501]);
/** A balancer that asks for years must not silence the exporter. */
const LONGEST_PAUSE_MS = 15 * 60_000;

/** How long one API asked to be left alone (Retry-After); every request to it waits or fails. */
export class Pause {
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
    if (leftMs > LONGEST_WAIT_MS && this.#asked !== undefined) throw this.#asked.error;
    if (leftMs > 0) await pass(leftMs, signal, what);
  }

  /** Takes what the server asked for; a longer pause is not shortened. */
  note(error: RequestError): void {
    if (error.retryAfterSeconds === undefined || LASTING.has(error.status ?? 0)) return;
    const lengthMs = Math.min(error.retryAfterSeconds * 1000, LONGEST_PAUSE_MS);
    if (lengthMs < this.leftMs()) return;
    this.#asked = { error, untilMs: this.#monotonicMs() + lengthMs };
  }

  end(): void {
    this.#asked = undefined;
  }
}
