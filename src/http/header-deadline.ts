/** While there is no answer, every so many attempts one gets the full time. */
const FULL_EVERY = 10;

export interface HeaderDeadlineOptions {
  /** From the start of a request to the headers of its answer. */
  readonly headersMs: number;
  /** The same after a request that got no answer; longer where answers are known to take longer. */
  readonly headersAfterSilenceMs: number;
}

/**
 * How long one endpoint or node is waited for. One that gave no answer is not waited for as long the next
 * time: a frozen server costs the full time once, not at every poll.
 */
export class HeaderDeadline {
  readonly #options: HeaderDeadlineOptions;
  #answerMs = 0;
  #attempts = 0;
  #silentSinceMs: number | undefined;

  constructor(options: HeaderDeadlineOptions) {
    this.#options = options;
  }

  /** When the first of the requests was sent that have had no answer since; undefined after an answer. */
  get silentSinceMs(): number | undefined {
    return this.#silentSinceMs;
  }

  /** How long the next request may wait for headers. */
  headersMs(): number {
    return this.#silentSinceMs === undefined ? this.#options.headersMs : this.trialMs();
  }

  /** The same for a request that is to find out whether there is an answer again. */
  trialMs(): number {
    const isFull = this.#attempts % FULL_EVERY === FULL_EVERY - 1;
    return isFull ? this.#options.headersMs : this.shortMs();
  }

  shortMs(): number {
    const { headersMs, headersAfterSilenceMs } = this.#options;
    return Math.min(headersMs, Math.max(headersAfterSilenceMs, 2 * this.#answerMs));
  }

  answered(tookMs: number): void {
    this.#answerMs = tookMs;
    this.#silentSinceMs = undefined;
    this.#attempts = 0;
  }

  silent(sentAtMs: number): void {
    this.#silentSinceMs ??= sentAtMs;
    this.#attempts += 1;
  }
}
