import { expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import { node, type Node, nodesResult, observeAt, polledCluster, pollersOf } from '../results.ts';

const AT = '2026-03-01T12:00:00.000Z';

/** A live node with a store that has this free share and this many replicas without a place. */
function target(id: number, free = 0.5, waiting = 0): Node {
  const store = new Map([
    ['capacity', 100],
    ['capacity.available', 100 * free],
    ['queue.replicate.purgatory', waiting],
  ]);
  return node(id, { stores: new Map([[String(id), store]]) });
}

/** Node 9, which is being decommissioned, as page and JSON show it, and the next step of its finding. */
async function ninth(...others: readonly Node[]) {
  const leaving = node(9, { livenessCode: 4, metrics: new Map([['sys.rss', 9]]), memoryBytes: 10 });
  const cluster = polledCluster({
    pollers: await pollersOf({ [nodes.name]: 'ok' }),
    isUp: true,
    results: { nodes: nodesResult(...others, leaving) },
  });
  const { nodes: shown, findings } = judge(observeAt(Date.parse(AT), cluster), () => 0);
  const finding = findings.find(({ key }) => key === 'nodes decommissioning');
  return { node: shown?.list.find(({ id }) => id === 9), finding };
}

test.each([
  [[target(1), target(2)], 'only 2 other nodes are live, and most ranges need 3: add a node'],
  [[target(1)], 'only 1 other node is live, and most ranges need 3: add 2 nodes'],
  [
    [target(1, 0.04), target(2, 0.01), target(3, 0.03)],
    'the stores of all live nodes are full: add a node or disk space',
  ],
  [
    [target(1, 0.04), target(2, 0.5, 3), target(3, 0.5, 4)],
    '7 replicas have no store that satisfies the constraints of their zones',
  ],
  [[target(1), target(2), target(3)], undefined],
])('what keeps the replicas on a node that is being decommissioned', async (others, obstacle) => {
  const { node: shown, finding } = await ninth(...others);
  expect(shown?.obstacle).toBe(obstacle);
  const known = obstacle === undefined ? '' : ` ${obstacle};`;
  expect(finding?.next).toContain(
    `If their number does not fall:${known} \`crdb-exporter ranges 9`,
  );
});

test('a figure over the limit of an alert is marked', async () => {
  const { node: found } = await ninth(target(1), target(2), target(3));
  expect(found).toMatchObject({ memoryRatio: 0.9, overLimit: ['memory'] });
  expect(found?.cpuRatio).toBeUndefined();
});

test('in the first record of a node, which has no measurements of the process, neither CPU nor memory are known', async () => {
  const zeros = ['sys.rss', 'sys.cpu.combined.percent-normalized'].map((key) => [key, 0] as const);
  const started = node(1, { metrics: new Map(zeros), memoryBytes: 10 });
  const cluster = polledCluster({
    pollers: await pollersOf({ [nodes.name]: 'ok' }),
    isUp: true,
    results: { nodes: nodesResult(started) },
  });
  const { nodes: shown } = judge(observeAt(Date.parse(AT), cluster), () => 0);
  expect(shown?.list[0]).toMatchObject({ cpuRatio: undefined, memoryRatio: undefined });
});
