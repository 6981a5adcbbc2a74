import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { TIMED } from './test/support/timed.ts';

const COSTS = path.join(import.meta.dirname, 'test/support/costs.ts');
/**
 * These files begin first: the longest, so that no worker is left with one of them in the end, and beside files that wait one
 * that only computes (most of test/rules).
 */
const FIRST = [
  'rules/rules',
  'e2e/alerts',
  'browser/page',
  'dashboards/sizes',
  'rules/exposed/page',
  'chaos/',
  'e2e/frozen',
  'rules/exposed/exposed',
  'e2e/endless',
  'oracle/',
  'packaging/scale-out',
  'e2e/prometheus',
  'collectors/ranges/descriptor-plan',
  'status/findings/last-known',
  'rules/removal',
  'e2e/process',
  'packaging/package',
  'e2e/',
  'rules/incidents',
  'cli/',
  'rules/gaps',
  'packaging/',
  'rules/',
  'collectors/ranges',
  'status/findings',
  'exporter/',
];

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
const RULES = [
  'test/rules/{rules,incidents,removal,gaps}.test.ts',
  'test/rules/exposed/exposed.test.ts',
];
const newestFirst = { PATH: [NEWEST, process.env['PATH']].join(path.delimiter) };

class ListedFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = FIRST.findIndex((part) => moduleId.includes(`/test/${part}`));
  return rank === -1 ? FIRST.length : rank;
}

const newest: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'newest',
    include: [...WITH_BOTH, ...RULES],
    env: newestFirst,
    setupFiles: [COSTS],
    isolate: false,
  },
};

export default defineConfig({
  test: {
    // A missing golden file fails, as with CI=true; `-u` writes it.
    update: 'none',
    // Many tests wait for sockets and programs: there are more workers than cores.
    maxWorkers: availableParallelism() + 4,
    sequence: { sequencer: ListedFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A machine that does other work may be ten times slower. Polls end before the time limit of the test. A test without assertions, like a loop over nothing, fails.
    expect: { poll: { timeout: 110_000 }, requireAssertions: true },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...TIMED, ...(NEWEST === undefined ? [] : RULES)],
          setupFiles: [COSTS],
          // Files share the modules that a worker has loaded: without, loading costs a third of the time.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'timed', include: [...TIMED], setupFiles: [COSTS] } },
      ...(NEWEST === undefined ? [] : [newest]),
    ],
  },
});
