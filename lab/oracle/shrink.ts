import type { History, Step } from './history.ts';

/** Plays of a history that shrinking may take. */
const MAX_PLAYS = 80;

/** Leaves out steps, and the changes inside of polls, as long as what is left still fails: many at a time first, then one by one. */
export async function shrink(
  history: History,
  fails: (shorter: History) => Promise<boolean>,
): Promise<History> {
  let best = history;
  let plays = 0;
  const attempt = async (steps: readonly Step[]): Promise<boolean> => {
    plays += 1;
    const shorter = { ...best, steps };
    if (plays > MAX_PLAYS || !(await fails(shorter))) return false;
    best = shorter;
    return true;
  };
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = best.steps.length - size; at > -size; at -= size) {
      const from = Math.max(0, at);
      await attempt(best.steps.filter((_, index) => index < from || index >= at + size));
    }
  }
  for (let at = 0; at < best.steps.length; at += 1) {
    const step = best.steps[at];
    if (step === undefined || !('inside' in step)) continue;
    const { inside: _, ...plain } = step;
    await attempt(best.steps.with(at, plain));
  }
  if (best.start.zones.length > 0) {
    const plain = { ...best, start: { ...best.start, zones: [] } };
    if (await fails(plain)) best = plain;
  }
  return best;
}
