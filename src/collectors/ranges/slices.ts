import { setImmediate } from 'node:timers/promises';

/** Work in steps, between two of which other callbacks may run; what it works on is its own until it has ended. */
export type Work<Result = void> = Generator<undefined, Result>;

/** How long work holds the event loop before it lets others in: a scrape must not wait for a scan. */
const SLICE_MS = 2;
/** Slots of a table that make a step, some tenths of a millisecond. */
const STEP_SLOTS = 4096;

/** Does the work in slices. */
export async function inSlices<Result>(work: Work<Result>): Promise<Result> {
  let end = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() < end) continue;
    await setImmediate();
    end = performance.now() + SLICE_MS;
  }
}

/** Does the work without a pause. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Walks over so many slots, a step at a time: `visit` gets the first slot and the one behind the last. */
export function* walk(slots: number, visit: (from: number, to: number) => void): Work {
  for (let from = 0; from < slots; from += STEP_SLOTS) {
    visit(from, Math.min(from + STEP_SLOTS, slots));
    yield;
  }
}
