import { describe, expect, test } from 'vitest';
import type { CloudResult } from '../../../src/collectors/cloud/collector.ts';
import type { Observation } from '../../../src/exporter/observation.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import { bySeverity } from '../../../src/status/findings/problem.ts';
import { scannedNode } from '../../collectors/ranges/cluster.ts';
import {
  node,
  nodesResult,
  observeAt,
  polledCluster,
  pollersOf,
  rangesResult,
  scannedRanges,
  sessionsResult,
  WHOLE_SCAN,
} from '../results.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HOUR_AGO = '2026-03-01T11:00:00.000Z';

function atHourAgo(): number {
  return Date.parse(HOUR_AGO);
}

function readCluster(cluster: Observation, sinceMs: (key: string) => number) {
  return judge(observeAt(NOW_MS, cluster), sinceMs);
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
    [
      'unknown',
      all,
      { results: { ranges: scannedRanges({}, [{ ...scannedNode(1), withoutProblems: 12 }]) } },
    ],
    ['problems', all, { results: { nodes: nodesResult(node(1, { livenessCode: 1 })) } }],
    [
      'problems',
      { nodes: 'failing' },
      { results: { nodes: nodesResult(node(1, { livenessCode: 1 })) } },
    ],
    ['healthy', all, { results: { sessions: sessionsResult({}, [3]) } }],
  ])('is %s with collectors %j and %j', async (expected, states, more) => {
    const cluster = polledCluster({ pollers: await pollersOf(states), isUp: true, ...more });
    expect(readCluster(cluster, atHourAgo).state).toBe(expected);
  });

  test.each([
    [all, {}, []],
    [{ nodes: 'ok', sessions: 'ok' }, {}, ['ranges']],
    [{ users: 'ok' }, {}, ['nodes', 'ranges', 'sessions']],
    [{ ...all, ranges: 'waiting' }, {}, []],
    [{ ...all, ranges: 'waiting' }, { isPolled: false }, ['ranges']],
    [all, { results: { ranges: scannedRanges({ cluster: WHOLE_SCAN }, [scannedNode(1)]) } }, []],
    [
      { ranges: 'ok' },
      { results: { ranges: scannedRanges({}, [scannedNode(1)]) } },
      ['nodes', 'sessions', 'ranges of other nodes'],
    ],
    [all, { results: { ranges: rangesResult(1) } }, []],
  ])('with collectors %j and %j says nothing of %j', async (states, more, expected) => {
    const cluster = polledCluster({ pollers: await pollersOf(states), isUp: true, ...more });
    expect(readCluster(cluster, atHourAgo).notRead).toEqual(expected);
  });

  test('began with the oldest of its worst problems, else when it was first seen', async () => {
    const pollers = await pollersOf(all);
    const keys: string[] = [];
    const since = (key: string): number => {
      keys.push(key);
      return atHourAgo();
    };
    const calm = readCluster(polledCluster({ pollers, isUp: true }), since);
    expect([calm.since, keys]).toEqual([HOUR_AGO, ['healthy']]);
    const nodes = nodesResult(
      down(1, 1, 3_000),
      down(2, 2, 2_000),
      node(3, { isFresh: false, updatedSeconds: 1_000 }),
    );
    const hurt = readCluster(polledCluster({ pollers, isUp: true, results: { nodes } }), since);
    expect(hurt.since).toBe(new Date(2_000_000).toISOString());
  });
});

test('a state with problems began after the cluster was last healthy', async () => {
  const pollers = await pollersOf({ nodes: 'ok' });
  const nodes = nodesResult(down(1, 1, 3_000));
  const cluster = polledCluster({ pollers, isUp: true, results: { nodes } });
  const sinceOf = (healthyMs: number) =>
    judge(observeAt(NOW_MS, cluster, { healthyMs }), atHourAgo).since;
  expect(sinceOf(NOW_MS - 1_000)).toBe(new Date(NOW_MS - 1_000).toISOString());
  expect(sinceOf(2_000)).toBe(new Date(3_000_000).toISOString());
});

test.each([
  ['failed', 'healthy', 'The migration assistant has failed.', HOUR_AGO],
  ['running', 'unavailable', 'The health of the migration assistant is unavailable.', undefined],
  ['running', 'unknown', 'The health of the migration assistant is unknown.', undefined],
  ['pending', 'healthy', 'The migration assistant has been pending for 1 h.', undefined],
  ['running', 'healthy', undefined, undefined],
  ['running', 'not_computed', undefined, undefined],
])(
  'a migration assistant that is %s and %s is reported: %s',
  async (status, health, text, since) => {
    const assistant = assistantIn(status, health);
    const pollers = await pollersOf({ nodes: 'ok' });
    const cluster = polledCluster({ pollers, isUp: true, results: { cloud: { assistant } } });
    const { findings, assistant: shown } = readCluster(cluster, () => NOW_MS);
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

/** The findings of three nodes, the second one of which sends these metrics. */
async function findSick(
  metrics: Readonly<Record<string, number>>,
  store: Readonly<Record<string, number>> = {},
) {
  const sick = {
    metrics: new Map(Object.entries(metrics)),
    stores: new Map([['2', new Map(Object.entries(store))]]),
  };
  const slow = { metrics: new Map([['liveness.heartbeatlatency-p99', 1e9]]) };
  const results = { nodes: nodesResult(node(1), node(2, sick), node(3, slow)) };
  const pollers = await pollersOf({ nodes: 'ok' });
  return readCluster(polledCluster({ pollers, isUp: true, results }), () => NOW_MS).findings;
}

describe('of one severity the cause is listed first', () => {
  const SLOW = { 'liveness.heartbeatlatency-p99': 1e9, 'sql.service.latency-p99': 2e9 };

  test('a slow disk, to which its effects on the same node lead', async () => {
    const findings = await findSick(SLOW, { 'storage.wal.fsync.latency-p99': 0.5e9 });
    expect(findings.map(({ level, alert, next }) => [level, alert, next.slice(0, 35)])).toEqual([
      ['warning', 'CrdbStoreDiskSlow', 'Every write to the ranges of these '],
      ['warning', 'CrdbHeartbeatSlow', 'First see the slow disk of node 2. '],
      ['info', 'CrdbLatencyHigh', 'First see the slow disk of node 2. '],
    ]);
    const others = await findSick(SLOW);
    expect(others.map(({ next }) => next).join(' ')).not.toContain('slow disk of');
  });

  test('a partition, before the statements that it makes slow', async () => {
    const parted = { 'rpc.connection.unhealthy': 1, 'rpc.connection.healthy': 1 };
    const findings = await findSick({ 'sql.service.latency-p99': 2e9, ...parted });
    expect(findings.map(({ alert }) => alert)).toEqual([
      'CrdbPartitionSuspected',
      'CrdbHeartbeatSlow',
      'CrdbLatencyHigh',
    ]);
  });
});

test('of one severity jobs come after what requests need, and the exporter comes last', () => {
  const found = (['exporter', 'jobs', 'nodes', 'ranges'] as const).map((about) => ({
    level: 'critical' as const,
    about,
  }));
  const order = [...found, { level: 'warning' as const, about: 'nodes' as const }].toSorted(
    bySeverity,
  );
  expect(order.map(({ level, about }) => `${level} ${about}`)).toEqual([
    'critical nodes',
    'critical ranges',
    'critical jobs',
    'critical exporter',
    'warning nodes',
  ]);
});

test('sessions of a node that counts as live are a sign that it is down, also where the list of nodes is later', async () => {
  const { nodes = [], sessions = [] } = Object.fromEntries(
    await Promise.all(
      ['nodes', 'sessions'].map(async (name) => [name, await pollersOf({ [name]: 'ok' })] as const),
    ),
  );
  const nextOf = (livenessCode: number, endsMs: Readonly<Record<string, number>>) => {
    const listed = nodesResult(node(1), node(2, { livenessCode }));
    const results = { nodes: listed, sessions: sessionsResult({}, [2]) };
    const evidence = observeAt(
      NOW_MS,
      polledCluster({ pollers: [...nodes, ...sessions], isUp: true, results }),
    );
    const collectors = evidence.view.collectors.map((collector) => ({
      ...collector,
      lastSuccessAt: new Date(NOW_MS - (endsMs[collector.name] ?? 0)).toISOString(),
    }));
    const { findings } = judge(
      { ...evidence, view: { ...evidence.view, collectors } },
      () => NOW_MS,
    );
    return findings.find(({ key }) => key === 'missing sessions')?.next;
  };
  const sign = /^Node 2 may have just gone down: stop no other node in the first minute/;
  expect(nextOf(3, { nodes: 20_000, sessions: 10_000 })).toMatch(sign);
  expect(nextOf(3, { nodes: 10_000, sessions: 20_000 })).toMatch(sign);
  expect(nextOf(1, { nodes: 10_000, sessions: 20_000 })).toBe('Expected while a node is down.');
});
