import { readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..', '..');
/** Seconds that the nearest tests of a file may take together. */
const MAX_SECONDS = 10;
/** Slower ones wait for something, rather than try much. */
const MAX_SECONDS_OF_ONE = 3;
const MAX_FILES = 24;
/** What tests take between two looks at what failed. */
const GROUP_SECONDS = 30;

/** A test file; `steps` is the number of imports from it to a file, Infinity where none leads there. */
interface Ranked {
  readonly test: string;
  readonly steps: number;
  readonly seconds: number;
}

/** The tests, with the seconds that each takes, whose imports lead to a file in the fewest steps; its own folder's are a step nearer. */
export function nearestTests(file: string, tests: ReadonlyMap<string, number>): readonly string[] {
  const nearest: string[] = [];
  let left = MAX_SECONDS;
  for (const { test, steps, seconds } of rank(file, tests)) {
    if (steps === Infinity || seconds > Math.min(left, MAX_SECONDS_OF_ONE)) continue;
    if (nearest.length === MAX_FILES) break;
    left -= seconds;
    nearest.push(test);
  }
  return nearest;
}

/** Some of the tests, in groups: first those whose imports lead to the file, and of these the nearest and fastest. */
export function ranked(
  file: string,
  tests: ReadonlyMap<string, number>,
  some: readonly string[],
): readonly (readonly string[])[] {
  const own = rank(file, tests).filter(({ test }) => some.includes(test));
  return groupsOf(new Map(own.map(({ test, seconds }) => [test, seconds])));
}

/** Tests, with the seconds that each takes, in groups of half a minute. */
export function groupsOf(tests: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let left = 0;
  for (const [test, seconds] of tests) {
    if (left <= 0) {
      groups.push([]);
      left = GROUP_SECONDS;
    }
    left -= seconds;
    groups.at(-1)?.push(test);
  }
  return groups;
}

function rank(file: string, tests: ReadonlyMap<string, number>): readonly Ranked[] {
  const folder = path.dirname(file).replace(/^src/, 'test');
  return Array.from(tests, ([test, seconds]) => {
    const steps = countSteps(test, file) - Number(test.startsWith(folder));
    return { test, steps, seconds };
  }).toSorted((a, b) => byNumber(a.steps, b.steps) || a.seconds - b.seconds);
}

/** Infinity equals itself. */
function byNumber(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function countSteps(from: string, to: string): number {
  const steps = new Map([[from, 0]]);
  for (const [file, distance] of steps) {
    if (file === to) return distance;
    for (const next of importsOf(file)) if (!steps.has(next)) steps.set(next, distance + 1);
  }
  return Infinity;
}

function importsOf(file: string): readonly string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const found = text.matchAll(/(?:\bfrom |\bimport\()'(\.[^']+\.ts)'/g);
  return Array.from(found, ([, target = '']) => path.join(path.dirname(file), target));
}
