import { describe, expect, test } from 'vitest';
import {
  DEFAULT_FINDING_SETTINGS,
  DEFAULT_THRESHOLDS,
} from '../../../src/alerts/alert-settings.ts';
import type { CloudResult } from '../../../src/collectors/cloud/collector.ts';
import { ClusterHistory } from '../../../src/web/status/history.ts';
import { readCluster } from '../../../src/web/status/read-cluster.ts';
import { scannedNode } from '../../collectors/ranges/cluster.ts';
import { preparePoller } from '../../polling/prepare-poller.ts';
import {
  node,
  nodesResult,
  polledCluster,
  pollersOf,
  rangesResult,
  scannedRanges,
  sessionsResult,
} from './results.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
/** The duration of a scan. */
const SCAN_MS = 120_000;
const HOUR_AGO = '2026-03-01T11:00:00.000Z';

function atHourAgo(): number {
  return Date.parse(HOUR_AGO);
}

function context(sinceMs: (key: string) => number) {
  return { nowMs: NOW_MS, thresholds: DEFAULT_THRESHOLDS, sinceMs };
}

function down(id: number, livenessCode: number, recordSeconds: number) {
  return node(id, { livenessCode, updatedSeconds: recordSeconds, isFresh: false });
}

function assistantIn(status: string, health: string): NonNullable<CloudResult['assistant']> {
  const times = { createdMs: 0, updatedMs: 0, statusSinceMs: atHourAgo() };
  return { id: 'a', clusterId: 'c', status, health, region: 'us-east1', ...times };
}

describe('the state of a cluster', () => {
  const all = { nodes: 'ok', ranges: 'ok', sessions: 'ok' };
  test.each([
    ['healthy', all, {}],
    ['unknown', { ...all, nodes: 'waiting' }, {}],
    ['unknown', { ...all, ranges: 'failing' }, {}],
    ['unknown', { ...all, sessions: 'waiting' }, {}],
    ['healthy', { ...all, users: 'failing' }, {}],
    ['healthy', { users: 'ok' }, {}],
    ['unknown', { users: 'ok', tables: 'waiting' }, {}],
    ['unknown', {}, {}],
    ['healthy', { ...all, ranges: 'waiting' }, { isPolled: false }],
    ['unknown', { ...all, ranges: 'failing' }, { isPolled: false }],
    ['unknown', { nodes: 'waiting' }, { isPolled: false }],
    ['unknown', all, { isUp: false }],
    ['unknown', all, { isUp: undefined }],
    ['healthy', all, { results: { ranges: rangesResult(0) } }],
    ['unknown', all, { results: { ranges: rangesResult(1) } }],
    ['problems', all, { results: { nodes: nodesResult(node(1, { livenessCode: 1 })) } }],
    [
      'problems',
      { nodes: 'failing' },
      { results: { nodes: nodesResult(node(1, { livenessCode: 1 })) } },
    ],
    ['healthy', all, { results: { sessions: sessionsResult({}, [3]) } }],
  ])('is %s with collectors %j and %j', async (expected, states, more) => {
    const cluster = polledCluster({ pollers: await pollersOf(states), isUp: true, ...more });
    expect(readCluster(cluster, context(atHourAgo)).state).toBe(expected);
  });

  test('began with the oldest of its worst problems, else when it was first seen', async () => {
    const pollers = await pollersOf(all);
    const keys: string[] = [];
    const since = (key: string): number => {
      keys.push(key);
      return atHourAgo();
    };
    const calm = readCluster(polledCluster({ pollers, isUp: true }), context(since));
    expect([calm.since, keys]).toEqual([HOUR_AGO, ['healthy']]);
    const nodes = nodesResult(
      down(1, 1, 3_000),
      down(2, 2, 2_000),
      node(3, { isFresh: false, updatedSeconds: 1_000 }),
    );
    const hurt = readCluster(
      polledCluster({ pollers, isUp: true, results: { nodes } }),
      context(since),
    );
    expect(hurt.since).toBe(new Date(2_000_000).toISOString());
  });
});

test.each([
  ['failed', 'healthy', 'The migration assistant has failed.', HOUR_AGO],
  ['running', 'unavailable', 'The health of the migration assistant is unavailable.', undefined],
  ['running', 'unknown', 'The health of the migration assistant is unknown.', undefined],
  ['running', 'healthy', undefined, undefined],
  ['running', 'not_computed', undefined, undefined],
])(
  'a migration assistant that is %s and %s is reported: %s',
  async (status, health, text, since) => {
    const assistant = assistantIn(status, health);
    const pollers = await pollersOf({ nodes: 'ok' });
    const cluster = polledCluster({ pollers, isUp: true, results: { cloud: { assistant } } });
    const { findings, assistant: shown } = readCluster(
      cluster,
      context(() => NOW_MS),
    );
    expect(findings.map((one) => [one.key, one.about, one.alert, one.text, one.since])).toEqual(
      text === undefined
        ? []
        : [
            [
              'assistant',
              'assistant',
              'CrdbMigrationAssistantFailing',
              text,
              since ?? new Date(NOW_MS).toISOString(),
            ],
          ],
    );
    expect(shown).toEqual({
      exists: true,
      status,
      health,
      region: 'us-east1',
      statusSince: HOUR_AGO,
    });
  },
);

describe('the history of a cluster', () => {
  test('knows since when a state and a finding last, and which the first polls found', async () => {
    const history = new ClusterHistory(() => DEFAULT_FINDING_SETTINGS);
    const pollers = await pollersOf({ nodes: 'ok' });
    const draining = { nodes: nodesResult(node(1, { livenessCode: 6 })) };
    const calm = polledCluster({ pollers, isUp: true });
    const hurt = polledCluster({ pollers, isUp: true, results: draining });
    const sinces = (): readonly number[] =>
      [history.read(calm, 99), ...history.read(hurt, 99).findings].map(({ since }) =>
        Date.parse(since),
      );
    expect(sinces()).toEqual([99, 99]);
    history.record(calm, 'nodes', 10);
    expect(sinces()).toEqual([10, 99]);
    history.record(hurt, 'ranges', 20);
    history.record(hurt, 'nodes', 30);
    expect(sinces()).toEqual([10, 20]);
    // All of them had polled by 20.
    const isFromFirst = (ms: number) => history.isFromFirstPolls(new Date(ms).toISOString(), 5);
    expect([4, 5, 20, 21].map(isFromFirst)).toEqual([false, true, true, false]);
    history.record(calm, 'nodes', 40);
    expect(sinces()).toEqual([10, 99]);
  });

  test('compares a scan with the counts since its start, but for those of another configuration', async () => {
    const replicas = new Map<string, number>();
    const stores = new Map([['1', replicas]]);
    const results = {
      nodes: nodesResult(node(1, { stores })),
      ranges: scannedRanges({}, [scannedNode(1)]),
    };
    const polled = [
      preparePoller((_poll, clock) => (clock.nowMs += SCAN_MS), {}, { name: 'ranges' }),
      preparePoller(() => ({}), {}, { name: 'nodes' }),
    ];
    const cluster = polledCluster({
      pollers: polled.map(({ poller }) => poller),
      isUp: true,
      results,
    });
    const history = new ClusterHistory(() => DEFAULT_FINDING_SETTINGS);
    const disagreesAfter = async (shown: typeof cluster, minute: number) => {
      for (const [at, { clock, poll, poller }] of polled.entries()) {
        clock.nowMs = minute * 60_000 + (at === 0 ? -SCAN_MS : 15_000);
        await poll();
        history.record(shown, poller.collector.name, clock.nowMs);
      }
      return history.problems.some(({ alert }) => alert === 'CrdbScanDisagrees');
    };
    const found: boolean[] = [];
    for (const minute of [0, 1, 2, 3, 4, 5, 6]) {
      // The scan read no replicas, as the node counts in the first minute.
      replicas.set('replicas', minute === 0 ? 0 : 1_000);
      found.push(await disagreesAfter(cluster, minute));
    }
    expect(found).toEqual([false, false, false, false, false, false, true]);
    expect(await disagreesAfter({ ...cluster }, 7)).toBe(false);
  });
});
