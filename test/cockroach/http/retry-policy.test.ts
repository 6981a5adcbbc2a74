import { describe, expect, test } from 'vitest';
import { RequestError, statusError, toRequestError } from '../../../src/cockroach/http/errors.ts';
import type { HttpRequest } from '../../../src/cockroach/http/request.ts';
import { backoffMs, RetryBudget, retryReason } from '../../../src/cockroach/http/retry-policy.ts';
import { REQUEST } from './clocked.ts';

const OF_NODE = { ...REQUEST, node: 3 };
const RESET = toRequestError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'nodes');
const REFUSED = toRequestError(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }), 'nodes');
const LATE = new RequestError('timeout', 'late', { late: 'headers' });

function answer(status: number, node?: number): RequestError {
  return statusError(status, 'nodes', { node });
}

describe('a retry', () => {
  test.each<readonly [string, RequestError, HttpRequest, string | undefined]>([
    ['a 429', answer(429), REQUEST, 'throttled'],
    ['a 429 for a node', answer(429, 3), OF_NODE, 'throttled'],
    ...[502, 503, 504].map((status) => [`a ${status}`, answer(status), REQUEST, 'http'] as const),
    ['a 502 for a node', answer(502, 3), OF_NODE, 'http'],
    ['a 504 for a node', answer(504, 3), OF_NODE, undefined],
    ['a 504 for node 0', answer(504, 0), { ...REQUEST, node: 0 }, undefined],
    ['a reset connection', RESET, REQUEST, 'network'],
    ['a refused connection', REFUSED, REQUEST, 'network'],
    ['a deadline', LATE, REQUEST, undefined],
    ['an answer nobody can read', new RequestError('decode', 'x'), REQUEST, undefined],
    ...[301, 400, 401, 403, 404, 500, 501, 505].map(
      (status) => [`a ${status}`, answer(status), REQUEST, undefined] as const,
    ),
    ['a 503 to a write', answer(503), { ...REQUEST, method: 'POST' }, undefined],
    ['a reset connection of a write', RESET, { ...REQUEST, method: 'POST' }, undefined],
    ['a 429 to a write', answer(429), { ...REQUEST, method: 'DELETE' }, 'throttled'],
    ['a write without a connection', REFUSED, { ...REQUEST, method: 'PATCH' }, 'network'],
  ])('after %s', (_what, error, request, reason) => {
    expect(retryReason(error, request)).toBe(reason);
  });

  test.each([
    [0, 0, 0],
    [0, 0.5, 100],
    [0, 1, 200],
    [1, 1, 400],
    [2, 0.25, 200],
  ])('number %i with the random number %d waits %d ms', (retries, random, waitMs) => {
    expect(backoffMs(retries, () => random)).toBe(waitMs);
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
