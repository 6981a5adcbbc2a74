import { delimiter } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** What runs against the clock gets the machine for itself, after all others. */
const ALERTS = 'test/e2e/alerts/*.test.ts';
const CHAOS = 'test/chaos/*.test.ts';

/** What asks Prometheus or its tools, and is quick, runs once more with the programs of this folder (.ci/newest-prometheus). */
const NEWEST = process.env['NEWEST_PROMETHEUS'];
const ASKING = [
  'test/rules/*.test.ts',
  'test/config/web-config.test.ts',
  'test/e2e/prometheus.test.ts',
  'test/e2e/secure-scrape.test.ts',
];
const newestFirst = { PATH: [NEWEST, process.env['PATH']].join(delimiter) };

const newest: TestProjectInlineConfiguration = {
  extends: true,
  test: { name: 'newest', include: ASKING, env: newestFirst, sequence: { groupOrder: 0 } },
};

export default defineConfig({
  test: {
    // A golden file that is missing fails, as it does with CI=true; `-u` writes it.
    update: 'none',
    // Most tests wait for sockets and programs; one worker would leave a core idle.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // A test that waits in vain ends by its own time limit, not by a guess at how busy the machine is.
    // A test that asserts nothing, like a loop over nothing, fails.
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
