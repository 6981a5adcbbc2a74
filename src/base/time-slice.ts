import { setImmediate } from 'node:timers/promises';

/** How long work holds the event loop before other callbacks run; a garbage collection may come on top. */
const SLICE_MS = 3;

/** Does the work in slices, between which other callbacks of the event loop run, and resolves to what it returns. */
export async function inSlices<Result>(
  steps: Iterator<unknown, Result>,
  lengthMs = SLICE_MS,
): Promise<Result> {
  let end = performance.now() + lengthMs;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() < end) continue;
    await setImmediate();
    end = performance.now() + lengthMs;
  }
}
