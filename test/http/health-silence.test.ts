import { afterEach, describe, expect, test, vi } from 'vitest';
import { create, LATE, OF_NODE_3, OF_NODE_4, REQUEST, status, USERS } from './clocked.ts';

afterEach(() => void vi.restoreAllMocks());

/** A request whose poll is over. */
const OVER = { ...REQUEST, stats: { ...REQUEST.stats, signal: AbortSignal.abort() } };

describe('the silence of an endpoint', () => {
  test('is the failure of the URL from the second endpoint on', () => {
    const { silence, states, upstream } = create(1);
    for (let times = 0; times < 2; times += 1) expect(silence(0)).toBe(false);
    expect(states()).toEqual(['closed']);
    expect(silence(0, USERS)).toBe(false);
    expect(states()).toEqual(['open']);
    expect(upstream(0).lastFailure).toBe(LATE);
    expect(upstream(0).endpoint('nodes').breaker.state).toBe('closed');
  });

  test('keeps the endpoint alone from the third time on', () => {
    const { silence, upstream, answer } = create(1);
    for (let times = 0; times < 3; times += 1) {
      expect(upstream(0).endpoint('nodes').breaker.state).toBe('closed');
      silence(0);
      answer(0, USERS);
    }
    expect(upstream(0).endpoint('nodes').breaker.state).toBe('open');
    expect(upstream(0).breaker.state).toBe('closed');
  });

  test.each([
    ['none', 2, 'none', true],
    ['an answer of this URL', 2, 'this', false],
    ['an answer of the other URL', 2, 'other', true],
  ] as const)(
    'at one of several URLs is a reason to ask the next one, and to read no nodes there, with %s meanwhile',
    (_what, urls, answering, isUrl) => {
      const { health, upstream, clock, answer, order } = create(urls);
      const attempt = health.begin(upstream(0), REQUEST);
      clock.now += 500;
      if (answering !== 'none') answer(answering === 'this' ? 0 : 1, USERS);
      clock.now += 500;
      expect(health.failed(attempt, LATE)).toBe(isUrl);
      expect([order(), order(USERS)]).toEqual(['ba', 'ab']);
      // It took a second or a little more, which is a tenth of the time that it is avoided.
      expect(order(OF_NODE_3)).toBe(isUrl ? 'ba' : 'ab');
      clock.now += 9_999;
      expect(order(OF_NODE_3)).toBe(isUrl ? 'ba' : 'ab');
      clock.now += 101;
      expect(order(OF_NODE_3)).toBe('ab');
    },
  );

  test.each([
    [49, false],
    [50, true],
  ])('in a poll that was over after %i of 100 ms proves something: %s', (waitedMs, isProof) => {
    const { silence, deadline, order, upstream } = create(2);
    expect(silence(0, OVER, waitedMs)).toBe(isProof);
    expect(deadline(0)).toBe(isProof ? 100 : 1_000);
    expect(order(OF_NODE_3)).toBe(isProof ? 'ba' : 'ab');
    // The next request begins elsewhere anyway.
    expect(order()).toBe('ba');
    expect(upstream(0).lastFailure).toBe(LATE);
  });

  test('of a probe is always a reason to ask the next URL', () => {
    const { silence, upstream, clock, states } = create(2);
    upstream(0).breaker.open(clock.now - 10_000);
    expect(silence(0, OF_NODE_3)).toBe(true);
    expect(states()).toEqual(['half_open', 'closed']);
    expect(silence(1, OF_NODE_3)).toBe(false);
  });

  test('is none once there were headers', () => {
    const { fail, deadline } = create(1);
    fail(0, LATE, REQUEST, 200);
    expect(deadline(0)).toBe(1_000);
  });

  test('ends with headers: the next deadline is the full one', () => {
    const { silence, deadline, answer } = create(1);
    silence(0);
    answer(0);
    expect(deadline(0)).toBe(1_000);
  });
});

describe('the silence of a node', () => {
  test('costs nothing the first time, and from then on ten times what was waited, in all', () => {
    const { health, silence, answer, clock } = create(1);
    const left = (): readonly number[] =>
      [OF_NODE_3, OF_NODE_4, REQUEST].map((request) => health.silentNodeMs(request));
    answer(0);
    expect(silence(0, OF_NODE_3, 1_000)).toBe(false);
    expect(left()).toEqual([0, 0, 0]);
    answer(0);
    silence(0, OF_NODE_3, 500);
    expect(left()).toEqual([15_000, 0, 0]);
    clock.now += 14_999;
    expect(left()).toEqual([1, 0, 0]);
    clock.now += 2;
    expect(left()).toEqual([0, 0, 0]);
    answer(0);
    silence(0, OF_NODE_3, 500);
    expect(left()).toEqual([5_000, 0, 0]);
    answer(0, OF_NODE_3);
    expect(left()).toEqual([0, 0, 0]);
  });

  test('is followed by a pause of at most five minutes', () => {
    const { health, silence, answer } = create(1);
    for (let times = 0; times < 2; times += 1) {
      answer(0);
      silence(0, OF_NODE_3, 120_000);
    }
    expect(health.silentNodeMs(OF_NODE_3)).toBe(300_000);
  });

  test('is not the node’s as long as the URL answers nothing else', () => {
    const { health, silence, states } = create(1);
    for (let times = 0; times < 3; times += 1) silence(0, OF_NODE_3);
    expect(health.silentNodeMs(OF_NODE_3)).toBe(0);
    expect(states()).toEqual(['closed']);
  });

  test.each([
    ['nothing', undefined, 0],
    ['this URL', 0, 0],
    ['another URL', 1, 9_900],
  ])('keeps other nodes from the URL when %s answers meanwhile: %j, for %i ms', (_what, at, ms) => {
    const { health, upstream, clock, answer, order } = create(2);
    const attempt = health.begin(upstream(0), OF_NODE_3);
    clock.now += 500;
    if (at !== undefined) answer(at);
    clock.now = attempt.sentAtMs + 990;
    health.failed(attempt, LATE);
    expect([order(OF_NODE_3), order(OF_NODE_4)]).toEqual(['ba', ms === 0 ? 'ab' : 'ba']);
    clock.now += Math.max(0, ms - 1);
    expect(order(OF_NODE_4)).toBe(ms === 0 ? 'ab' : 'ba');
    clock.now += 1;
    expect(order(OF_NODE_4)).toBe('ab');
  });

  test('is also a 504 of its gateway, and headers without a body', () => {
    const { health, fail, answer } = create(2);
    answer(0);
    expect(fail(0, status(504), OF_NODE_3, 504)).toBe(false);
    answer(0);
    expect(fail(0, LATE, OF_NODE_3, 200)).toBe(false);
    // 60 ms each.
    expect(health.silentNodeMs(OF_NODE_3)).toBe(1_200);
  });

  test('is not a body that was arriving when the poll was over', () => {
    const { health, fail, answer } = create(1);
    for (let times = 0; times < 2; times += 1) {
      answer(0);
      fail(0, LATE, { ...OVER, endpoint: 'node_ranges', node: 3 }, 200);
    }
    expect(health.silentNodeMs(OF_NODE_3)).toBe(0);
  });

  test('is not a 502, which the gateway may know better at another URL', () => {
    const { health, fail, order } = create(2);
    expect(fail(0, status(502), OF_NODE_3, 502)).toBe(true);
    expect(health.silentNodeMs(OF_NODE_3)).toBe(0);
    expect(order(OF_NODE_3)).toBe('ba');
  });

  test('of which another URL knows an answer is the URL’s', () => {
    const { health, upstream, clock, answer, order, states, silence } = create(3);
    for (const node of [OF_NODE_3, OF_NODE_4]) {
      const attempt = health.begin(upstream(0), node);
      clock.now += 500;
      answer(1);
      clock.now += 490;
      expect(health.failed(attempt, LATE)).toBe(false);
      expect([order(node), order(OF_NODE_4)]).toEqual(['bca', 'bca']);
      answer(1, node);
    }
    expect(states()).toEqual(['open', 'closed', 'closed']);
    expect(upstream(0).breaker.probeAtMs).toBe(clock.now + 10_000);
    expect(silence(1, OF_NODE_3)).toBe(false);
  });

  test('that answers where it was silent is nobody’s', () => {
    const { health, upstream, clock, answer, states } = create(2);
    for (const node of [OF_NODE_3, OF_NODE_4]) {
      const attempt = health.begin(upstream(0), node);
      clock.now += 500;
      answer(1);
      health.failed(attempt, LATE);
      answer(0, node);
    }
    expect(states()).toEqual(['closed', 'closed']);
  });

  test('at a second URL, too, ends that the first one is avoided', () => {
    const { health, upstream, clock, answer, order, silence } = create(2);
    const attempt = health.begin(upstream(0), OF_NODE_3);
    clock.now += 500;
    answer(1);
    health.failed(attempt, LATE);
    expect(order(OF_NODE_4)).toBe('ba');
    clock.now += 1;
    answer(1);
    silence(1, OF_NODE_3, 100);
    expect(health.silentNodeMs(OF_NODE_3)).toBe(6_100);
    expect(order(OF_NODE_4)).toBe('ab');
  });
});
