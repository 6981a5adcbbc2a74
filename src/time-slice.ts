import { setImmediate } from 'node:timers/promises';

/** How long work holds the event loop before other callbacks run; a garbage collection may come on top. */
const SLICE_MS = 3;

/** A stretch of work on the event loop, ended by a pause in which other callbacks run. */
export class TimeSlice {
  readonly #lengthMs: number;
  #end: number;

  constructor(lengthMs = SLICE_MS) {
    this.#lengthMs = lengthMs;
    this.#end = performance.now() + lengthMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  async pause(): Promise<void> {
    await setImmediate();
    this.#end = performance.now() + this.#lengthMs;
  }
}

/** Does the work in slices, and resolves to what it returns. */
export async function inSlices<Result>(
  steps: Iterator<unknown, Result>,
  lengthMs?: number,
): Promise<Result> {
  const slice = new TimeSlice(lengthMs);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slice.isOver) await slice.pause();
  }
}
