import { countHandles, expectNoMoreHandles } from './handles.ts';
import { runTrial, type Trial } from './trial.ts';

export interface Outcome {
  readonly seed: number;
  readonly seconds: number;
  readonly trial?: Trial;
  /** Why the seed failed, and how to run it alone. */
  readonly failure?: string;
}

export interface TrialsOptions {
  readonly first: number;
  readonly count: number;
  /** Trials at a time: most of one is waiting. */
  readonly width: number;
  readonly onOutcome?: (outcome: Outcome) => void;
}

/** Runs so many seeds, all of them, whatever fails; then nothing of them may be left open. */
export async function runTrials(options: TrialsOptions): Promise<readonly Outcome[]> {
  const { first, count, width, onOutcome } = options;
  const handles = countHandles();
  const outcomes: Outcome[] = [];
  let next = first;
  const work = async (): Promise<void> => {
    while (next < first + count) {
      const seed = next;
      next += 1;
      const outcome = await run(seed);
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  await expectNoMoreHandles(handles);
  return outcomes;
}

async function run(seed: number): Promise<Outcome> {
  const startedAt = performance.now();
  const secondsSince = (): number => (performance.now() - startedAt) / 1000;
  try {
    const trial = await runTrial(seed);
    return { seed, seconds: secondsSince(), trial };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { seed, seconds: secondsSince(), failure };
  }
}
