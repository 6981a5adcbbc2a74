import { expect, test } from 'vitest';
import { PROBLEMS } from '../../../src/base/vocabulary.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { expectGolden } from '../../support/golden.ts';
import { type FakeNode, fakeCluster, pollRanges, replica } from './cluster.ts';

const DEAD = 1;
const NODES = [1, 2, 3, 4, 5];
const RANGES = Array.from({ length: 24 }, (_, at) => at + 1);
const KEYS = [
  '/Table/104/1',
  '/Table/104/2/x',
  '/Table/105/1',
  '/Table/106',
  '/Table/107/3',
  '/Min',
];

/** Nodes with a replica: three as a rule, some have fewer or more; the first holds the lease. */
function holdersOf(rangeId: number): readonly number[] {
  const count = [3, 3, 1, 5, 3, 4][rangeId % 6] ?? 0;
  return NODES.map((_, at) => ((rangeId + at) % NODES.length) + 1).slice(0, count);
}

/** Two stores on each node. Node 4 is of a release that sends only queries and writes. */
function elementOf(rangeId: number, nodeId: number, round: number): unknown {
  const [holder = 0] = holdersOf(rangeId);
  const storeId = (node: number): number => 10 * node + (rangeId % 2);
  const isHolder = nodeId === holder;
  const details = {
    requests_per_second: rangeId + 1,
    reads_per_second: rangeId + 2,
    read_bytes_per_second: 100 * rangeId,
    write_bytes_per_second: 10 * rangeId + nodeId,
    cpu_time_per_second: 1e6 * ((7 * rangeId) % 24) + nodeId,
  };
  return replica({
    rangeId,
    nodeId,
    storeId: storeId(nodeId),
    key: KEYS[rangeId % KEYS.length] ?? '',
    ...(rangeId % 7 !== 0 && { lease: storeId(holder), leaseNodeId: holder }),
    sequence: 5 + (isHolder ? rangeId * round : 0),
    ...(rangeId % 3 === 0 && { epoch: 4 }),
    ...(rangeId % 3 === 1 && { term: 2 }),
    problems: {
      [PROBLEMS[rangeId % PROBLEMS.length] ?? '']: isHolder,
      no_raft_leader: rangeId % 5 === round,
    },
    stats: {
      queries_per_second: isHolder ? rangeId ** 2 / 2 : 1,
      writes_per_second: rangeId / 4,
      ...(nodeId !== 4 && details),
    },
    ...(rangeId % 2 === 0 ? { quiescent: true } : { ticking: true }),
  });
}

function nodesIn(round: number, down: readonly number[]): readonly FakeNode[] {
  return NODES.map((nodeId) => ({
    nodeId,
    locality: `region=r${nodeId % 2},zone=z${nodeId % 3}`,
    ...(down.includes(nodeId) && { status: DEAD }),
    ranges: RANGES.filter((id) => holdersOf(id).includes(nodeId)).map((id) =>
      elementOf(id, nodeId, round),
    ),
  }));
}

test('the samples of a first scan, and of a third one with two nodes down', async () => {
  const state = ranges.createState();
  const options = { hot_ranges: 3, problem_ranges: 1, top_tables: 1 };
  const texts: string[] = [];
  for (const [round, down] of [[], [], [1, 4]].entries()) {
    const { lines, tableIds, failure } = await pollRanges(fakeCluster(nodesIn(round, down)).api, {
      state,
      options,
      clock: { wallMs: () => 1_000_000 + 60_000 * round },
    });
    expect(failure).toBeUndefined();
    // The second one shows the same, but makes sure what is intended.
    if (round !== 1) texts.push(...lines, `tables: ${tableIds?.join(' ')}`, '');
  }
  await expectGolden(texts.join('\n'), 'test/golden/ranges.txt');
});
