import { defineConfig } from 'vitest/config';

/** Real programs against the clock: they get the machine for themselves, after all others. */
const ALONE = 'test/e2e/alerts/*.test.ts';

export default defineConfig({
  test: {
    // Most tests wait for sockets and programs; one worker would leave a core idle.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // A test that waits in vain ends by its own time limit, not by a guess at how busy the machine is.
    expect: { poll: { timeout: 25_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [ALONE],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: [ALONE], sequence: { groupOrder: 1 } },
      },
    ],
  },
});
