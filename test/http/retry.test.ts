import { describe, expect, test } from 'vitest';
import { RequestError, statusError, toRequestError } from '../../src/http/errors.ts';
import type { HttpRequest } from '../../src/http/request.ts';
import { planRetry, RetryAfterPauses, RetryBudget } from '../../src/http/retry.ts';
import { REQUEST } from './clocked.ts';

const OF_NODE = { ...REQUEST, node: 3 };
const RESET = toRequestError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'nodes');
const REFUSED = toRequestError(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), 'nodes');
const LATE = new RequestError('timeout', 'late');

function answer(status: number, retryAfterSeconds?: number): RequestError {
  return statusError(status, 'nodes', { retryAfterSeconds });
}

describe('a retry', () => {
  test.each<readonly [string, RequestError, HttpRequest, string | undefined]>([
    ['a 429', answer(429), REQUEST, 'throttled'],
    ['a 429 for a node', answer(429), OF_NODE, 'throttled'],
    ...[502, 503, 504].map((status) => [`a ${status}`, answer(status), REQUEST, 'http'] as const),
    ['a 502 for a node', answer(502), OF_NODE, 'http'],
    ['a 504 for a node', answer(504), OF_NODE, undefined],
    ['a 504 for node 0', answer(504), { ...REQUEST, node: 0 }, undefined],
    ['a reset connection', RESET, REQUEST, 'network'],
    ['a refused connection', REFUSED, REQUEST, 'network'],
    ['a deadline', LATE, REQUEST, undefined],
    ['an answer nobody can read', new RequestError('decode', 'x'), REQUEST, undefined],
    ...[301, 400, 401, 403, 404, 500, 501, 505].map(
      (status) => [`a ${status}`, answer(status), REQUEST, undefined] as const,
    ),
    ['a 503 to a write', answer(503), { ...REQUEST, method: 'POST' }, undefined],
    ['a 429 to a write', answer(429), { ...REQUEST, method: 'DELETE' }, undefined],
  ])('after %s', (_what, error, request, reason) => {
    expect(planRetry(error, request, 0, () => 0)?.reason).toBe(reason);
  });

  test.each([
    [0, 1, 0, 200],
    [0, 0.5, 0, 100],
    [1, 1, 0, 400],
    [2, 1, 0, 800],
    [2, 0.25, 0, 200],
    [0, 1, 0.1, 200],
    [0, 1, 0.3, 300],
    [0, 0, 5, 5_000],
    [0, 0, 5.001, undefined],
  ])(
    'number %i with the random number %d and Retry-After %d waits %j ms',
    (retries, random, retryAfter, waitMs) => {
      const plan = planRetry(answer(503, retryAfter), REQUEST, retries, () => random);
      expect(plan).toEqual(waitMs === undefined ? undefined : { reason: 'http', waitMs });
    },
  );

  test('without Retry-After waits as long as chance wants', () => {
    expect(planRetry(RESET, REQUEST, 0, () => 0)).toEqual({ reason: 'network', waitMs: 0 });
  });
});

test('a budget allows five retries at first, then one in ten requests, and ten at most', () => {
  const budget = new RetryBudget();
  const spend = (): number => {
    const tries = Array.from({ length: 20 }, () => budget.withdraw());
    return tries.filter((isAllowed) => isAllowed).length;
  };
  const save = (requests: number): number => {
    for (let request = 0; request < requests; request += 1) budget.deposit();
    return spend();
  };
  expect([spend(), save(9), save(2), save(1_000), save(1)]).toEqual([5, 0, 1, 10, 0]);
});

/** With a clock that the test sets. */
function pausing() {
  const clock = { now: 0 };
  const pauses = new RetryAfterPauses(() => clock.now);
  return { clock, pauses };
}

describe('a pause', () => {
  test.each<readonly [number, number, number]>([
    [429, 30_000, 0],
    ...[200, 301, 400, 500, 502, 503, 504].map((status) => [status, 0, 30_000] as const),
    ...[401, 403, 404, 501].map((status) => [status, 0, 0] as const),
  ])(
    'after a %i is for the whole API: %i ms, for what was requested: %i ms',
    (status, all, one) => {
      const { pauses } = pausing();
      pauses.record('users', answer(status, 30));
      expect([pauses.leftMs(), pauses.leftMs('users'), pauses.leftMs('nodes')]).toEqual([
        all,
        one,
        0,
      ]);
    },
  );

  test.each([
    [undefined, 0],
    [0, 0],
    [1.5, 1_500],
    [900, 900_000],
    [901, 900_000],
  ])('of %j seconds lasts %i ms, and is over then', (seconds, ms) => {
    const { clock, pauses } = pausing();
    clock.now = 10;
    pauses.record('users', answer(429, seconds));
    expect(pauses.leftMs()).toBe(ms);
    clock.now += ms + 1;
    expect(pauses.leftMs()).toBe(0);
  });

  test('is not shortened, until all are ended', () => {
    const { clock, pauses } = pausing();
    pauses.record('users', answer(503, 20));
    pauses.record('users', answer(503, 10));
    expect(pauses.leftMs('users')).toBe(20_000);
    clock.now = 15_000;
    pauses.record('users', answer(503, 10));
    expect(pauses.leftMs('users')).toBe(10_000);
    pauses.end();
    expect(pauses.leftMs('users')).toBe(0);
  });

  test.each(['users', 'nodes'])('of more than five seconds fails what waits (%s)', async (name) => {
    const { clock, pauses } = pausing();
    const [first, second] = [answer(429, 5.001), answer(429, 5.001)];
    pauses.record('users', first);
    const waiting = (): Promise<unknown> =>
      pauses.wait(name, AbortSignal.abort(), 'waiting').catch((error: unknown) => error);
    expect(await waiting()).toBe(first);
    pauses.record('users', second);
    expect(await waiting()).toBe(second);
    // Now it is short enough to be waited for.
    clock.now = 1;
    expect(await waiting()).toMatchObject({ message: expect.stringMatching(/^waiting: /) });
    clock.now = 5_001;
    expect(await waiting()).toBeUndefined();
  });

  test('of one node holds nothing else up', async () => {
    const { pauses } = pausing();
    pauses.record('node 3', answer(503, 60));
    const signal = AbortSignal.abort();
    await expect(pauses.wait('node 3', signal, 'waiting')).rejects.toMatchObject({ status: 503 });
    await expect(pauses.wait('node 4', signal, 'waiting')).resolves.toBeUndefined();
  });

  test('that is short is waited out', async () => {
    const { pauses } = pausing();
    pauses.record('users', answer(429, 0.001));
    await expect(pauses.wait('users', REQUEST.stats.signal, 'waiting')).resolves.toBeUndefined();
  });
});
