import { expect, test } from 'vitest';
import { severityOf, waitSeconds } from '../../src/alerts/alerts.ts';
import { writeAlerts } from '../../tools/rules/alert-list.ts';
import { expectGolden } from '../support/golden.ts';

test('the alerts that TypeScript knows are those of the template', async () => {
  await expectGolden(writeAlerts(), 'src/alerts/alerts.generated.ts', 'npm run rules');
});

test('an alert with two severities has the mildest one, and waits as long as each of them says', () => {
  expect(severityOf('CrdbNodeMemoryHigh')).toBe('warning');
  expect(waitSeconds('CrdbNodeMemoryHigh')).toBe(14_400);
  expect(waitSeconds('CrdbNodeMemoryHigh', 'critical')).toBe(120);
});

test('an alert without a wait fires at once', () => {
  expect(waitSeconds('CrdbNodeFlapping')).toBe(0);
  expect(severityOf('CrdbHotRange')).toBe('info');
});
