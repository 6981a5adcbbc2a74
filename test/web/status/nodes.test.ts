import { expect, test } from 'vitest';
import type { NodesResult } from '../../../src/collectors/nodes.ts';
import { nodeIssues, readNodes } from '../../../src/web/status/nodes.ts';

type Node = NodesResult['nodes'][number];

function node(id: number, more: Partial<Node> = {}): Node {
  return {
    id,
    livenessCode: 3,
    address: 'db:26257',
    sqlAddress: 'db:26257',
    buildTag: 'v25.4.3',
    serverVersion: '25.4',
    clusterName: '',
    tiers: [{ key: 'region', value: 'us-east1' }],
    hasMoreTiers: false,
    startedSeconds: 1_700_000_000,
    updatedSeconds: 1_700_000_100,
    cpus: 4,
    memoryBytes: 1,
    metrics: new Map([['sql.conns', 5]]),
    stores: new Map(),
    isFresh: true,
    ...more,
  };
}

function result(...nodes: readonly Node[]): NodesResult {
  return { nodes, selected: { keys: [], prefixes: [] }, lastBackupSeconds: 0 };
}

function textsOf(...nodes: readonly Node[]): readonly string[] {
  return nodeIssues(readNodes(result(...nodes), undefined)).map(({ text }) => text);
}

test('a result is described once per range scan', () => {
  const nodes = result(node(1));
  const first = readNodes(nodes, undefined);
  expect(readNodes(nodes, undefined)).toBe(first);
  const scan = { shard: '0', scanned: [], failed: [], skipped: 0 };
  expect(readNodes(nodes, scan)).not.toBe(first);
});

test('the values of a stale record are absent', () => {
  const { list } = readNodes(result(node(1), node(2, { isFresh: false })), undefined);
  expect(list.map(({ sqlConnections, isStale }) => [sqlConnections, isStale])).toEqual([
    [5, false],
    [undefined, true],
  ]);
});

test('each issue names its nodes', () => {
  const full = new Map([
    ['1', new Map(Object.entries({ capacity: 100, 'capacity.available': 10 }))],
  ]);
  expect(
    textsOf(
      node(1, { livenessCode: 1, isFresh: false }),
      node(2, { livenessCode: 6 }),
      node(3, { livenessCode: 6, isFresh: false }),
      node(4, { stores: full, buildTag: 'v25.4.4' }),
    ),
  ).toEqual([
    'Node 1 is dead.',
    'Nodes 2 and 3 are draining.',
    'Node 3 has stopped updating the record that node metrics are read from.',
    'Node 4 has a store with little free space, the fullest is 90 % full.',
    'The nodes run 2 builds: v25.4.3 and v25.4.4.',
  ]);
});
