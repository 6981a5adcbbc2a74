import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/alerts/thresholds.ts';
import { judgeThrottling } from '../../src/cli/diagnose-throttling.ts';
import type { Throttling } from '../../src/cockroach/status-pages.ts';

const NOW = 1_700_000_000;
const DAY = 86_400;

/** The verdict on a cluster of three nodes. */
function judge(more: Partial<Throttling>, nodes = 3, thresholds = DEFAULT_THRESHOLDS) {
  const usual = {
    throttled: false,
    hasGracePeriod: false,
    gracePeriodEndSeconds: '0',
    hasTelemetryDeadline: false,
    telemetryDeadlineSeconds: '0',
    nodeIdsWithTelemetryProblems: [],
  };
  const { verdict, detail, advice } = judgeThrottling(
    { ...usual, ...more },
    nodes,
    NOW,
    thresholds,
  );
  return `${verdict}: ${detail}${advice === undefined ? '' : ` -> ${advice}`}`;
}

test.each([
  [{}, /^ok: transactions are not throttled$/],
  [{ throttled: undefined }, /^skipped/],
  [{ throttled: true }, /^warning: transactions are throttled.* -> set a license/],
  [
    { throttled: true, hasTelemetryDeadline: true, nodeIdsWithTelemetryProblems: ['2', '3'] },
    /telemetry, of nodes 2 and 3, which/,
  ],
  [
    { hasGracePeriod: true, gracePeriodEndSeconds: String(NOW + 5 * DAY) },
    /^warning: transactions are throttled in 5 d, when the grace period/,
  ],
  [{ hasGracePeriod: true, gracePeriodEndSeconds: String(NOW + 60 * DAY) }, /^ok/],
  [
    { hasTelemetryDeadline: true, telemetryDeadlineSeconds: String(NOW + 2 * DAY) },
    /^warning: telemetry is missing; transactions are throttled in 2 d -> let the nodes reach/,
  ],
  [{ hasTelemetryDeadline: true, telemetryDeadlineSeconds: String(NOW + 6 * DAY) }, /^ok/],
  [{ hasGracePeriod: true, gracePeriodEndSeconds: undefined }, /^ok/],
])('of what the server says (%j) diagnose says %s', (found, text) => {
  expect(judge(found)).toMatch(text);
});

test('a cluster of one node needs no license', () => {
  const ends = { hasGracePeriod: true, gracePeriodEndSeconds: String(NOW + DAY) };
  expect(judge(ends, 1)).toMatch(/^ok/);
});

test('warns of the grace period as early as of the license', () => {
  const ends = { hasGracePeriod: true, gracePeriodEndSeconds: String(NOW + 30 * DAY) };
  expect(judge(ends)).toMatch(/^ok/);
  expect(judge(ends, 3, { ...DEFAULT_THRESHOLDS, license_days: 40 })).toMatch(/^warning/);
});
