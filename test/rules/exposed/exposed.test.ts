import { beforeAll, describe, expect, test } from 'vitest';
import { ALERT_NAMES } from '../../../src/alerts/alerts.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { hasProgram } from '../../support/programs.ts';
import { testRules } from '../promtool.ts';
import { closureOf, readRules, withoutTexts } from '../rule-set.ts';
import { busyDayCase } from './busy-day.ts';
import { CHANGES } from './changes.ts';
import { dayCase } from './day.ts';
import { scrapeCalm } from './exposition.ts';
import { faultCase, FAULTS } from './faults.ts';

/** The alerts, the health, and what they read. */
const GROUPS = closureOf(withoutTexts(readRules()), [
  'crdb_cluster:crdb_health:code',
  ...ALERT_NAMES,
]);

// What an exporter serves of a calm simulated cluster, scraped once and changed minute by minute.
describe.skipIf(!hasProgram('promtool'))('what the exporter serves', () => {
  let samples: readonly ParsedSample[];

  beforeAll(async () => {
    samples = await scrapeCalm();
  });

  test.each([...FAULTS, ...CHANGES])(
    'makes its alerts fire in time, and no others: $fault',
    { timeout: 600_000 },
    async (fault) => {
      const { text } = await testRules(GROUPS, [faultCase(samples, fault)]);
      expect(text).toContain('SUCCESS');
    },
  );

  test.each([dayCase, busyDayCase])(
    'makes no alert fire on a day of 13 hours: %o',
    { timeout: 900_000 },
    async (makeCase) => {
      const { text } = await testRules(GROUPS, [makeCase(samples)]);
      expect(text).toContain('SUCCESS');
    },
  );
});
