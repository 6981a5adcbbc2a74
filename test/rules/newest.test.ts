import { expect, test } from 'vitest';
import { run } from './promtool.ts';

const NEWEST = process.env['NEWEST_PROMETHEUS'];

// The project `newest` of vitest.config.ts does it; this test shows when it could not.
test.skipIf(NEWEST === undefined)(
  'rules and scrapes are tested with the newest Prometheus, too',
  async () => {
    const { output } = await run(`${NEWEST}/promtool`, ['--version']);
    expect(output).toMatch(/^promtool, version (?:[3-9]|\d\d)\./);
  },
);
