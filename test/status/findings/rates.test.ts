import { expect, test } from 'vitest';
import {
  readSqlLoad,
  readWriteStalls,
  readWriting,
  RecentIncreases,
} from '../../../src/status/findings/rates.ts';
import { node, type Node, nodesResult } from '../results.ts';

/** A node that has started this many statements, of which this many failed, with this many write stalls of each store. */
function serving(
  id: number,
  updatedSeconds: number,
  [started = 0, failed = 0, ...stalls]: readonly number[],
  more: Partial<Node> = {},
): Node {
  const metrics = new Map([
    ['sql.select.started.count', started - 40],
    ...['insert', 'update', 'delete', 'ddl'].map(
      (kind) => [`sql.${kind}.started.count`, 10] as const,
    ),
    // Those that succeeded, with BEGIN and COMMIT.
    ['sql.query.count', 3 * (started - failed)],
    ['sql.failure.count', failed],
    ['sql.service.latency-p99', id * 20e6],
  ]);
  const stores = stalls.map(
    (count, at) => [`${id}${at}`, new Map([['storage.write-stalls', count]])] as const,
  );
  return node(id, { updatedSeconds, metrics, stores: new Map(stores), ...more });
}

const BEFORE = nodesResult(serving(1, 100, [500, 10, 5, 7]), serving(2, 100, [100, 0, 50]));

test('statements and stalls count between two records of each node, the latency is that of the slowest', () => {
  const now = nodesResult(serving(1, 130, [1100, 70, 7, 8]), serving(2, 120, [300, 0, 0]));
  expect(readSqlLoad(BEFORE, now)).toEqual({
    latencyP99Seconds: 0.04,
    slowestNodeId: 2,
    statementsPerSecond: 30,
    failedStatementsPerSecond: 2,
    countedNodes: 2,
    servingNodes: 2,
  });
  // A counter that began again counts no less than none.
  expect([...readWriteStalls(BEFORE, now)]).toEqual([
    ['10', 4],
    ['11', 2],
    ['20', 0],
  ]);
});

test('rates are not known before the second record', () => {
  expect(readSqlLoad(undefined, BEFORE)).toMatchObject({
    latencyP99Seconds: 0.04,
    statementsPerSecond: undefined,
    failedStatementsPerSecond: undefined,
    countedNodes: 0,
    servingNodes: 2,
  });
  expect(readWriteStalls(undefined, BEFORE).size).toBe(0);
});

test.each<[string, Node, number]>([
  ['has restarted', serving(2, 110, [5, 0, 9], { startedSeconds: 1_700_000_105 }), 2],
  ['is silent', serving(2, 110, [300, 0, 60], { isFresh: false }), 2],
  ['has no newer record', serving(2, 100, [300, 0, 60]), 2],
  ['is dead', serving(2, 100, [100, 0], { isFresh: false, livenessCode: 1 }), 1],
])('a node that %s is missing from the rates, which say so', (_, second, servingNodes) => {
  const now = nodesResult(serving(1, 110, [700, 30, 5, 7]), second);
  const load = readSqlLoad(BEFORE, now);
  expect(load).toMatchObject({ statementsPerSecond: 20, countedNodes: 1, servingNodes });
  expect([...readWriteStalls(BEFORE, now).keys()]).toEqual(['10', '11']);
});

test('a node that counts fewer statements than before is missing from the rates', () => {
  const now = nodesResult(serving(1, 110, [700, 30]), serving(2, 110, [50, 0]));
  expect(readSqlLoad(BEFORE, now)).toMatchObject({ statementsPerSecond: 20, countedNodes: 1 });
});

/** A record of a node whose disks have been slow this many times since it started. */
function slowAt(seconds: number, counts: readonly number[], startedSeconds = 1) {
  const stores = counts.map(
    (count, index) => [String(index + 1), new Map([['storage.disk-slow', count]])] as const,
  );
  return nodesResult(node(1, { updatedSeconds: seconds, startedSeconds, stores: new Map(stores) }));
}

test('slow operations of a disk are added up over ten minutes, in spite of restarts', () => {
  const lists = [
    slowAt(0, [7, 0]),
    slowAt(30, [9, 0]),
    slowAt(60, [12, 0]),
    slowAt(90, [4, 0], 2),
    slowAt(120, [5, 0], 2),
  ];
  const slow = new RecentIncreases('storage.disk-slow');
  lists.forEach((now, index) => slow.add(lists[index - 1], now, 30_000 * index));
  expect([...slow.read()]).toEqual([['1', 6]]);
  slow.add(lists.at(-1), lists.at(-1) ?? slowAt(0, []), 30_000 + 600_000);
  expect([...slow.read()]).toEqual([['1', 4]]);
});

/** Two nodes, the second of which has this status and wrote its record then. */
function listWith(livenessCode: number, updatedSeconds: number) {
  return nodesResult(node(1), node(2, { livenessCode, updatedSeconds, isFresh: false }));
}

test('a node writes its record although it counts as dead, if that moves while it does', () => {
  expect([...readWriting(listWith(1, 100), listWith(1, 110))]).toEqual([2]);
  expect([...readWriting(listWith(1, 100), listWith(5, 110))]).toEqual([2]);
  // It has just died, is silent, or is back.
  expect([...readWriting(listWith(3, 100), listWith(1, 110))]).toEqual([]);
  expect([...readWriting(listWith(1, 100), listWith(1, 100))]).toEqual([]);
  expect([...readWriting(listWith(1, 100), listWith(3, 110))]).toEqual([]);
  expect([...readWriting(undefined, listWith(1, 110))]).toEqual([]);
});
