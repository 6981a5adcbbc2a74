import { describe, expect, test } from 'vitest';
import type { RequestError } from '../../../src/cockroach/http/errors.ts';
import { Health } from '../../../src/cockroach/http/health.ts';
import type { HttpRequest } from '../../../src/cockroach/http/request.ts';
import {
  create,
  failure,
  LATE,
  OF_NODE_3,
  OF_NODE_4,
  over,
  REQUEST,
  status,
  USERS,
} from './clocked.ts';

const LOGIN: HttpRequest = { ...REQUEST, endpoint: 'login', method: 'POST' };
const TABLE: HttpRequest = { ...REQUEST, endpoint: 'table', blames: 'nobody' };

test.each([
  ['http://a/path', 'a:80'],
  ['https://a', 'a:443'],
  ['https://a:8080/', 'a:8080'],
  ['https://[::1]', '[::1]:443'],
])('the URL %s is named %s', (url, name) => {
  const options = { breakerOpenMs: 1, maxDuty: 1, runningMs: () => 0 };
  const deadlines = { headersMs: 1 };
  expect(new Health([url], { ...options, deadlines }).upstreams[0]?.name).toBe(name);
});

test('URLs of one host and port are named with their path, also where the other API has the same', () => {
  const options = {
    breakerOpenMs: 1,
    maxDuty: 1,
    runningMs: () => 0,
    deadlines: { headersMs: 1 },
  };
  const namesOf = (urls: readonly string[], clusterUrls?: readonly string[]) =>
    new Health(urls, { ...options, ...(clusterUrls && { clusterUrls }) }).upstreams.map(
      ({ name }) => name,
    );
  const paths = ['/a/api/v2', '/b/c/api/v2', '/api/v2'].map((path) => `https://proxy${path}`);
  const others = ['https://proxy:8443/a/api/v2', 'https://other/a/api/v2'];
  expect(namesOf([...paths, ...others])).toEqual([
    'proxy:443/a',
    'proxy:443/b/c',
    'proxy:443',
    'proxy:8443',
    'other:443',
  ]);
  const cloud = 'https://proxy/cloud';
  expect(namesOf([cloud], [...paths, cloud])).toEqual(['proxy:443/cloud']);
});

describe('the order of the URLs', () => {
  test.each([
    [undefined, 'abc'],
    [1, 'bca'],
    [2, 'cab'],
    [7, 'bca'],
  ])('of a request that begins at %j is %s', (firstUrl, expected) => {
    const { order } = create(3);
    expect(order({ ...REQUEST, ...(firstUrl !== undefined && { firstUrl }) })).toBe(expected);
  });

  test('ends with those that failed for the endpoint, the oldest failure first', () => {
    const { order, fail, answer } = create(3);
    fail(1, status(503));
    fail(0, status(503));
    expect([order(), order(USERS)]).toEqual(['cba', 'abc']);
    answer(2);
    fail(1, status(503));
    expect(order()).toBe('cab');
    answer(0);
    expect(order()).toBe('acb');
  });

  test('begins with a half-open one, which comes last for nodes and tables, and has no open one', () => {
    const { order, upstream, clock } = create(3);
    upstream(1).breaker.open(clock.now);
    const requests = [{ ...OF_NODE_3, firstUrl: 2 }, TABLE, USERS];
    expect(requests.map((request) => order(request))).toEqual(['ca', 'ac', 'ac']);
    clock.now += 10_000;
    expect(requests.map((request) => order(request))).toEqual(['cab', 'acb', 'bac']);
  });

  test('of a request for one URL is that URL, unless it is open', () => {
    const { order, upstream, clock } = create(3);
    const request = { ...REQUEST, onlyUrl: 1 };
    expect(order(request)).toBe('b');
    upstream(1).breaker.open(clock.now);
    expect(order(request)).toBe('');
  });
});

describe('a breaker', () => {
  test('is open for its time from the start of the request that opened it, and then half open', () => {
    const { health, upstream, clock, fail, answer, order } = create(1);
    expect(order()).toBe('a');
    // The failure of an earlier request may come later.
    for (const agoMs of [4_000, 5_000]) upstream(0).breaker.open(clock.now - agoMs);
    expect(order()).toBe('');
    expect([health.failedMs(), health.blockedMs(REQUEST)]).toEqual([6_000, 6_000]);
    clock.now += 6_000;
    expect(upstream(0).breaker.state).toBe('half_open');
    expect([order(), order(USERS)]).toEqual(['a', 'a']);
    fail(0, failure('ECONNREFUSED'));
    expect([upstream(0).breaker.state, health.failedMs()]).toEqual(['open', 9_940]);
    answer(0);
    expect(upstream(0).breaker.state).toBe('closed');
  });

  test('blocks for the shortest time of all URLs, at each for the longer one of the URL and the endpoint', () => {
    const { health, upstream, clock, fail } = create(2);
    upstream(0).breaker.open(clock.now - 1_000);
    expect(health.failedMs()).toBe(0);
    upstream(1).breaker.open(clock.now - 4_000);
    expect([health.failedMs(), health.blockedMs(REQUEST)]).toEqual([6_000, 6_000]);
    for (let times = 0; times < 3; times += 1) fail(1, failure('ECONNRESET'));
    expect([health.blockedMs(REQUEST), health.blockedMs(USERS)]).toEqual([9_940, 5_820]);
  });

  test.each<readonly [string, 'closed' | 'open', order: string, RequestError, number | 'error']>([
    ['a 503', 'closed', '', status(503), 503],
    ['a reset connection', 'closed', '', failure('ECONNRESET'), 'error'],
    ['a connection that ends early', 'closed', '', failure('ECONNRESET'), 200],
    ['a stall', 'closed', '', LATE, 200],
    ['silence', 'closed', '', LATE, 'error'],
    ['a refused connection', 'open', '', failure('ECONNREFUSED'), 'error'],
    ['a bad certificate', 'open', '', failure('CERT_HAS_EXPIRED'), 'error'],
    ['no connection in time', 'open', '', failure('ETIMEDOUT'), 'error'],
    ['too many headers', 'closed', 'a', failure('UND_ERR_HEADERS_OVERFLOW'), 'error'],
    ['a 500', 'closed', 'a', status(500), 500],
    ['a 403', 'closed', 'a', status(403), 403],
  ])('of the only URL is, after three times %s: %s', (_what, url, order, error, code) => {
    const world = create(1);
    for (let times = 0; times < 3; times += 1) {
      expect([world.states(), world.order()]).toEqual([['closed'], 'a']);
      expect(world.fail(0, error, REQUEST, code)).toBe(false);
    }
    expect([world.states(), world.order()]).toEqual([[url], order]);
    expect(world.upstream(0).lastFailure).toBe(error.blames === 'nobody' ? undefined : error);
    expect(world.order(USERS)).toBe(url === 'closed' ? 'a' : '');
  });

  test('of an endpoint does not count the failures of single tables', () => {
    const { silence, order } = create(1);
    for (let tables = 0; tables < 4; tables += 1) silence(0, TABLE);
    expect(order(TABLE)).toBe('a');
  });
});

describe('the deadline for headers', () => {
  test('is 5 s for the trial of a URL while another one works, but not for a node', () => {
    const { deadline, upstream, clock } = create(2);
    upstream(0).breaker.open(clock.now - 10_000);
    expect([deadline(0), deadline(0, OF_NODE_3), deadline(1)]).toEqual([5_000, 30_000, 30_000]);
    upstream(1).breaker.open(clock.now - 10_000);
    expect(deadline(0)).toBe(30_000);
  });

  test('is the full one for the trial of the only URL, after any silence', () => {
    const { deadline, silence, upstream, clock } = create(1);
    for (let times = 0; times < 4; times += 1) silence(0);
    upstream(0).breaker.open(clock.now - 10_000);
    expect(deadline(0)).toBe(30_000);
  });

  test.each([1, 3])(
    'is the full one after any silence of the endpoint, so that a slow login ends it: %i URLs',
    (urls) => {
      const { clock, health, upstream, silence, deadline, order } = create(urls);
      for (let times = 0; times < 3; times += 1) {
        silence(0, LOGIN, { ms: 5_000, others: true });
      }
      expect([order(LOGIN), health.blockedMs(LOGIN)]).toEqual(['', 5_000]);
      clock.now += 5_000;
      expect([deadline(0, LOGIN), deadline(urls - 1, LOGIN)]).toEqual([30_000, 30_000]);
      const attempt = health.begin(upstream(0), LOGIN);
      clock.now += 29_000;
      health.succeeded(attempt);
      expect([order(LOGIN).length, health.blockedMs(LOGIN)]).toEqual([urls, 0]);
    },
  );
});

test.each([1, 3])(
  'a process that stood still sends the next request at once, however late it notices old failures: %i URLs',
  (urls) => {
    const { clock, health, upstream, states, order, answer } = create(urls);
    const [last, ...old] = [1, 2, 3, 4].map(() => health.begin(upstream(0), REQUEST));
    clock.now += 60_000;
    for (const attempt of old) health.failed(attempt, LATE);
    expect([order().length, health.blockedMs(REQUEST), health.failedMs()]).toEqual([urls, 0, 0]);
    answer(0);
    // The last of the old requests ends after the recovery.
    if (last !== undefined) health.failed(last, LATE);
    expect([new Set(states()), order().length]).toEqual([new Set(['closed']), urls]);
  },
);

describe('silence', () => {
  test.each<readonly [string, HttpRequest]>([
    ['an endpoint', REQUEST],
    ['a node', OF_NODE_3],
  ])('to %s is that of the URL when nothing arrived from it, and another one works', (...row) => {
    const { silence, states, order, pausedMs } = create(2);
    expect(silence(0, row[1])).toBe(true);
    // It was open from the start of the request on, for less than the wait.
    expect([states(), pausedMs(row[1])]).toEqual([['half_open', 'closed'], 0]);
    expect(order({ ...OF_NODE_4, firstUrl: 0 })).toBe('ba');
  });

  test('to an endpoint is its own when anything arrived from the URL meanwhile', () => {
    const { silence, states, order } = create(2);
    expect(silence(0, REQUEST, { others: true })).toBe(false);
    expect(states()).toEqual(['closed', 'closed']);
    expect([order(), order(USERS)]).toEqual(['ba', 'ab']);
  });

  test('never takes the last URL out of use', () => {
    const { silence, states } = create(2);
    expect([silence(0), silence(1), silence(1, USERS)]).toEqual([true, false, false]);
    expect(states()).toEqual(['half_open', 'closed']);
    const alone = create(1);
    expect([alone.silence(0), alone.silence(0, OF_NODE_3)]).toEqual([false, false]);
    expect(alone.states()).toEqual(['closed']);
  });

  test.each([
    [4_999, 'closed', REQUEST],
    [5_000, 'half_open', REQUEST],
    [60_000, 'closed', OF_NODE_3],
  ] as const)('that the end of a poll cut to %i ms leaves the URL %s', (ms, state, request) => {
    const { silence, states, clock } = create(2);
    silence(0, over(request), { ms });
    clock.now += 10_000;
    expect(states()).toEqual([state, 'closed']);
  });
});

describe('the silence of a node', () => {
  test('is followed by a pause of ten times the wait with a duty of 0.1, for this node alone', () => {
    const world = create(1);
    const left = (): readonly number[] =>
      [OF_NODE_3, OF_NODE_4, REQUEST].map((request) => world.pausedMs(request));
    expect(world.silence(0, OF_NODE_3, { ms: 1_000, others: true })).toBe(false);
    expect(left()).toEqual([10_000, 0, 0]);
    world.clock.now += 9_999;
    expect(left()).toEqual([1, 0, 0]);
    world.clock.now += 1;
    // The trial keeps others away until there is a response.
    world.health.begin(world.upstream(0), OF_NODE_3);
    expect(left()).toEqual([5_000, 0, 0]);
    world.answer(0, OF_NODE_3);
    expect(left()).toEqual([0, 0, 0]);
  });

  test('is followed by a pause that a round which had begun does not shorten, and only an answer ends', () => {
    const world = create(3);
    const begun = world.health.begin(world.upstream(0), OF_NODE_3);
    world.silence(2, OF_NODE_3, { ms: 20_000, others: true });
    const left = world.pausedMs(OF_NODE_3);
    expect(left).toBe(200_000);
    world.health.failed({ ...begun, code: 500 }, status(500));
    // It goes on to the next URL.
    world.fail(1, status(500), OF_NODE_3);
    expect(world.pausedMs(OF_NODE_3)).toBe(left - 60);
    world.answer(2, OF_NODE_3);
    expect(world.pausedMs(OF_NODE_3)).toBe(0);
  });

  test('is followed by a pause of at most five minutes', () => {
    const world = create(1);
    world.silence(0, OF_NODE_3, { ms: 120_000, others: true });
    expect(world.pausedMs(OF_NODE_3)).toBe(300_000);
  });

  test('counts as long as the poll lasted', () => {
    const world = create(2);
    world.silence(0, over(OF_NODE_3), { ms: 2_000, others: true });
    expect(world.pausedMs(OF_NODE_3)).toBe(20_000);
  });

  test('is not the node’s as long as the only URL responds to nothing', () => {
    const { pausedMs, silence } = create(1);
    for (const request of [OF_NODE_3, OF_NODE_4]) silence(0, request);
    expect([pausedMs(OF_NODE_3), pausedMs(OF_NODE_4)]).toEqual([0, 0]);
  });

  test('is also a 504 of its gateway, and headers without a body', () => {
    const { pausedMs, fail, answer, clock } = create(1);
    expect(fail(0, status(504, undefined, 3), OF_NODE_3, 504)).toBe(false);
    // It was waited for 60 ms.
    expect(pausedMs(OF_NODE_3)).toBe(600);
    clock.now += 600;
    answer(0, OF_NODE_3);
    expect(fail(0, LATE, OF_NODE_3, 200)).toBe(false);
    expect(pausedMs(OF_NODE_3)).toBe(600);
  });

  test('is not a body that was arriving when the poll was over', () => {
    const { pausedMs, fail } = create(1);
    fail(0, LATE, over(OF_NODE_3), 200);
    expect(pausedMs(OF_NODE_3)).toBe(0);
  });
});

test('of many nodes that come and go some are forgotten, those that are asked are not', () => {
  const { clock, health, fail, pausedMs, silence } = create(2);
  const last = { ...REQUEST, node: 1 };
  for (let hour = 0; hour < 1_100; hour += 1) {
    clock.now += 3_600_000;
    for (let node = 10 * hour; node < 10 * hour + 10; node += 1) {
      fail(0, failure('ECONNRESET'), { ...REQUEST, node: 100 + node });
    }
    silence(1, last, { others: true });
    expect(pausedMs(last)).toBe(300_000);
  }
  expect(health.nodes).toBe(10_000);
});
