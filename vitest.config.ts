import { delimiter } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Timing-sensitive tests run alone, after all others. */
const ALERTS = 'test/e2e/alerts/*.test.ts';
const CHAOS = 'test/chaos/*.test.ts';

/** Fast tests that use Prometheus or its tools run again with the programs of this folder (.ci/newest-prometheus). */
const NEWEST = process.env['NEWEST_PROMETHEUS'];
const USING_PROMETHEUS = [
  'test/rules/*.test.ts',
  'test/config/web-config.test.ts',
  'test/e2e/prometheus.test.ts',
  'test/e2e/secure-scrape.test.ts',
];
const newestFirst = { PATH: [NEWEST, process.env['PATH']].join(delimiter) };

const newest: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'newest',
    include: USING_PROMETHEUS,
    env: newestFirst,
    sequence: { groupOrder: 0 },
  },
};

export default defineConfig({
  test: {
    // A missing golden file fails, as with CI=true; `-u` writes it.
    update: 'none',
    // Most tests wait for sockets and programs.
    maxWorkers: '100%',
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
          exclude: [ALERTS, CHAOS],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'chaos', include: [CHAOS], sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'alerts', include: [ALERTS], sequence: { groupOrder: 2 } },
      },
      ...(NEWEST === undefined ? [] : [newest]),
    ],
  },
});
