import { expect, test } from 'vitest';
import { readSqlLoad } from '../../src/findings/sql-load.ts';
import { node, nodesResult } from '../web/status/results.ts';

function counted(
  id: number,
  updatedSeconds: number,
  statements: number,
  failures: number,
  more = {},
) {
  const metrics = new Map([
    ['sql.query.count', statements],
    ['sql.failure.count', failures],
    ['sql.service.latency-p99', id * 1e8],
  ]);
  return node(id, { updatedSeconds, metrics, ...more });
}

test('statements count over the time between two records', () => {
  const before = nodesResult(counted(1, 100, 1_000, 5), counted(2, 100, 0, 0));
  const now = nodesResult(counted(1, 120, 1_200, 25), counted(2, 110, 10, 0));
  expect(readSqlLoad(before, now)).toEqual({
    statementsPerSecond: 11,
    failuresPerSecond: 1,
    latencyP99Seconds: 0.2,
  });
});

test('nothing is counted of a node that restarted, is stale or was polled once', () => {
  const before = nodesResult(counted(1, 100, 1_000, 5));
  const unknown = { statementsPerSecond: undefined, failuresPerSecond: undefined };
  const restarted = counted(1, 120, 2_000, 5, { startedSeconds: 1_700_000_050 });
  expect(readSqlLoad(before, nodesResult(restarted))).toMatchObject(unknown);
  expect(readSqlLoad(before, nodesResult(counted(1, 100, 1_000, 5)))).toMatchObject(unknown);
  expect(readSqlLoad(undefined, nodesResult(counted(1, 100, 1_000, 5)))).toMatchObject(unknown);
  const stale = counted(1, 120, 1_200, 5, { isFresh: false });
  expect(readSqlLoad(before, nodesResult(stale))).toEqual({
    ...unknown,
    latencyP99Seconds: undefined,
  });
});
