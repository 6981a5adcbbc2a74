import { expect, test } from 'vitest';
import { cloud } from '../../src/collectors/cloud.ts';
import { failedPolls, pollWarnings, type WatchProblem } from '../../src/findings/watch-problems.ts';
import type { Outcome } from '../../src/polling/outcome.ts';
import { orders } from '../support/collectors.ts';

const TIMEOUT = { reason: 'timeout', message: 'no answer after 3 s', remedy: 'wait' } as const;
const BROKEN = { reason: 'breaker_open', message: 'poll skipped' } as const;

/** Collectors of the cluster API by name, and their last failures. */
function failing(errors: Readonly<Record<string, Outcome['error']>>) {
  return Object.entries(errors).map(([name, error]) => ({
    collector: name === 'cloud' ? cloud : { ...orders, name },
    outcome: { state: error === undefined ? 'ok' : 'failing', error } as const,
  }));
}

function summarize(problems: readonly WatchProblem[]): readonly string[] {
  return problems.map(({ reason, affects }) => `${reason}: ${affects.join()}`);
}

test('polls that fail with the same reason and remedy have one problem', () => {
  const found = failedPolls(
    failing({
      nodes: TIMEOUT,
      // The remedy counts more than the message, and the numbers of a message are no other cause.
      ranges: { ...TIMEOUT, message: 'no answer after 4 s' },
      sessions: { ...TIMEOUT, reason: 'network' },
      users: { reason: 'decode', message: 'broken at 7' },
      tables: { reason: 'decode', message: 'broken at 12' },
      cloud: TIMEOUT,
      others: undefined,
    }),
    [],
  );
  expect(summarize(found)).toEqual([
    'timeout: nodes,ranges',
    'network: sessions',
    'decode: users,tables',
    'timeout: cloud',
  ]);
  expect(found[0]).toMatchObject({ message: TIMEOUT.message, remedy: 'wait', api: 'cluster' });
});

test('a poll that a breaker stopped stays with its cause, or has the first one of its API', () => {
  const before = failedPolls(
    failing({ nodes: TIMEOUT, tables: { reason: 'auth', message: 'no' } }),
    [],
  );
  const now = failing({ cloud: TIMEOUT, nodes: BROKEN, tables: BROKEN, users: BROKEN });
  const found = failedPolls(now, before);
  expect(summarize(found)).toEqual(['timeout: cloud', 'timeout: nodes,users', 'auth: tables']);
  expect(failedPolls(now, found)).toEqual(found);
  expect(summarize(failedPolls(failing({ nodes: BROKEN, users: BROKEN }), []))).toEqual([
    'breaker_open: nodes,users',
  ]);
});

test('warnings of polls are problems without a reason', () => {
  const outcome = { state: 'ok', warnings: new Set(['slow', 'odd']) } as const;
  expect(pollWarnings([{ collector: orders, outcome }])).toEqual([
    { key: 'orders: slow', message: 'slow', affects: ['orders'] },
    { key: 'orders: odd', message: 'odd', affects: ['orders'] },
  ]);
});
