import { beforeAll, describe, expect, test } from 'vitest';
import { ALERT_NAMES } from '../../../src/alerts/alerts.ts';
import { hasProgram } from '../../support/programs.ts';
import type { RuleCase } from '../cases.ts';
import { testRules, type Verdict } from '../promtool.ts';
import { closureOf, readRules, withoutTexts } from '../rule-set.ts';
import { failuresOf, groupsOf, joined } from '../together.ts';
import { busyDayCase } from './busy-day.ts';
import { CHANGES } from './changes.ts';
import { dayCase } from './day.ts';
import { scrapeCalm } from './exposition.ts';
import { faultCase, FAULTS, isLong } from './faults.ts';
import { FIGURES } from './figures.ts';

/** The alerts, the health, and what they read. */
const GROUPS = closureOf(withoutTexts(readRules()), [
  'crdb_cluster:crdb_health:code',
  ...ALERT_NAMES,
]);
/** `npm run lab -- days` plays also one figure after the other, what takes more than an hour, and days of 13 hours. */
const PLAYS_ALL = process.env['RULES_DAYS'] !== undefined;
const DAYS = PLAYS_ALL ? [dayCase, busyDayCase] : [];
const SHORT_FAULTS = [...FAULTS, ...CHANGES].filter((fault) => !isLong(fault));
const ALL_FAULTS = PLAYS_ALL ? [...FAULTS, ...FIGURES, ...CHANGES] : SHORT_FAULTS;

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

  test.each(ALL_FAULTS)('makes its alerts fire in time, and no others: $fault', (fault) => {
    expect(failuresOf(cases.get(fault), verdicts)).toEqual([]);
  });

  test.each(DAYS)('makes no alert fire on a day of 13 hours: %o', (makeCase) => {
    expect(failuresOf(cases.get(makeCase), verdicts)).toEqual([]);
  });

  test('makes no alert fire that is of no cluster and no exporter', () => {
    for (const { text } of verdicts) expect(text).toContain('SUCCESS');
  });
});
