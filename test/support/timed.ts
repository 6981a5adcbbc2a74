/**
 * Files whose tests depend on real time: a program must notice something within seconds. `npm test` runs those that
 * fail once more, alone.
 */
export const TIMED: readonly string[] = [
  'test/chaos/chaos.test.ts',
  'test/e2e/alerts/alerts.test.ts',
];
