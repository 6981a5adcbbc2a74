import { describe, expect, test } from 'vitest';
import type { NetworkResult } from '../../../src/collectors/network/network-result.ts';
import { PARTITION } from '../../../src/status/findings/check-network.ts';
import { runChecks } from '../../../src/status/findings/check.ts';
import {
  type Connections,
  findUnreachable,
  findUnreachableSince,
  leastFavourable,
  readReachability,
} from '../../../src/status/findings/reachability.ts';
import { node, type Node, nodesResult, observeAt, polledCluster, pollersOf } from '../results.ts';

/** Who reaches whom, by `1 -> 2` for each failed connection. */
function connections(failed: readonly string[], more: Partial<NetworkResult> = {}): NetworkResult {
  const unreachable = failed.map((text) => {
    const [nodeId = 0, peerId = 0] = text.split(' -> ').map(Number);
    return { nodeId, peerId, error: 'secret' };
  });
  const none = { unaskedNodes: [], maxPairs: 50, peers: new Map(), slowest: [] };
  return { ...none, checked: true, unreachable, ...more };
}

/** A node with this many unhealthy and healthy connections. */
function counting(id: number, unhealthy: number, healthy: number, more: Partial<Node> = {}): Node {
  const counts = { 'rpc.connection.unhealthy': unhealthy, 'rpc.connection.healthy': healthy };
  return node(id, { metrics: new Map(Object.entries(counts)), ...more });
}

const NO_PEERS = {
  established: 0,
  establishing: 0,
  error: 0,
  unknown: 0,
  medianSeconds: undefined,
  maxSeconds: undefined,
};

describe('where each node lists its connections', () => {
  test.each([
    [[], 'reached', undefined],
    [['1 -> 2', '2 -> 1'], 'unreachable', 'nodes 1 and 2 do not reach each other'],
    [['3 -> 2'], 'unreachable', 'node 3 does not reach node 2'],
    [
      ['1 -> 2', '1 -> 3', '2 -> 1', '3 -> 1'],
      'unreachable',
      'nodes 1 and 2, 1 and 3 do not reach each other',
    ],
    [
      ['1 -> 2', '1 -> 3', '1 -> 4', '5 -> 1'],
      'unreachable',
      'nodes 1 and 2, 1 and 3, 1 and 4 do not reach each other, nor does 1 other pair',
    ],
    [
      ['1 -> 4', '1 -> 5', '2 -> 4', '2 -> 5', '3 -> 4'],
      'unreachable',
      'nodes 1 and 4, 1 and 5, 2 and 4 do not reach each other, nor do 2 other pairs',
    ],
  ] as const)('failed connections %j: %s', (failed, answer, reason) => {
    expect(findUnreachable(connections(failed), undefined)).toMatchObject({
      answer,
      ...(reason && { reason }),
    });
  });

  test.each([
    [['1 -> 3', '2 -> 3'], [3], 'node 3 does not answer its peers', [3]],
    [
      ['1 -> 3', '1 -> 4', '2 -> 3', '2 -> 4'],
      [3, 4],
      'nodes 3 and 4 do not answer their peers',
      [3, 4],
    ],
    [
      ['1 -> 2', '1 -> 3', '2 -> 3'],
      [3],
      'node 3 does not answer its peers, and node 1 does not reach node 2',
      [1, 2, 3],
    ],
    // One of two others reaches it: it is up.
    [['1 -> 3'], [3], 'node 1 does not reach node 3', [1, 3]],
    [['1 -> 3', '2 -> 3', '3 -> 1'], [], 'nodes 1 and 3, 2 and 3 do not reach each other', [3]],
  ])('of %j, and without a response of %j: %s', (failed, unaskedNodes, reason, nodeIds) => {
    const asked = [1, 2, 3, 4].filter((id) => id < 3 || failed.includes(`${id} -> 1`));
    const peers = new Map(asked.map((id) => [id, NO_PEERS]));
    const result = connections(failed, { checked: unaskedNodes.length === 0, unaskedNodes, peers });
    const found = { answer: 'unreachable', reason, nodeIds };
    expect(findUnreachable(result, undefined)).toEqual(found);
  });

  test('it is not known when a live node could not be asked, and a failed connection is known all the same', () => {
    const unasked = { checked: false, unaskedNodes: [2, 4] };
    expect(findUnreachable(connections([], unasked), undefined)).toEqual({
      answer: 'unknown',
      reason: 'nodes 2 and 4 did not tell which nodes they reach',
    });
    const failed = findUnreachable(connections(['1 -> 2'], unasked), undefined);
    expect(failed.answer).toBe('unreachable');
  });

  test('it is not known of a node whose answer says nothing, with what to check', () => {
    const peers = new Map([1, 2].map((id) => [id, NO_PEERS]));
    const result = connections([], { checked: false, unaskedNodes: [1, 2, 3], peers });
    expect(findUnreachable(result, undefined)).toEqual({
      answer: 'unknown',
      reason:
        'node 3 did not tell which nodes it reaches, and nodes 1 and 2 list no connections that can be read: check whether the servers use DRPC, whose connections some releases neither list nor count',
    });
  });

  test('it is not known where no node is live', () => {
    const none = connections([], { checked: false });
    expect(findUnreachable(none, undefined).answer).toBe('unknown');
  });

  test('it is not known of a node that has returned since the others were asked', () => {
    const peers = new Map([1, 2].map((id) => [id, NO_PEERS]));
    const evidence = connections([], { peers });
    const [first, second] = [node(1), node(2)];
    const dead = [first, second, node(3, { livenessCode: 1 })];
    expect(findUnreachable(evidence, dead)).toEqual({ answer: 'reached' });
    expect(findUnreachable(evidence, [first, second, node(3)])).toEqual({
      answer: 'unknown',
      reason: 'node 3 did not tell which nodes it reaches',
    });
  });

  test('it is not known before the first poll, while polls fail, and when the last one is too old', () => {
    const reason = 'there is no current list of the connections between nodes';
    const unknown = { answer: 'unknown', reason };
    // The counts of the nodes do not take its place.
    const nodes = [counting(1, 0, 4)];
    expect(findUnreachable('unread', nodes)).toEqual(unknown);
  });
});

describe('where there are no lists', () => {
  const refused = connections([], { checked: undefined, noData: 'refused' });

  test.each([
    ['disabled', undefined],
    ['refused', refused],
  ])('the unhealthy connections that nodes count tell: %s', (_name, network) => {
    const dead = counting(3, 0, 0, { livenessCode: 1 });
    const explained = [counting(1, 1, 2), counting(2, 1, 2), dead];
    expect(findUnreachable(network, explained)).toEqual({ answer: 'reached' });
    const apart = [counting(1, 2, 1), counting(2, 1, 2), dead];
    expect(findUnreachable(network, apart)).toEqual({
      answer: 'unreachable',
      reason: 'node 1 does not reach all nodes that are up',
      nodeIds: [1],
    });
  });

  test('nothing tells where nodes count none, or only in old records', () => {
    expect(findUnreachable(refused, [node(1), node(2)])).toEqual({
      answer: 'unchecked',
      remedy: 'refused',
    });
    const stale = [1, 2].map((id) => counting(id, 0, 4, { isFresh: false }));
    expect(findUnreachable(refused, stale)).toMatchObject({ answer: 'unchecked' });
    expect(findUnreachable(undefined, undefined)).toEqual({
      answer: 'unchecked',
      remedy: 'enable the collector network',
    });
    expect(findUnreachable(undefined, [])).toMatchObject({ answer: 'unchecked' });
  });

  test('it is not known where a live node counts none, unless others count unhealthy ones', () => {
    const [calm, none] = [counting(1, 0, 4), counting(3, 0, 0)];
    expect(findUnreachable(refused, [calm, counting(2, 0, 4), none])).toEqual({
      answer: 'unknown',
      reason: expect.stringMatching(/^node 3 counts no connections: .*DRPC/),
    });
    expect(findUnreachable(refused, [calm, counting(2, 2, 2), none])).toMatchObject({
      answer: 'unreachable',
      nodeIds: [2],
    });
  });

  test('the only node that is up has no other to reach', () => {
    const dead = node(2, { livenessCode: 1 });
    for (const nodes of [[node(1)], [counting(1, 0, 0)], [counting(1, 0, 0), dead]])
      expect(findUnreachable(refused, nodes)).toEqual({ answer: 'reached' });
    const leaving = node(2, { livenessCode: 4 });
    expect(findUnreachable(refused, [node(1), leaving])).toMatchObject({ answer: 'unchecked' });
  });
});

test('the finding is that of the last list, and of the counts only where there is none', () => {
  const apart = nodesResult(counting(1, 2, 0), counting(2, 0, 2));
  const textOf = (network: Connections) => {
    const cluster = polledCluster({ pollers: [], isUp: true, results: { nodes: apart } });
    const evidence = { ...observeAt(0, cluster), network };
    return runChecks([PARTITION], evidence).map(({ text }) => text);
  };
  const failed = connections(['1 -> 2', '2 -> 1']);
  const sentence = 'Nodes 1 and 2 do not reach each other.';
  expect(textOf(failed)).toEqual([sentence]);
  expect(textOf(connections([]))).toEqual([]);
  expect(textOf('unread')).toEqual([]);
  expect(textOf(undefined)).toEqual(['Node 1 does not reach all nodes that are up.']);
  // As the description of the alert.
  expect(PARTITION.next).toContain('Stop no node');
});

test('while polls fail, the finding is that of the last list, and who reaches whom is not known', async () => {
  const results = { nodes: nodesResult(node(1), node(2)), network: connections(['1 -> 2']) };
  const pollers = await pollersOf({ network: 'failing' });
  const evidence = observeAt(0, polledCluster({ pollers, isUp: true, results }));
  const [finding] = runChecks([PARTITION], evidence);
  expect(finding?.text).toBe('Node 1 does not reach node 2.');
  expect(evidence.view.network?.answer).toBe('unknown');
  expect(evidence.view.safeToStop.answer).toBe('unknown');
});

test('page and JSON get the first pairs, the slowest one, and no text of a server', () => {
  const slowest = { nodeId: 1, peerId: 3, seconds: 0.08 };
  const result = connections(['1 -> 2', '2 -> 1'], { maxPairs: 1, slowest: [slowest] });
  expect(readReachability(result, undefined)).toEqual({
    answer: 'unreachable',
    reason: 'nodes 1 and 2 do not reach each other',
    failed: [{ nodeId: 1, peerId: 2 }],
    failedCount: 2,
    unaskedNodes: [],
    slowest,
  });
  expect(readReachability(undefined, undefined)).toBeUndefined();
  expect(readReachability(undefined, [counting(1, 0, 4)])).toEqual({ answer: 'reached' });
});

test('neither a URL without a list nor a missing count hides what another one says, nor a state that is not known', () => {
  const live = [1, 2, 3].map((id) => node(id));
  const [hidden, failed] = [{ checked: undefined }, { checked: true }].map((more, at) =>
    findUnreachable(connections(at === 0 ? [] : ['1 -> 2'], more), live),
  );
  if (hidden === undefined || failed === undefined) throw new Error('no answer');
  expect(hidden).toMatchObject({ answer: 'unchecked' });
  for (const both of [
    [hidden, failed],
    [failed, hidden],
  ])
    expect(leastFavourable(both)).toMatchObject({ answer: 'unreachable' });
  const unclear = [...live, node(4, { livenessCode: 9 })];
  const none = connections([], { checked: undefined });
  expect(findUnreachable(none, unclear)).toEqual({
    answer: 'unknown',
    reason: 'it is not known whether node 4 is live',
  });
});

test.each([
  // A connection of each class to each peer, and to the node itself; of those to a node that is down one is left.
  ['the node that is down explains what all others count alike', 1, [1, 1, 1], 'reached'],
  ['two nodes are also cut apart', 1, [1, 3, 3], 'unknown'],
  [
    'a node went down after two nodes that are cut apart wrote their records',
    1,
    [0, 2, 2],
    'unknown',
  ],
  ['all count a connection that fails, and no node is down', 0, [1, 1, 1], 'unknown'],
  ['no connection fails', 0, [0, 0, 0], 'reached'],
] as const)('where nodes only count their connections: %s', (_what, down, unhealthy, answer) => {
  const nodes = [1, 2, 3, 4, 5, 6, 7, 8].map((id) =>
    counting(id, unhealthy[id % 3] ?? 0, 18 - (unhealthy[id % 3] ?? 0)),
  );
  const last = down === 1 ? node(9, { livenessCode: 2 }) : counting(9, unhealthy[0], 17);
  expect(findUnreachable(undefined, [...nodes, last])).toMatchObject({ answer });
});

test.each([4, 6])(
  'a node that leaves (liveness %i) may explain connections that fail: nobody can tell',
  (livenessCode) => {
    // Nodes 2 and 3 do not reach each other, and node 3 leaves: two of four connections of node 2 fail.
    const nodes = [counting(1, 0, 3), counting(2, 2, 2), counting(3, 2, 2, { livenessCode })];
    expect(findUnreachable(undefined, nodes)).toEqual({
      answer: 'unknown',
      reason: 'node 2 counts more connections that fail than nodes that are down explain',
    });
  },
);

test.each([
  [10, 'reached'],
  [0, 'unknown'],
  [-10, 'unknown'],
] as const)('counts prove something in records that are %i s younger: %s', (seconds, answer) => {
  const before = [1, 2, 3].map((id) => counting(id, 0, 3, { updatedSeconds: 1000 }));
  const after = before.map((listed) => ({ ...listed, updatedSeconds: 1000 + seconds }));
  expect(findUnreachableSince(before, after)).toMatchObject({ answer });
});
