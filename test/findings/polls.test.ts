import { expect, test } from 'vitest';
import { pollProblems, pollWarnings, readCollector } from '../../src/findings/polls.ts';
import type { CollectorStatus, Problem } from '../../src/findings/status.ts';
import { RequestError } from '../../src/http/errors.ts';
import { preparePoller } from '../polling/prepare-poller.ts';
import { collectorStatus } from '../web/status/results.ts';

const TIMEOUT = { reason: 'timeout', message: 'no answer after 3 s', advice: 'Wait.' } as const;
const BROKEN = { reason: 'breaker_open', message: 'poll skipped', advice: 'Wait 27 s.' } as const;
const UNKNOWN = 'Check the log of the exporter.';

/** The problems of collectors by name, with their last failures. */
function failing(
  errors: Readonly<Record<string, CollectorStatus['error']>>,
  previous: readonly Problem[] = [],
): readonly Problem[] {
  const collectors = Object.entries(errors).map(([name, error]) =>
    collectorStatus(name, { api: name === 'cloud' ? 'cloud' : 'cluster', error }),
  );
  return pollProblems({ collectors, apis: [] }, previous);
}

function summarize(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ cause, affects }) => `${cause?.reason}: ${affects?.join()}`);
}

test('polls that fail with the same reason and remedy have one problem', () => {
  const found = failing({
    nodes: TIMEOUT,
    // The remedy counts more than the message, and the numbers of a message are no other cause.
    ranges: { ...TIMEOUT, message: 'no answer after 4 s' },
    sessions: { ...TIMEOUT, reason: 'network' },
    users: { reason: 'decode', message: 'broken at 7', advice: UNKNOWN },
    tables: { reason: 'decode', message: 'broken at 12', advice: UNKNOWN },
    cloud: TIMEOUT,
    others: undefined,
  });
  expect(summarize(found)).toEqual([
    'timeout: nodes,ranges',
    'network: sessions',
    'decode: users,tables',
    'timeout: cloud',
  ]);
  expect(found[0]?.text).toBe(
    'Collectors nodes and ranges are failing, older data is shown: no answer after 3 s.',
  );
});

test('a poll that a breaker stopped stays with its cause, or has the first one of its API', () => {
  const refused = { reason: 'auth', message: 'no', advice: 'Log in.' } as const;
  const before = failing({ nodes: TIMEOUT, tables: refused });
  const now = { cloud: TIMEOUT, nodes: BROKEN, tables: BROKEN, users: BROKEN };
  const found = failing(now, before);
  expect(summarize(found)).toEqual(['timeout: cloud', 'timeout: nodes,users', 'auth: tables']);
  expect(failing(now, found)).toEqual(found);
  expect(summarize(failing({ nodes: BROKEN, users: BROKEN }))).toEqual([
    'breaker_open: nodes,users',
  ]);
});

test('data that a failed poll has published is no older data', async () => {
  const failure = new RequestError('http', '2 of 3 nodes were not read');
  const { poller, poll } = preparePoller(() => ({ failure }));
  await poll();
  const [found] = pollProblems({ collectors: [readCollector('shop', poller)], apis: [] }, []);
  expect(found?.text).toContain('failing, only part of the data is shown: 2 of 3 nodes');
  expect(found?.alert).toBe('CrdbDataStale');
});

test('warnings of polls are problems that are only logged', async () => {
  const { poller, poll } = preparePoller((context) => {
    for (const text of ['slow', 'odd']) context.warnings.add(text);
  });
  await poll();
  const found = pollWarnings([poller]).map(({ text, affects }) => `${affects?.join()}: ${text}`);
  expect(found).toEqual(['orders: Slow.', 'orders: Odd.']);
});
