import { expect, test } from 'vitest';
import { readSqlLoad } from '../../src/findings/sql-load.ts';
import { node, type Node, nodesResult } from '../web/status/results.ts';

/** A node that has executed so many statements, of which so many failed. */
function serving(
  id: number,
  updatedSeconds: number,
  [executed, failed]: readonly [number, number],
  more: Partial<Node> = {},
): Node {
  const metrics = new Map([
    ['sql.query.count', executed],
    ['sql.failure.count', failed],
    ['sql.service.latency-p99', id * 20e6],
  ]);
  return node(id, { updatedSeconds, metrics, ...more });
}

const BEFORE = nodesResult(serving(1, 100, [500, 10]), serving(2, 100, [100, 0]));

test('statements count between two records of each node, the latency is that of the slowest', () => {
  const now = nodesResult(serving(1, 110, [700, 30]), serving(2, 120, [300, 0]));
  expect(readSqlLoad(BEFORE, now)).toEqual({
    latencyP99Seconds: 0.04,
    statementsPerSecond: 30,
    failedStatementsPerSecond: 2,
    countedNodes: 2,
    servingNodes: 2,
  });
});

test('rates are not known before the second record', () => {
  expect(readSqlLoad(undefined, BEFORE)).toMatchObject({
    latencyP99Seconds: 0.04,
    statementsPerSecond: undefined,
    failedStatementsPerSecond: undefined,
    countedNodes: 0,
    servingNodes: 2,
  });
});

test.each<[string, Node, number]>([
  ['has restarted', serving(2, 110, [5, 0], { startedSeconds: 1_700_000_105 }), 2],
  ['is silent', serving(2, 110, [300, 0], { isFresh: false }), 2],
  ['counts less than before', serving(2, 110, [50, 0]), 2],
  ['is dead', serving(2, 100, [100, 0], { isFresh: false, livenessCode: 1 }), 1],
])('a node that %s is missing from the rates, which say so', (_, second, servingNodes) => {
  const load = readSqlLoad(BEFORE, nodesResult(serving(1, 110, [700, 30]), second));
  expect(load).toMatchObject({ statementsPerSecond: 20, countedNodes: 1, servingNodes });
});
