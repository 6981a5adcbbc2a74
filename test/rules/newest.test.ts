import { expect, test } from 'vitest';
import { run } from './promtool.ts';

const NEWEST = process.env['NEWEST_PROMETHEUS'];

// The project `newest` of vitest.config.ts runs them; this test is skipped if that was not possible.
test.skipIf(NEWEST === undefined)(
  'rules and scrapes are tested with the newest Prometheus',
  async () => {
    const { output } = await run(`${NEWEST}/promtool`, ['--version']);
    expect(output).toMatch(/^promtool, version (?:[3-9]|\d\d)\./);
  },
);
