import { expect, test } from 'vitest';
import { DEFAULT_THRESHOLDS } from '../../src/config/alert-settings.ts';
import { loadProblems } from '../../src/findings/load-problems.ts';
import { readRates } from '../../src/findings/node-rates.ts';
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
  expect(readRates(before, now)).toMatchObject({
    statementsPerSecond: 11,
    failuresPerSecond: 1,
    latencyP99Seconds: 0.2,
  });
});

test('nothing is counted of a node that restarted, is stale or was polled once', () => {
  const before = nodesResult(counted(1, 100, 1_000, 5));
  const unknown = { statementsPerSecond: undefined, failuresPerSecond: undefined };
  const restarted = counted(1, 120, 2_000, 5, { startedSeconds: 1_700_000_050 });
  expect(readRates(before, nodesResult(restarted))).toMatchObject(unknown);
  expect(readRates(before, nodesResult(counted(1, 100, 1_000, 5)))).toMatchObject(unknown);
  expect(readRates(undefined, nodesResult(counted(1, 100, 1_000, 5)))).toMatchObject(unknown);
  const stale = counted(1, 120, 1_200, 5, { isFresh: false });
  expect(readRates(before, nodesResult(stale))).toMatchObject({
    ...unknown,
    latencyP99Seconds: undefined,
  });
});

/** A node whose record counts so many write stalls of each store. */
function stalled(updatedSeconds: number, ...counts: readonly number[]) {
  const stores = counts.map(
    (count, id) => [String(id), new Map([['storage.write-stalls', count]])] as const,
  );
  return nodesResult(node(1, { updatedSeconds, stores: new Map(stores) }));
}

test('write stalls count by node, of its store with most', () => {
  const { writeStallsPerMinute } = readRates(stalled(100, 5, 7), stalled(130, 7, 8));
  expect([...writeStallsPerMinute]).toEqual([[1, 4]]);
  expect(loadProblems(stalled(130), { writeStallsPerMinute }, DEFAULT_THRESHOLDS)).toMatchObject([
    {
      alert: 'CrdbStoreOverloaded',
      text: 'Node 1: a store stops all its writes 4 times a minute.',
    },
  ]);
});
