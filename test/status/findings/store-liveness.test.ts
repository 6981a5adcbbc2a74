import { describe, expect, test } from 'vitest';
import { DEFAULT_FINDING_SETTINGS } from '../../../src/alerts/alert-settings.ts';
import { ClusterHistory } from '../../../src/status/findings/history.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import { node, type Node, nodesResult, observeAt, polledCluster, pollersOf } from '../results.ts';
import { NOW_MS } from './found.ts';

const NOW = NOW_MS / 1000;
const HOUR = 3600;

/** A node that has run for a day, with a store of its own id. */
function member(id: number, more: Partial<Node> = {}): Node {
  return node(id, {
    startedSeconds: NOW - 24 * HOUR,
    updatedSeconds: NOW - 5,
    stores: new Map([[String(id), new Map()]]),
    ...more,
  });
}

const SLOW = { metrics: new Map([['sql.service.latency-p99', 5e9]]) };

/** What is found when stores 1 and 2 withdrew their support, and store 3 could not send heartbeats. */
function foundWith(
  third: Partial<Node>,
  withdrawn: Readonly<Record<string, number>> = { 1: 2, 2: 1 },
) {
  const nodes = nodesResult(member(1, SLOW), member(2), member(3, third));
  const cluster = polledCluster({ pollers: [], isUp: true, results: { nodes } });
  const memory = {
    withdrawnSupport: new Map(Object.entries(withdrawn)),
    unsentHeartbeats: new Map([['3', 9]]),
  };
  return judge(observeAt(NOW_MS, cluster, memory), () => NOW_MS).findings;
}

function support(third: Partial<Node>) {
  return foundWith(third).filter(({ key }) => key === 'withdrawn support');
}

describe('stores that withdraw their support of others', () => {
  test('are information while no node has stopped, and a cause of what waits', () => {
    expect(support({})).toMatchObject([
      {
        level: 'info',
        nodeIds: [1, 2],
        text: 'Stores 1 and 2 of nodes 1 and 2 withdrew support from other stores up to 2 times in 10 minutes, and no node has stopped: leader leases were lost. Store 3 of node 3 could not send 9 heartbeats or fewer.',
        next: expect.stringMatching(/disk.*CPU.*connections/),
      },
    ]);
    const slow = foundWith({}).find(({ alert }) => alert === 'CrdbLatencyHigh');
    expect(slow?.next).toMatch(/^First see which stores withdrew their support\. /);
  });

  test.each<[string, Partial<Node>]>([
    ['has just started', { startedSeconds: NOW - 600 }],
    ['is unavailable', { livenessCode: 2, isFresh: false, updatedSeconds: NOW - 90 }],
    ['drains', { livenessCode: 6 }],
    ['died', { livenessCode: 1, isFresh: false, updatedSeconds: NOW - 600 }],
  ])('are none where a node %s', (_name, third) => {
    expect(support(third)).toEqual([]);
  });

  test('are so while a node has been dead for long', () => {
    const third = { livenessCode: 1, isFresh: false, updatedSeconds: NOW - HOUR };
    expect(support(third)).toHaveLength(1);
  });

  test('are none where no store has', () => {
    const findings = foundWith({}, {});
    expect(findings.map(({ key }) => key)).not.toContain('withdrawn support');
    expect(findings.map(({ next }) => next).join(' ')).not.toContain('withdrew');
  });
});

test('support that was withdrawn counts between two records of a node', async () => {
  const history = new ClusterHistory(() => DEFAULT_FINDING_SETTINGS);
  const pollers = await pollersOf({ nodes: 'ok' });
  const keysAfter = (seconds: number, count: number): readonly string[] => {
    const counts = new Map([['storeliveness.support_withdraw.successes', count]]);
    const updatedSeconds = NOW + seconds;
    const nodes = nodesResult(
      member(1, { updatedSeconds, stores: new Map([['1', counts]]) }),
      member(2, { updatedSeconds }),
    );
    const cluster = polledCluster({ pollers, isUp: true, results: { nodes } });
    history.record(cluster, 'nodes', NOW_MS);
    return history.read(cluster, NOW_MS).findings.map(({ key }) => key);
  };
  expect(keysAfter(0, 7)).not.toContain('withdrawn support');
  expect(keysAfter(30, 7)).not.toContain('withdrawn support');
  expect(keysAfter(60, 8)).toContain('withdrawn support');
});
