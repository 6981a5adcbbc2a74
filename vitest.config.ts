import { availableParallelism } from 'node:os';
import { delimiter } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Timing-sensitive tests run after all others. */
const TIMED = ['test/e2e/alerts/*.test.ts', 'test/chaos/*.test.ts'];

/** The folder of the newest Prometheus (.ci/newest-prometheus), whose programs run tests, too. */
const NEWEST = process.env['NEWEST_PROMETHEUS'];
/** Tests that run with both the installed and the newest Prometheus. */
const WITH_BOTH = [
  'test/rules/newest.test.ts',
  'test/config/web-config.test.ts',
  'test/e2e/prometheus.test.ts',
  'test/e2e/secure-scrape.test.ts',
];
/** The cases of the rules take long: they run once, with the newest promtool where it is available. */
const RULES = ['test/rules/{rules,incidents,decommission,scan-check}.test.ts'];
const newestFirst = { PATH: [NEWEST, process.env['PATH']].join(delimiter) };

const newest: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'newest',
    include: [...WITH_BOTH, ...RULES],
    env: newestFirst,
    sequence: { groupOrder: 0 },
  },
};

export default defineConfig({
  test: {
    // A missing golden file fails, as with CI=true; `-u` writes it.
    update: 'none',
    // Many tests wait for sockets and programs: one worker more than there are cores.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Polls end before the time limit of the test. A test without assertions, like a loop over nothing, fails.
    expect: { poll: { timeout: 25_000 }, requireAssertions: true },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...TIMED, ...(NEWEST === undefined ? [] : RULES)],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'timed', include: TIMED, sequence: { groupOrder: 1 } },
      },
      ...(NEWEST === undefined ? [] : [newest]),
    ],
  },
});
