import { expect, test } from 'vitest';
import type { Endpoint, FailureReason } from '../../src/base/vocabulary.ts';
import { BreakerOpenError } from '../../src/cockroach/http/client.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { addWarning } from '../../src/cockroach/http/poll-stats.ts';
import type { PollFailure } from '../../src/collectors/polling/outcome.ts';
import {
  type FoundProblem,
  pollProblems,
  pollWarnings,
  readCollector,
} from '../../src/exporter/poll-problems.ts';
import { preparePoller } from '../collectors/polling/prepare-poller.ts';
import { collectorState } from '../status/results.ts';

/** A failure with the remedy `wait`. */
function failure(reason: FailureReason, message: string, rule = 'late'): PollFailure {
  return { error: new RequestError(reason, message), rule, remedy: 'wait' };
}

const TIMEOUT = failure('timeout', 'no answer after 3 s');
const BROKEN = failure('breaker_open', 'poll skipped');

/** One at this URL. */
function at(host: string, reason: FailureReason, rule: string): PollFailure {
  const url = `https://${host}:8080`;
  return { error: new RequestError(reason, `nodes at ${host}: no`, { url }), rule };
}

/** One that no rule explains. */
function unexplained(endpoint: Endpoint, message: string, code?: string): PollFailure {
  const cause = Object.assign(new Error('odd'), code === undefined ? {} : { code });
  return { error: new RequestError('other', message, { endpoint, cause }) };
}

/** The problems of collectors by name, with their last failures. */
function failing(
  failures: Readonly<Record<string, PollFailure | undefined>>,
  previous: readonly FoundProblem[] = [],
  isUp = true,
): readonly FoundProblem[] {
  const collectors = Object.entries(failures).map(([name, failed]) =>
    collectorState(name, { api: name === 'cloud' ? 'cloud' : 'cluster', failure: failed }),
  );
  const apis = [{ api: 'cluster', isUp }] as const;
  return pollProblems({ name: 'shop', collectors, apis }, previous);
}

function summarize(problems: readonly FoundProblem[]): readonly string[] {
  return problems.map(({ cause, affects }) => `${cause?.error.reason}: ${affects?.join()}`);
}

test('polls that fail with the same reason and rule have one problem, whatever their messages', () => {
  const found = failing({
    nodes: TIMEOUT,
    ranges: failure('timeout', 'no answer after 4 s'),
    sessions: failure('network', 'no answer after 3 s'),
    users: failure('timeout', 'no answer after 3 s', 'early'),
    tables: TIMEOUT,
    cloud: TIMEOUT,
    others: undefined,
  });
  expect(summarize(found)).toEqual([
    'timeout: nodes,ranges,tables',
    'network: sessions',
    'timeout: users',
    'timeout: cloud',
  ]);
  expect(found[0]?.text).toBe(
    'Collectors nodes, ranges and tables are failing, older data is shown: no answer after 3 s.',
  );
});

/** The text about three failing collectors, of which these have current data. */
function textWith(...withData: readonly string[]): string | undefined {
  const collectors = ['nodes', 'ranges', 'sessions'].map((name) =>
    collectorState(name, { failure: TIMEOUT, hasData: withData.includes(name) }),
  );
  const apis = [{ api: 'cluster', isUp: true }] as const;
  return pollProblems({ name: 'shop', collectors, apis }, [])[0]?.text;
}

test('a problem says of which collectors there is current data', () => {
  const who = 'Collectors nodes, ranges and sessions are failing';
  expect(textWith('nodes', 'ranges', 'sessions')).toContain(`${who}, older data is shown:`);
  expect(textWith('ranges')).toContain(`${who}, there is no current data but of ranges:`);
  expect(textWith()).toContain(`${who}, there is no current data:`);
});

test('without a rule the same endpoint and code are one cause, not the same message', () => {
  const found = failing({
    nodes: unexplained('nodes', 'broken at 7', 'ODD'),
    network: unexplained('nodes', 'broken at 12', 'ODD'),
    users: unexplained('nodes', 'broken at 7'),
    tables: unexplained('users', 'broken at 7', 'ODD'),
  });
  expect(summarize(found)).toEqual(['other: nodes,network', 'other: users', 'other: tables']);
  expect(found[0]?.next).toBe('Check the log of the exporter.');
});

test('a longer timeout is no remedy while the API is down', () => {
  const error = new RequestError('timeout', 'the poll took longer than 30 s', { late: 'poll' });
  const collectors = [
    collectorState('nodes', { failure: { error, rule: 'late', remedy: 'raise it' } }),
  ];
  const next = (isUp: boolean) =>
    pollProblems({ name: 'shop', collectors, apis: [{ api: 'cluster', isUp }] }, [])[0]?.next;
  expect(next(false)).toContain('start the nodes that are down. Check the nodes for overload. ');
  expect(next(true)).toMatch(/^Raise it\. /);
});

test('a poll that a breaker stopped stays with its cause, or has the first one of its API', () => {
  const refused = failure('auth', 'no');
  const before = failing({ nodes: TIMEOUT, tables: refused });
  const now = { cloud: TIMEOUT, nodes: BROKEN, tables: BROKEN, users: BROKEN };
  const found = failing(now, before);
  expect(summarize(found)).toEqual(['timeout: cloud', 'timeout: nodes,users', 'auth: tables']);
  expect(failing(now, found)).toEqual(found);
  expect(summarize(failing({ nodes: BROKEN, users: BROKEN }))).toEqual([
    'breaker_open: nodes,users',
  ]);
});

test('a session that was refused before the login has the problem of the login', () => {
  const session = failure('auth', 'connectivity at a: HTTP 401', 'session refused');
  const login: PollFailure = {
    error: new RequestError('auth', 'login at a: HTTP 401', { endpoint: 'login' }),
    rule: 'user or password',
  };
  const before = failing({ network: session });
  expect(summarize(before)).toEqual(['auth: network']);
  const found = failing({ network: session, nodes: login, cloud: session }, before);
  expect(summarize(found)).toEqual(['auth: network,nodes', 'auth: cloud']);
  expect(found[0]?.text).toContain('login at a: HTTP 401');
});

test('a poll that fails at one URL after the other has one problem, until it fails of another cause', () => {
  const failures = [
    at('a', 'network', 'nothing listens'),
    at('b', 'timeout', 'connection timed out'),
    BROKEN,
    at('c', 'http', 'no server behind a proxy'),
    at('a', 'network', 'nothing listens'),
    at('b', 'auth', 'user or password'),
    at('b', 'network', 'nothing listens'),
    at('b', 'tls', 'TLS'),
  ];
  let previous: readonly FoundProblem[] = [];
  const keys = failures.map((failed) => {
    previous = failing({ nodes: failed, users: failed }, previous);
    expect(previous).toHaveLength(1);
    return previous[0]?.key;
  });
  const [first, , , , same, login, back, other] = keys;
  expect(keys.slice(0, 5)).toEqual([first, first, first, first, same]);
  expect(new Set([first, login, other]).size).toBe(3);
  expect(back).toBe(first);
});

test('data that a failed poll has published is no older data', async () => {
  const partial = new RequestError('http', '2 of 3 nodes were not read');
  const { poller, poll } = preparePoller(() => ({ failure: partial }), {}, { scope: 'node' });
  await poll();
  const [found] = pollProblems({ name: 'shop', collectors: [readCollector(poller)], apis: [] }, []);
  expect(found?.text).toContain('failing, no counts of orders are shown: 2 of 3 nodes');
  expect(found?.alert).toBe('CrdbDataStale');
});

test('warnings of polls are problems that are only logged', async () => {
  const { poller, poll } = preparePoller((context) => {
    const slow = new RequestError('other', 'the orders are slow', { remedy: 'wait' });
    addWarning(context, { about: 'the orders', error: slow });
    addWarning(context, { about: 'orders of node 5', error: new RequestError('other', 'odd') });
  });
  await poll();
  const found = pollWarnings([poller]).map(({ text, affects }) => `${affects?.join()}: ${text}`);
  expect(found).toEqual(['orders: The orders are slow: wait.', 'orders: Orders of node 5: odd.']);
});

test('a warning of one fault has one key, whatever URL and time its text names', async () => {
  const errors: readonly RequestError[] = [
    new RequestError('http', 'orders at crdb-1:8080: HTTP 500'),
    new RequestError('timeout', 'orders at crdb-2:8080: no headers within 3 s'),
    new BreakerOpenError({ endpoint: 'nodes' }, 4_000),
    new BreakerOpenError({ endpoint: 'nodes' }, 3_000),
    new RequestError('forbidden', 'orders at crdb-3:8080: HTTP 403'),
  ];
  let error = errors[0];
  const { poller, clock, poll } = preparePoller((context) => {
    if (error === undefined) return;
    addWarning(context, { about: 'orders of node 5', endpoint: 'nodes', error });
    addWarning(context, { about: 'orders of node 5', endpoint: 'table', error });
  });
  const keys: (readonly string[])[] = [];
  for (error of errors) {
    clock.nowMs += 60_000;
    await poll();
    keys.push(pollWarnings([poller]).map(({ key }) => key));
  }
  const [first, second, third, fourth, last] = keys;
  expect([second, third, fourth]).toEqual([first, first, first]);
  expect(new Set([...(first ?? []), ...(last ?? [])]).size).toBe(4);
});

test('partial data is that of a poll that failed, and is old once a later poll finds nothing', async () => {
  let failed: Error | undefined;
  const partial = new RequestError('http', 'half of it');
  const collect = () => {
    if (failed !== undefined) throw failed;
    return { failure: partial };
  };
  const { poller, clock, poll } = preparePoller(collect, {}, { scope: 'node' });
  const next = async () => {
    clock.nowMs += 60_000;
    await poll();
    const { state, isPartial, isOld } = readCollector(poller);
    return { state, isPartial, isOld };
  };
  expect(await next()).toEqual({ state: 'failing', isPartial: true, isOld: false });
  failed = new RequestError('http', 'nothing');
  expect(await next()).toEqual({ state: 'failing', isPartial: true, isOld: true });
});

test.each([
  ['ranges', [], /longer interval, or divide the nodes among shards/],
  // Shards would poll it as often.
  ['nodes', [], /longer interval, and check the nodes for overload/],
  ['sessions', ['duration'], /First look for nodes that are slow/],
  ['sessions', ['bytes', 'series'], /^Raise collectors\.sessions\.max_series,/],
  ['tables', ['items'], /^The limit is fixed, /],
  ['nodes', ['pages'], /^The limit is fixed, /],
  ['sql', ['items'], /^Select fewer rows/],
] as const)('the advice for %s that is slow or at %j names what helps', (name, limits, next) => {
  const durationSeconds = limits.length === 0 ? 29 : 1;
  const collectors = [collectorState(name, { limits, durationSeconds })];
  const found = pollProblems({ name: 'shop', collectors, apis: [] }, []);
  expect(found.map((problem) => problem.next)).toEqual([expect.stringMatching(next)]);
});

test('the silence of an API is one cause until all collectors have been polled again', () => {
  const others = { sessions: failure('timeout', 'late', 'early'), tables: TIMEOUT };
  const during = failing({ nodes: TIMEOUT, ...others }, [], false);
  expect(during.map(({ key }) => key)).toEqual(['cluster is silent']);
  // The first response: the API is up again.
  const after = failing({ nodes: undefined, ...others }, during);
  expect(after.map(({ key, affects }) => [key, affects])).toEqual([
    ['cluster is silent', ['sessions', 'tables']],
  ]);
  expect(failing({ tables: failure('http', 'no') }, after).map(({ key }) => key)).toEqual([
    'cluster http late',
  ]);
  // A poll that is late by itself is no part of it, and the next silence is another one.
  const late = failing({ tables: failure('timeout', 'late') }, after);
  expect(late.map(({ key }) => key)).toEqual(['cluster timeout late']);
  const again = failing({ nodes: failure('timeout', 'late'), ...others }, late, false);
  expect(again.map(({ key }) => key)).toEqual(['cluster is silent']);
});
