import type { ParsedSample } from '../metrics/parse-exposition.ts';
import { type Expected, keyOf, nameOf } from './oracle/expected.ts';
import type { Expectations } from './oracle/oracle.ts';
import {
  CLUSTER_FAMILIES,
  DEPENDENCE_FAMILIES,
  OPTIONAL_FAMILIES,
  WHOLE_FAMILIES,
} from './oracle/ranges.ts';

/** What the shown data of one collector is compared with. */
export interface Comparison {
  readonly collector: string;
  readonly samples: readonly ParsedSample[];
  /** What was true at the moments of its poll. */
  readonly moments: readonly Expectations[];
  /** Its listings came in several answers, maybe of several moments. */
  readonly isPaged: boolean;
}

/** A pair or user that had sessions before is kept at 0 for a while, and so is the sum of the others. */
const ZERO_WHEN_UNKNOWN = /^crdb_(?:application|user)_/;
const UNVERIFIED = 'crdb_ranges_unverified';
/** A node that has just taken over the count of paused jobs has none yet. */
const PAUSED_JOBS = /^crdb_jobs .*"paused"/;
/** Sums of fractions differ in their last digits by the order of the terms. */
const RELATIVE_TOLERANCE = 1e-12;

/** Every sample equals the truth of some moment of its poll; else what is said of the first that does not. */
export function findUntruth({
  collector,
  samples,
  moments,
  isPaged,
}: Comparison): string | undefined {
  const expected = moments.map((moment) => moment[collector] ?? new Map<string, number>());
  const known = new Set(expected.flatMap((each) => [...each.keys()].map(nameOf)));
  const failedNodes = valueOf(samples, 'crdb_range_scan_nodes', 'failed');
  const unverified = samples.find(({ name }) => name === UNVERIFIED)?.value ?? 0;
  for (const { name, labels, value } of samples) {
    if (!known.has(name) || isOfFaults(name, labels)) continue;
    const isComposed = isPaged || CLUSTER_FAMILIES.has(name);
    if (isComposed && moments.length > 1) continue;
    const key = keyOf(name, labels);
    const wanted = expected.map((each) => each.get(key) ?? defaultOf(name));
    const isLowerBound =
      (failedNodes > 0 && CLUSTER_FAMILIES.has(name)) ||
      (unverified > 0 && DEPENDENCE_FAMILIES.has(name));
    const isTrue = wanted.some(
      (truth) => truth !== undefined && (isClose(value, truth) || (isLowerBound && value < truth)),
    );
    if (!isTrue) return `${key} is ${value}, true is ${wanted.join(' or ')}`;
  }
  if (failedNodes === 0) return undefined;
  const whole = samples.find(({ name }) => WHOLE_FAMILIES.has(name));
  return whole && `${whole.name} although ${failedNodes} nodes failed`;
}

/** What is true and not there, or otherwise; undefined when all of it is shown. */
export function findAbsence(
  samples: readonly ParsedSample[],
  expected: Expected,
): string | undefined {
  const there = new Map(samples.map(({ name, labels, value }) => [keyOf(name, labels), value]));
  for (const [key, truth] of expected) {
    if (OPTIONAL_FAMILIES.has(nameOf(key))) continue;
    const value = there.get(key);
    if (value === undefined && PAUSED_JOBS.test(key)) continue;
    if (value === undefined || !isClose(value, truth))
      return `${key} is ${value}, true is ${truth}`;
  }
  return undefined;
}

/** How many nodes and descriptors a scan could read depends on the faults, not on the world. */
function isOfFaults(name: string, labels: ParsedSample['labels']): boolean {
  if (name === UNVERIFIED) return true;
  return name === 'crdb_range_scan_nodes' && labels['state'] !== 'skipped';
}

function defaultOf(name: string): number | undefined {
  return ZERO_WHEN_UNKNOWN.test(name) ? 0 : undefined;
}

function valueOf(samples: readonly ParsedSample[], family: string, state: string): number {
  return samples.find((each) => each.name === family && each.labels['state'] === state)?.value ?? 0;
}

function isClose(value: number, truth: number): boolean {
  return Math.abs(value - truth) <= RELATIVE_TOLERANCE * Math.max(1, Math.abs(truth));
}
