import { setImmediate } from 'node:timers/promises';

/** How long work holds the event loop before other callbacks run; a garbage collection may come on top. */
const SLICE_MS = 3;

/** A stretch of work on the event loop, ended by a pause in which other callbacks run. */
export class Slice {
  readonly #lengthMs: number;
  #end: number;

  constructor(lengthMs = SLICE_MS) {
    this.#lengthMs = lengthMs;
    this.#end = performance.now() + lengthMs;
  }

  async pauseWhenOver(): Promise<void> {
    if (performance.now() >= this.#end) {
      await setImmediate();
      this.#end = performance.now() + this.#lengthMs;
    }
  }
}
