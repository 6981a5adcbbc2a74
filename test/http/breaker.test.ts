import { describe, expect, test } from 'vitest';
import { Breaker } from '../../src/http/breaker.ts';
import type { Endpoint } from '../../src/vocabulary.ts';

function create(now = 0) {
  const clock = { now };
  const breaker = new Breaker(3, { breakerOpenMs: 1_000, monotonicMs: () => clock.now });
  return {
    breaker,
    /** What it says at that time. */
    at: (time: number, endpoint: Endpoint = 'nodes'): readonly unknown[] => {
      clock.now = time;
      return [breaker.state, breaker.trialAtMs, breaker.allows(endpoint)];
    },
  };
}

const CLOSED = ['closed', 0, true];

describe('a breaker', () => {
  test('is open from its last allowed failure on, counted from the start of that request', () => {
    const { breaker, at } = create();
    breaker.startTrial('users');
    for (const sentAtMs of [7, 8]) {
      breaker.failed(sentAtMs);
      expect(at(10)).toEqual(CLOSED);
      expect(at(10, 'users')).toEqual(CLOSED);
    }
    breaker.failed(9);
    expect(at(10)).toEqual(['open', 1_009, false]);
    expect(at(1_008)).toEqual(['open', 1_009, false]);
    expect(at(1_009)).toEqual(['half_open', 1_009, true]);
    expect(at(1_009, 'users')).toEqual(['half_open', 1_009, false]);
  });

  test('is opened again by one failure, and closed by one success', () => {
    const { breaker, at } = create();
    for (let sentAtMs = 0; sentAtMs < 3; sentAtMs += 1) breaker.failed(sentAtMs);
    breaker.failed(1_002);
    expect(at(1_500)).toEqual(['open', 2_002, false]);
    breaker.succeeded();
    expect(at(1_500)).toEqual(CLOSED);
    for (let failures = 0; failures < 2; failures += 1) breaker.failed(1_500);
    expect(at(1_500)).toEqual(CLOSED);
    breaker.failed(1_500);
    expect(at(1_500)).toEqual(['open', 2_500, false]);
  });

  test('can be opened at once, for no shorter time than before', () => {
    const { breaker, at } = create();
    breaker.open(0);
    expect(at(0)).toEqual(['open', 1_000, false]);
    breaker.open(500);
    breaker.open(400);
    expect(at(600)).toEqual(['open', 1_500, false]);
    breaker.failed(1_500);
    expect(at(1_500)).toEqual(['open', 2_500, false]);
  });
});

test('the end of a trial is known to all who wait for it, until the next one starts', async () => {
  const { breaker } = create();
  breaker.endTrial('nodes');
  expect(breaker.trialEnded('nodes')).toBeUndefined();
  breaker.startTrial('nodes');
  const ended = breaker.trialEnded('nodes');
  const first = Promise.race([ended?.then(() => 'ended'), Promise.resolve('running')]);
  expect(await first).toBe('running');
  breaker.endTrial('nodes');
  await ended;
  expect(breaker.trialEnded('nodes')).toBeUndefined();
});
