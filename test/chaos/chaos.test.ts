import { beforeAll, describe, expect, test } from 'vitest';
import { hasPythonModule } from '../support/programs.ts';
import { readByPython } from './independent-reader.ts';
import { heldBytes } from './memory.ts';
import { type Outcome, runTrials } from './trials.ts';

const SEEDS = 30;
/** Half a minute on an idle machine. */
const MAX_MS = 600_000;
/** Only the output of a trial is kept, some hundred kilobytes of text. */
const HELD_PER_SEED_BYTES = 1_000_000;

describe(`${SEEDS} seeds`, () => {
  let outcomes: readonly Outcome[] = [];
  let grownBytes = 0;

  beforeAll(async () => {
    // Code that is loaded and compiled once is no leak.
    const warm = await runTrials({ first: 1, count: 3, width: 2 });
    const before = heldBytes();
    const rest = await runTrials({ first: 4, count: SEEDS - 3, width: 2 });
    grownBytes = heldBytes() - before;
    outcomes = [...warm, ...rest];
  }, MAX_MS);

  test('violate no invariant', () => {
    expect(outcomes.flatMap(({ failure }) => failure ?? [])).toEqual([]);
    expect(outcomes.length).toBe(SEEDS);
  });

  test('leak no memory', () => {
    expect(grownBytes).toBeLessThan(SEEDS * HELD_PER_SEED_BYTES);
  });

  test.skipIf(!hasPythonModule('prometheus_client'))(
    'are told in texts that Python reads in both formats',
    () => {
      const texts = outcomes.flatMap(({ trial }) => trial?.texts ?? []);
      expect(texts.length).toBeGreaterThan(SEEDS);
      expect(readByPython(texts)).toBeUndefined();
    },
  );
});
