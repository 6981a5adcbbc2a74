import { describe, expect, test } from 'vitest';
import { create, LATE, OF_NODE_3, OF_NODE_4, REQUEST, status, USERS } from './clocked.ts';

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

  test('is not the URL’s when the URL has responded since', () => {
    const { silence, states, answer } = create(1);
    for (const request of [REQUEST, USERS]) {
      silence(0, request);
      answer(0, { ...REQUEST, endpoint: 'sessions' });
    }
    for (const request of [REQUEST, USERS]) silence(0, request);
    expect(states()).toEqual(['closed']);
  });

  test.each([
    ['nothing', 'none', true],
    ['this URL', 'this', false],
    ['the other URL', 'other', true],
  ] as const)(
    'at one of several URLs is a reason to try the next one when %s responds meanwhile (%s): %s',
    (_what, answering, isUrl) => {
      const { health, upstream, clock, answer, order } = create(2);
      const attempt = health.begin(upstream(0), REQUEST);
      clock.now += 500;
      if (answering !== 'none') answer(answering === 'this' ? 0 : 1, USERS);
      clock.now += 500;
      expect(health.failed(attempt, LATE)).toBe(isUrl);
      expect([order(), order(USERS)]).toEqual(['ba', 'ab']);
    },
  );

  test.each([
    [49, false],
    [50, true],
  ])('in a poll that was over after %i of 100 ms counts: %s', (waitedMs, isCounted) => {
    const { silence, deadline, order, upstream } = create(2);
    expect(silence(0, OVER, waitedMs)).toBe(isCounted);
    expect(deadline(0)).toBe(isCounted ? 100 : 1_000);
    // The next request begins elsewhere anyway.
    expect(order()).toBe('ba');
    expect(upstream(0).lastFailure).toBe(LATE);
  });

  test('of a trial is always a reason to try the next URL', () => {
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
      [OF_NODE_3, OF_NODE_4, REQUEST].map((request) => world.health.skippedMs(request));
    expect(frozen(world, 0, 1_000)).toBe(false);
    expect(left()).toEqual([10_000, 0, 0]);
    world.clock.now += 9_999;
    expect(left()).toEqual([1, 0, 0]);
    world.clock.now += 1;
    expect(left()).toEqual([0, 0, 0]);
    frozen(world, 0, 500);
    expect(left()).toEqual([5_000, 0, 0]);
    world.answer(0, OF_NODE_3);
    expect(left()).toEqual([0, 0, 0]);
  });

  test('is followed by a pause of at most five minutes', () => {
    const world = create(1);
    frozen(world, 0, 120_000);
    expect(world.health.skippedMs(OF_NODE_3)).toBe(300_000);
  });

  test('is not the node’s as long as the only URL responds to nothing, nor is it the URL’s', () => {
    const { health, silence, states } = create(1);
    for (let times = 0; times < 2; times += 1) {
      for (const request of [OF_NODE_3, OF_NODE_4]) silence(0, request);
    }
    expect(health.skippedMs(OF_NODE_3)).toBe(0);
    expect(states()).toEqual(['closed']);
  });

  test('is the node’s when the URL has responded since its first silence', () => {
    const { health, silence, answer } = create(1);
    silence(0, OF_NODE_3);
    answer(0);
    silence(0, OF_NODE_3, 500);
    expect(health.skippedMs(OF_NODE_3)).toBe(5_000);
  });

  test('is the node’s among several URLs when it is silent at the next one, too', () => {
    const world = create(2);
    frozen(world, 0, 1_000);
    expect([world.order(OF_NODE_3), world.order(OF_NODE_4)]).toEqual(['ba', 'ab']);
    expect(world.health.skippedMs(OF_NODE_3)).toBe(0);
    frozen(world, 1, 1_000);
    expect(world.health.skippedMs(OF_NODE_3)).toBe(10_000);
    expect(world.states()).toEqual(['closed', 'closed']);
  });

  test('is also a 504 of its gateway, and headers without a body', () => {
    const { health, fail, answer } = create(1);
    expect(fail(0, status(504), OF_NODE_3, 504)).toBe(false);
    // It was waited for 60 ms.
    expect(health.skippedMs(OF_NODE_3)).toBe(600);
    answer(0, OF_NODE_3);
    expect(fail(0, LATE, OF_NODE_3, 200)).toBe(false);
    expect(health.skippedMs(OF_NODE_3)).toBe(600);
  });

  test('is not a body that was arriving when the poll was over', () => {
    const { health, fail, answer } = create(1);
    answer(0);
    fail(0, LATE, { ...OVER, endpoint: 'node_ranges', node: 3 }, 200);
    expect(health.skippedMs(OF_NODE_3)).toBe(0);
  });

  test('is not a 502, which the gateway may know better at another URL', () => {
    const { health, fail, order } = create(2);
    expect(fail(0, status(502), OF_NODE_3, 502)).toBe(true);
    expect(health.skippedMs(OF_NODE_3)).toBe(0);
    expect(order(OF_NODE_3)).toBe('ba');
  });

  test('and of another one opens a URL of several that has responded to nothing', () => {
    const { silence, order, states, clock, upstream } = create(3);
    expect(silence(0, OF_NODE_3)).toBe(false);
    expect(states()).toEqual(['closed', 'closed', 'closed']);
    silence(0, OF_NODE_4);
    expect(states()).toEqual(['open', 'closed', 'closed']);
    expect(upstream(0).breaker.trialAtMs).toBe(clock.now + 9_000);
    expect(order({ ...OF_NODE_3, node: 5 })).toBe('bca');
  });
});
