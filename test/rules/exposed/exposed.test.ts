import { beforeAll, describe, expect, test } from 'vitest';
import { ALERT_NAMES } from '../../../src/alerts/alerts.ts';
import { hasProgram } from '../../support/programs.ts';
import type { RuleCase } from '../cases.ts';
import { testRules, type Verdict } from '../promtool.ts';
import { closureOf, readRules, withoutTexts } from '../rule-set.ts';
import { minutesOf } from '../samples.ts';
import { busyDayCase } from './busy-day.ts';
import { CHANGES } from './changes.ts';
import { dayCase } from './day.ts';
import { FIRING_OF_NOBODY, nothingFires, scrapeCalm } from './exposition.ts';
import { faultCase, FAULTS } from './faults.ts';

/** The alerts, the health, and what they read. */
const GROUPS = closureOf(withoutTexts(readRules()), [
  'crdb_cluster:crdb_health:code',
  ...ALERT_NAMES,
]);
const ALL_FAULTS = [...FAULTS, ...CHANGES];
/** They take as long as all faults together: `npm run lab -- days` plays them. */
const DAYS = process.env['RULES_DAYS'] === undefined ? [] : [dayCase, busyDayCase];

// What an exporter serves of a calm simulated cluster, scraped once and changed minute by minute.
describe.skipIf(!hasProgram('promtool'))('what the exporter serves', () => {
  const cases = new Map<unknown, RuleCase>();
  let verdicts: readonly Verdict[] = [];

  beforeAll(async () => {
    const samples = await scrapeCalm();
    for (const fault of ALL_FAULTS) cases.set(fault, faultCase(samples, fault));
    for (const makeCase of DAYS) cases.set(makeCase, makeCase(samples));
    const all = [...Map.groupBy(cases.values(), ({ interval }) => interval).values()];
    verdicts = await Promise.all(
      all.map((ofInterval) => testRules(GROUPS, groupsOf(ofInterval).map(joined))),
    );
  }, 1_800_000);

  /** What promtool says of the expressions of a case that are not as expected. */
  function failuresOf(key: unknown): readonly string[] {
    const expected = cases.get(key)?.promql_expr_test ?? [];
    if (expected.length === 0) throw new Error('no case');
    return verdicts
      .flatMap(({ text }) => text.split(/^ +expr: /m).slice(1))
      .filter((failure) => expected.some(({ expr }) => failure.startsWith(JSON.stringify(expr))));
  }

  test.each(ALL_FAULTS)('makes its alerts fire in time, and no others: $fault', (fault) => {
    expect(failuresOf(fault)).toEqual([]);
  });

  test.each(DAYS)('makes no alert fire on a day of 13 hours: %o', (makeCase) => {
    expect(failuresOf(makeCase)).toEqual([]);
  });

  test('makes no alert fire that is of no cluster and no exporter', () => {
    for (const { text } of verdicts) expect(text).toContain('SUCCESS');
  });
});

/** Four cases in one take half of the time. More take longer: promtool 3.5 and older needs the square of the number of series of a case. */
const TOGETHER = 4;

/** Cases that end at about the same time. */
function groupsOf(cases: readonly RuleCase[]): readonly (readonly RuleCase[])[] {
  const sorted = cases.toSorted((a, b) => minutesTo(a) - minutesTo(b));
  return Array.from({ length: Math.ceil(sorted.length / TOGETHER) }, (_, index) =>
    sorted.slice(index * TOGETHER, (index + 1) * TOGETHER),
  );
}

function minutesTo({ promql_expr_test: tests = [] }: RuleCase): number {
  return Math.max(...tests.map(({ eval_time: time }) => minutesOf(time)));
}

/** Cases with clusters of their own as one case. */
function joined(cases: readonly RuleCase[]): RuleCase {
  return {
    name: cases.map(({ name }) => name).join('; '),
    interval: cases[0]?.interval ?? '',
    input_series: cases.flatMap(({ input_series: series }) => series),
    promql_expr_test: [
      ...cases.flatMap(({ promql_expr_test: tests = [] }) => tests),
      nothingFires(FIRING_OF_NOBODY, Math.max(...cases.map(minutesTo))),
    ],
  };
}
