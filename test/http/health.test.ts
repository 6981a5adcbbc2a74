import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/http/errors.ts';
import { create, endingIn, failure, LATE, OF_NODE_3, REQUEST, status, USERS } from './clocked.ts';

describe('the order of the URLs', () => {
  test.each([
    [undefined, 'abc'],
    [0, 'abc'],
    [1, 'bca'],
    [2, 'cab'],
    [3, 'abc'],
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

  test('ends with those that are open, for nodes', () => {
    const { order, upstream, clock } = create(3);
    upstream(1).breaker.open(clock.now);
    expect([order(OF_NODE_3), order(USERS)]).toEqual(['acb', 'acb']);
    clock.now += 10_000;
    // An endpoint finds out whether it works again.
    expect([order(OF_NODE_3), order(USERS)]).toEqual(['acb', 'bac']);
  });

  test('begins with those that are half open, but for nodes', () => {
    const { order, upstream, clock } = create(4);
    for (const at of [1, 3]) upstream(at).breaker.open(clock.now - 10_000);
    expect([order(USERS), order(OF_NODE_3)]).toEqual(['bdac', 'acbd']);
  });

  test('ends with those at which the endpoint is not tried', () => {
    const { order, fail } = create(2);
    for (let times = 0; times < 3; times += 1) fail(0, status(503));
    fail(1, status(503));
    expect([order(), order(USERS)]).toEqual(['ba', 'ab']);
  });
});

describe('a breaker', () => {
  test('lets no request through while it is open, and one trial when it is half open', () => {
    const { health, upstream, clock } = create(1);
    expect(health.tryAcquire(upstream(0), REQUEST)).toEqual([]);
    upstream(0).breaker.open(clock.now);
    expect(health.tryAcquire(upstream(0), REQUEST)).toBeUndefined();
    clock.now += 10_000;
    expect(health.runningTrials(REQUEST)).toEqual([]);
    expect(health.tryAcquire(upstream(0), REQUEST)).toEqual([upstream(0).breaker]);
    expect(health.tryAcquire(upstream(0), REQUEST)).toBeUndefined();
    expect(health.runningTrials(REQUEST)).toEqual([upstream(0).breaker.trialEnded('nodes')]);
    expect(health.runningTrials(USERS)).toEqual([]);
    expect(health.tryAcquire(upstream(0), USERS)).toHaveLength(1);
  });

  test('blocks nothing from the first moment on', () => {
    const { health, clock } = create(1);
    clock.now = 0;
    expect([health.blockedMs(), health.skippedMs(OF_NODE_3)]).toEqual([0, 0]);
  });

  test.each([
    [1, 'closed'],
    [2, 'open'],
  ])('of one of %i URLs that refuses a connection is %s', (urls, state) => {
    const { fail, states } = create(urls);
    fail(0, failure('ECONNREFUSED'));
    expect(states()[0]).toBe(state);
  });

  test('of an endpoint lets others through', () => {
    const { health, upstream, fail, clock } = create(1);
    for (let times = 0; times < 3; times += 1) fail(0, status(503));
    expect(health.tryAcquire(upstream(0), REQUEST)).toBeUndefined();
    expect(health.tryAcquire(upstream(0), USERS)).toEqual([]);
    clock.now += 10_000;
    expect(health.tryAcquire(upstream(0), REQUEST)).toEqual([
      upstream(0).endpoint('nodes').breaker,
    ]);
  });

  test('blocks for the shortest time of all URLs, at each for the longer one of the URL and the endpoint', () => {
    const { health, upstream, clock } = create(2);
    expect([health.blockedMs(), health.blockedMs(REQUEST)]).toEqual([0, 0]);
    upstream(0).breaker.open(clock.now - 1_000);
    expect(health.blockedMs()).toBe(0);
    upstream(1).breaker.open(clock.now - 4_000);
    expect(health.blockedMs()).toBe(6_000);
    upstream(1)
      .endpoint('nodes')
      .breaker.open(clock.now - 2_000);
    expect([health.blockedMs(REQUEST), health.blockedMs(USERS)]).toEqual([8_000, 6_000]);
    upstream(1).endpoint('nodes').breaker.open(clock.now);
    expect(health.blockedMs(REQUEST)).toBe(9_000);
    clock.now += 20_000;
    expect(health.blockedMs(REQUEST)).toBe(0);
  });

  test.each<readonly [string, RequestError, number | 'error', boolean, string, string]>([
    ['a 503', status(503), 503, true, 'closed', 'open'],
    ['a reset connection', failure('ECONNRESET'), 'error', true, 'closed', 'open'],
    ['a connection that ends early', failure('ECONNRESET'), 200, true, 'closed', 'open'],
    ['a stall', LATE, 200, false, 'closed', 'open'],
    ['a refused connection', failure('ECONNREFUSED'), 'error', true, 'open', 'closed'],
    ['a bad certificate', failure('CERT_HAS_EXPIRED'), 'error', true, 'open', 'closed'],
    ['no connection in time', failure('ETIMEDOUT'), 'error', true, 'open', 'closed'],
    ['too many headers', failure('UND_ERR_HEADERS_OVERFLOW'), 'error', false, 'closed', 'closed'],
    ['a 500', status(500), 500, false, 'closed', 'closed'],
    ['a 403', status(403), 403, false, 'closed', 'closed'],
  ])(
    'after three times %s: another URL may do better, the URL is, the endpoint is',
    (_what, error, code, isFailover, url, endpoint) => {
      const { fail, upstream, health, order } = create(1);
      for (let times = 0; times < 3; times += 1) {
        expect(fail(0, error, REQUEST, code)).toBe(isFailover);
      }
      expect(upstream(0).breaker.state).toBe(url);
      expect(upstream(0).endpoint('nodes').breaker.state).toBe(endpoint);
      expect(upstream(0).lastFailure).toBe(error.scope === 'none' ? undefined : error);
      expect(health.blockedMs(USERS)).toBe(url === 'open' ? 9_940 : 0);
      expect(order()).toBe('a');
    },
  );

  test.each<readonly [string, RequestError, number | 'error', string, string]>([
    ['a 500', status(500), 500, 'ba', 'closed'],
    ['an answer nobody can read', new RequestError('decode', 'x'), 200, 'ba', 'closed'],
    ['a 401', status(401), 401, 'ba', 'closed'],
    ['a 403', status(403), 403, 'ba', 'closed'],
    ['too many headers', failure('UND_ERR_HEADERS_OVERFLOW'), 'error', 'ba', 'open'],
  ])(
    'counts failures in a row: after two and %s the order is %4$s, after one more it is %5$s',
    (_what, error, code, next, state) => {
      const { fail, order, upstream } = create(2);
      for (let times = 0; times < 2; times += 1) fail(0, status(503));
      expect(fail(0, error, REQUEST, code)).toBe(false);
      expect(order()).toBe(next);
      fail(0, status(503));
      expect(upstream(0).endpoint('nodes').breaker.state).toBe(state);
    },
  );
});

describe('the deadline for headers', () => {
  test('with a single URL is that of the endpoint, and short for a trial', () => {
    const { deadline, silence, upstream, clock } = create(1);
    const soon = endingIn(500, clock);
    expect([deadline(0), deadline(0, soon)]).toEqual([1_000, 1_000]);
    silence(0);
    expect([deadline(0), deadline(0, USERS)]).toEqual([100, 1_000]);
    upstream(0).breaker.open(clock.now - 10_000);
    expect(deadline(0, USERS)).toBe(100);
  });

  test.each([
    [201, 101, 201],
    [200, 1_000, 1_000],
    [199, 1_000, 1_000],
    [1_100, 1_000, 1_000],
    [1_099, 999, 1_000],
    [500.4, 400, 1_000],
  ])('with another URL and %d ms left is %d ms, for a node %d ms', (leftMs, expected, ofNode) => {
    const { deadline, clock } = create(2);
    expect(deadline(0, endingIn(leftMs, clock))).toBe(expected);
    expect(deadline(0, endingIn(leftMs, clock, OF_NODE_3))).toBe(Math.max(ofNode, 1_000));
  });

  test.each([
    [undefined, 100],
    [1_000, 100],
    [300, 100],
    [200, 100],
    [100, 50],
    [97, 49],
    [1, 1],
    [-50, 1],
  ])('of a trial of one of several URLs with %j ms left is %d ms', (leftMs, expected) => {
    const { deadline, upstream, clock } = create(2);
    upstream(0).breaker.open(clock.now - 10_000);
    const request = leftMs === undefined ? REQUEST : endingIn(leftMs, clock);
    expect(deadline(0, request)).toBe(expected);
  });

  test('after silence is twice the time of the last answer', () => {
    const { deadline, upstream, health, clock, silence } = create(2);
    const attempt = health.begin(upstream(0), REQUEST);
    clock.now += 80;
    attempt.onHeaders();
    silence(0);
    expect(deadline(0)).toBe(160);
    // 2 × 160 ms must be left for the next URL to get its share.
    expect(deadline(0, endingIn(321, clock))).toBe(160);
  });
});
