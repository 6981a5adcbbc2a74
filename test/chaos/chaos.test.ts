// `CHAOS_SEEDS=100 CHAOS_SEED=31 npm run test:chaos` runs 100 trials, the first with seed 31.
import { spawnSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasPythonModule } from '../support/programs.ts';
import type { ScrapedText } from './scraper.ts';
import { runTrial, type Trial } from './trial.ts';

const SEEDS = Number(process.env['CHAOS_SEEDS'] ?? 6);
const FIRST = Number(process.env['CHAOS_SEED'] ?? 1);
/** Trials at a time: most of one is waiting. */
const WIDTH = 2;
/** Code that is loaded and compiled by the first trials is no leak. */
const WARM = 3;
/** The tests keep only the output of a trial, some hundred kilobytes of text. */
const HELD_PER_SEED_BYTES = 1_000_000;
/** What a trial could leave open in the process. */
const HANDLES = ['TCPSocketWrap', 'TCPServerWrap', 'Zlib', 'FSReqPromise'];

describe(`${SEEDS} seeds`, () => {
  const trials: Trial[] = [];
  const failures: unknown[] = [];
  let heldBefore = 0;
  let openBefore = 0;

  beforeAll(async () => {
    openBefore = countHandles();
    await runTrials(FIRST, WARM);
    heldBefore = heldBytes();
    await runTrials(FIRST + WARM, SEEDS - WARM);
  }, SEEDS * 120_000);

  async function runTrials(first: number, count: number): Promise<void> {
    const seeds = Array.from({ length: count }, (_, index) => first + index);
    const work = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        try {
          trials.push(await runTrial(seed));
        } catch (error) {
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, work));
  }

  test('violate no invariant', () => {
    expect(failures).toEqual([]);
    expect(trials.length).toBeGreaterThanOrEqual(SEEDS);
  });

  test('leak neither memory nor handles', async () => {
    // What still closes holds some for a moment.
    await expect.poll(() => heldBytes() - heldBefore).toBeLessThan(SEEDS * HELD_PER_SEED_BYTES);
    await expect.poll(countHandles).toBeLessThanOrEqual(openBefore);
  });

  test.skipIf(!hasPythonModule('prometheus_client'))(
    'are told in texts that Python reads in both formats',
    () => {
      const texts = trials.flatMap((trial) => trial.texts);
      expect(texts.length).toBeGreaterThan(SEEDS);
      expect(readByPython(texts)).toBe('');
    },
  );
});

function countHandles(): number {
  return process.getActiveResourcesInfo().filter((kind) => HANDLES.includes(kind)).length;
}

/** Bytes of the heap after a collection of garbage. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new TypeError('the garbage cannot be collected');
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Reads a JSON list of texts and parses each in its format. */
const PROGRAM = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text
for scraped in json.load(sys.stdin):
    parse = openmetrics if scraped["format"] == "openmetrics" else text
    if sum(len(family.samples) for family in parse(scraped["text"])) == 0:
        raise ValueError("no samples")
`;

/** The error of Python's prometheus_client in these texts; empty when it reads them all. */
function readByPython(texts: readonly ScrapedText[]): string {
  return spawnSync('python3', ['-c', PROGRAM], { input: JSON.stringify(texts), encoding: 'utf8' })
    .stderr;
}
