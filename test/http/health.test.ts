import { describe, expect, test } from 'vitest';
import type { RequestError } from '../../src/http/errors.ts';
import { Health } from '../../src/http/health.ts';
import type { HttpRequest } from '../../src/http/request.ts';
import {
  create,
  endingIn,
  failure,
  LATE,
  OF_NODE_3,
  OF_NODE_4,
  REQUEST,
  status,
  USERS,
} from './clocked.ts';

const TABLE: HttpRequest = { ...REQUEST, endpoint: 'table', isPart: true };
/** A request whose poll is over. */
const OVER = { ...REQUEST, stats: { ...REQUEST.stats, signal: AbortSignal.abort() } };

test.each([
  ['http://a/path', 'a:80'],
  ['https://a', 'a:443'],
  ['https://a:8080/', 'a:8080'],
  ['https://[::1]', '[::1]:443'],
])('the URL %s is named %s', (url, name) => {
  const options = { breakerOpenMs: 1, maxDuty: 1, monotonicMs: () => 0 };
  const deadlines = { headersMs: 1, headersAfterSilenceMs: 1 };
  expect(new Health([url], { ...options, deadlines }).upstreams[0]?.name).toBe(name);
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
    fail(1, status(503));
    expect(order()).toBe('cab');
    answer(0);
    expect(order()).toBe('acb');
  });

  test('ends with those that are open, and begins with a half-open one, but for nodes and tables', () => {
    const { order, upstream, clock } = create(3);
    upstream(1).breaker.open(clock.now);
    const orders = () => [OF_NODE_3, TABLE, USERS].map((request) => order(request));
    expect(orders()).toEqual(['acb', 'acb', 'acb']);
    clock.now += 10_000;
    expect(orders()).toEqual(['acb', 'acb', 'bac']);
  });
});

describe('a breaker', () => {
  test('is open for its time from the start of the request that opened it, and then half open', () => {
    const { health, upstream, clock, silence, answer } = create(1);
    expect(health.tryAcquire(upstream(0), REQUEST)).toBe(true);
    // The failure of an earlier request may come later.
    for (const agoMs of [4_000, 5_000]) upstream(0).breaker.open(clock.now - agoMs);
    expect(health.tryAcquire(upstream(0), REQUEST)).toBe(false);
    expect([health.failedMs(), health.blockedMs(REQUEST)]).toEqual([6_000, 6_000]);
    clock.now += 6_000;
    expect(upstream(0).breaker.state).toBe('half_open');
    const tries = [REQUEST, USERS].map((request) => health.tryAcquire(upstream(0), request));
    expect(tries).toEqual([true, true]);
    // One endpoint may be silent for reasons of its own, the second one opens the URL again.
    silence(0);
    expect(upstream(0).breaker.state).toBe('half_open');
    silence(0, USERS);
    expect([upstream(0).breaker.state, health.failedMs()]).toEqual(['open', 9_000]);
    answer(0);
    expect(upstream(0).breaker.state).toBe('closed');
  });

  test('blocks for the shortest time of all URLs, at each for the longer one of the URL and the endpoint', () => {
    const { health, upstream, clock } = create(2);
    upstream(0).breaker.open(clock.now - 1_000);
    expect(health.failedMs()).toBe(0);
    upstream(1).breaker.open(clock.now - 4_000);
    expect([health.failedMs(), health.blockedMs(REQUEST)]).toEqual([6_000, 6_000]);
    health.begin(upstream(1), REQUEST).endpoint.breaker.open(clock.now - 2_000);
    expect([health.blockedMs(REQUEST), health.blockedMs(USERS)]).toEqual([8_000, 6_000]);
    for (const [request, ms] of [
      [REQUEST, 3_000],
      [USERS, 2_000],
    ] as const) {
      health.begin(upstream(1), request).endpoint.breaker.startPause(LATE, ms);
    }
    expect(health.pauseOf()?.untilMs).toBe(clock.now + 3_000);
  });

  test.each<readonly [string, RequestError, number | 'error', string, string]>([
    ['a 503', status(503), 503, 'closed', 'open'],
    ['a reset connection', failure('ECONNRESET'), 'error', 'closed', 'open'],
    ['a connection that ends early', failure('ECONNRESET'), 200, 'closed', 'open'],
    ['a stall', LATE, 200, 'closed', 'open'],
    ['a refused connection', failure('ECONNREFUSED'), 'error', 'open', 'closed'],
    ['a bad certificate', failure('CERT_HAS_EXPIRED'), 'error', 'open', 'closed'],
    ['no connection in time', failure('ETIMEDOUT'), 'error', 'open', 'closed'],
    ['too many headers', failure('UND_ERR_HEADERS_OVERFLOW'), 'error', 'closed', 'closed'],
    ['a 500', status(500), 500, 'closed', 'closed'],
    ['a 403', status(403), 403, 'closed', 'closed'],
  ])('of the URL and of the endpoint are, after three times %s: %3$s and %4$s', (...row) => {
    const [, error, code, url, endpoint] = row;
    const { fail, upstream, health } = create(1);
    for (let times = 0; times < 3; times += 1) {
      expect(upstream(0).breaker.state).toBe('closed');
      expect(fail(0, error, REQUEST, code)).toBe(false);
    }
    expect(upstream(0).breaker.state).toBe(url);
    expect(health.begin(upstream(0), REQUEST).endpoint.breaker.state).toBe(endpoint);
    expect(upstream(0).lastFailure).toBe(error.scope === 'none' ? undefined : error);
    expect(health.tryAcquire(upstream(0), USERS)).toBe(url === 'closed');
  });
});

describe('the deadline for headers', () => {
  test('is short after silence and full in every third request, until there is a response', () => {
    const { deadline, silence, answer } = create(1);
    const deadlines = Array.from({ length: 7 }, () => {
      const before = deadline(0);
      silence(0);
      answer(0, USERS);
      return before;
    });
    expect(deadlines).toEqual([1_000, 100, 1_000, 100, 100, 1_000, 100]);
    answer(0);
    expect(deadline(0)).toBe(1_000);
  });

  test('is short for the trial of a URL', () => {
    const { deadline, upstream, clock } = create(1);
    upstream(0).breaker.open(clock.now - 10_000);
    expect(deadline(0, USERS)).toBe(100);
  });

  test('is the full one for a node that has never responded, then twice the time of its last response', () => {
    const { deadline, silence, health, upstream, clock } = create(1);
    silence(0, OF_NODE_3);
    expect(deadline(0, OF_NODE_3)).toBe(1_000);
    const attempt = health.begin(upstream(0), OF_NODE_3);
    clock.now += 300;
    attempt.onHeaders();
    silence(0, OF_NODE_3);
    expect(deadline(0, OF_NODE_3)).toBe(600);
  });

  test.each([
    [1_100, 1_000, 100],
    [1_099, 999, 100],
    [201, 101, 100],
    [100, 50, 50],
    [-50, 1, 1],
  ])(
    'with another URL and %d ms left is %d ms, for a trial %d ms, for a node the full one',
    (leftMs, expected, trial) => {
      const { deadline, upstream, clock } = create(2);
      const request = endingIn(leftMs, clock);
      expect([deadline(0, request), deadline(0, endingIn(leftMs, clock, OF_NODE_3))]).toEqual([
        expected,
        1_000,
      ]);
      upstream(1).breaker.open(clock.now - 10_000);
      expect(deadline(1, request)).toBe(trial);
    },
  );
});

describe('the silence of an endpoint', () => {
  test('is that of the URL from the second endpoint on, if nothing arrived in between', () => {
    const { silence, states, answer } = create(1);
    expect([silence(0), silence(0)]).toEqual([true, true]);
    expect(states()).toEqual(['closed']);
    answer(0, { ...REQUEST, endpoint: 'sessions' });
    silence(0, USERS);
    expect(states()).toEqual(['closed']);
    expect(silence(0, { ...REQUEST, endpoint: 'table' })).toBe(true);
    expect(states()).toEqual(['open']);
  });

  test('keeps the endpoint alone when the URL responded to others in the second half of the wait', () => {
    const { health, upstream, clock, answer, states, order } = create(2);
    for (const request of [REQUEST, { ...REQUEST, endpoint: 'sessions' } as const]) {
      const attempt = health.begin(upstream(0), request);
      clock.now += 600;
      answer(0, USERS);
      clock.now += 400;
      expect(health.failed(attempt, LATE)).toBe(false);
    }
    expect(states()).toEqual(['closed', 'closed']);
    expect([order(), order(USERS)]).toEqual(['ba', 'ab']);
  });

  test('of tables does not keep other tables from being read', () => {
    const { silence, health, upstream } = create(1);
    for (let tables = 0; tables < 4; tables += 1) silence(0, TABLE);
    expect(health.tryAcquire(upstream(0), TABLE)).toBe(true);
  });

  test.each([
    [49, 'closed'],
    [50, 'open'],
  ])('of two nodes in a scan that was over after %i ms leaves the URL %s', (ms, state) => {
    const { silence, states } = create(2);
    for (const node of [3, 4]) silence(0, { ...OVER, endpoint: 'node_ranges', node }, ms);
    expect(states()).toEqual([state, 'closed']);
  });
});

type World = ReturnType<typeof create>;

/** A node is silent at this URL, which lists another node meanwhile. */
function frozen({ health, upstream, clock, answer }: World, at: number, ms: number) {
  const attempt = health.begin(upstream(at), OF_NODE_3);
  clock.now += ms - 10;
  answer(at, OF_NODE_4);
  return health.failed(attempt, LATE);
}

describe('the silence of a node', () => {
  test('is followed by a pause of ten times the wait with a duty of 0.1, for this node alone', () => {
    const world = create(1);
    const left = (): readonly number[] =>
      [OF_NODE_3, OF_NODE_4, REQUEST].map((request) => world.pausedMs(request));
    expect(frozen(world, 0, 1_000)).toBe(false);
    expect(left()).toEqual([10_000, 0, 0]);
    world.clock.now += 9_999;
    expect(left()).toEqual([1, 0, 0]);
    world.clock.now += 1;
    // The trial keeps others away until there is a response.
    expect(world.health.tryAcquire(world.upstream(0), OF_NODE_3)).toBe(true);
    expect(left()).toEqual([5_000, 0, 0]);
    world.answer(0, OF_NODE_3);
    expect(left()).toEqual([0, 0, 0]);
  });

  test('is followed by a pause of at most five minutes', () => {
    const world = create(1);
    frozen(world, 0, 120_000);
    expect(world.pausedMs(OF_NODE_3)).toBe(300_000);
  });

  test('is not the node’s as long as the only URL responds to nothing, nor is it the URL’s', () => {
    const { pausedMs, silence, states } = create(1);
    for (let times = 0; times < 2; times += 1) {
      for (const request of [OF_NODE_3, OF_NODE_4]) silence(0, request);
    }
    expect(pausedMs(OF_NODE_3)).toBe(0);
    expect(states()).toEqual(['closed']);
  });

  test('is also a 504 of its gateway, and headers without a body', () => {
    const { pausedMs, fail, answer } = create(1);
    expect(fail(0, status(504), OF_NODE_3, 504)).toBe(false);
    // It was waited for 60 ms.
    expect(pausedMs(OF_NODE_3)).toBe(600);
    answer(0, OF_NODE_3);
    expect(fail(0, LATE, OF_NODE_3, 200)).toBe(false);
    expect(pausedMs(OF_NODE_3)).toBe(600);
  });

  test('is not a body that was arriving when the poll was over', () => {
    const { pausedMs, fail } = create(1);
    fail(0, LATE, { ...OVER, endpoint: 'node_ranges', node: 3 }, 200);
    expect(pausedMs(OF_NODE_3)).toBe(0);
  });

  test('and of another one opens a URL of several that has responded to nothing', () => {
    const { silence, order, states } = create(3);
    expect(silence(0, OF_NODE_3)).toBe(false);
    expect(states()).toEqual(['closed', 'closed', 'closed']);
    silence(0, OF_NODE_4);
    expect(states()).toEqual(['open', 'closed', 'closed']);
    expect(order({ ...OF_NODE_3, node: 5 })).toBe('bca');
  });
});
