import { describe, expect, test } from 'vitest';
import type { CloudResult } from '../../../src/collectors/cloud.ts';
import { DEFAULT_FINDING_SETTINGS } from '../../../src/config/alert-settings.ts';
import type { Poller } from '../../../src/polling/poller.ts';
import { readCluster } from '../../../src/web/status/cluster.ts';
import { ClusterHistory } from '../../../src/web/status/history.ts';
import { preparePoller } from '../../polling/prepare-poller.ts';
import { node, nodesResult, polledCluster, rangesResult, sessionsResult } from './results.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const HOUR_AGO = '2026-03-01T11:00:00.000Z';

function atHourAgo(): number {
  return Date.parse(HOUR_AGO);
}

function down(id: number, livenessCode: number, recordSeconds: number) {
  return node(id, { livenessCode, updatedSeconds: recordSeconds, isFresh: false });
}

function cpu(share: number) {
  return { metrics: new Map([['sys.cpu.combined.percent-normalized', share]]) };
}

function pointAfter(ms: number, value?: number) {
  return { at: new Date(NOW_MS + ms).toISOString(), value };
}

function assistantIn(status: string, health: string): NonNullable<CloudResult['assistant']> {
  const times = { createdMs: 0, updatedMs: 0, statusSinceMs: atHourAgo() };
  return { id: 'a', clusterId: 'c', status, health, region: 'us-east1', ...times };
}

/** Pollers by the names of their collectors: `ok`, `waiting`, or `failing` without data. */
function pollersOf(states: Readonly<Record<string, string>>): Promise<readonly Poller[]> {
  const pollers = Object.entries(states).map(async ([name, state]) => {
    const collect = (): void => {
      if (state === 'failing') throw new Error('broken');
    };
    const { poller, poll } = preparePoller(collect, {}, { name });
    if (state !== 'waiting') await poll();
    return poller;
  });
  return Promise.all(pollers);
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
    expect(readCluster(cluster, DEFAULT_FINDING_SETTINGS, atHourAgo, NOW_MS).state).toBe(expected);
  });

  test('began with the oldest of its worst problems, else when it was first seen', async () => {
    const pollers = await pollersOf(all);
    const keys: string[] = [];
    const since = (key: string): number => {
      keys.push(key);
      return atHourAgo();
    };
    const calm = readCluster(
      polledCluster({ pollers, isUp: true }),
      DEFAULT_FINDING_SETTINGS,
      since,
      NOW_MS,
    );
    expect([calm.since, keys]).toEqual([HOUR_AGO, ['healthy']]);
    const nodes = nodesResult(
      down(1, 1, 3_000),
      down(2, 2, 2_000),
      node(3, { isFresh: false, updatedSeconds: 1_000 }),
    );
    const hurt = readCluster(
      polledCluster({ pollers, isUp: true, results: { nodes } }),
      DEFAULT_FINDING_SETTINGS,
      since,
      NOW_MS,
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
      DEFAULT_FINDING_SETTINGS,
      () => NOW_MS,
      NOW_MS,
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

test('a state of the migration assistant that is not known is `other`, and without one there is none', async () => {
  const pollers = await pollersOf({ nodes: 'ok' });
  const read = (cloud: CloudResult) =>
    readCluster(
      polledCluster({ pollers, isUp: true, results: { cloud } }),
      DEFAULT_FINDING_SETTINGS,
      atHourAgo,
      NOW_MS,
    ).assistant;
  expect(read({ assistant: undefined })).toEqual({ exists: false });
  const strange = read({ assistant: assistantIn('dancing', 'glad') });
  expect([strange?.status, strange?.health]).toEqual(['other', 'other']);
});

describe('the history of a cluster', () => {
  test('has the figures of each successful poll, and a gap for a failed one', async () => {
    const history = new ClusterHistory(() => DEFAULT_FINDING_SETTINGS);
    const [nodes, ranges, sessions, broken] = [
      ...(await pollersOf({ nodes: 'ok', ranges: 'ok', sessions: 'ok' })),
      ...(await pollersOf({ nodes: 'failing' })),
    ];
    if (!nodes || !ranges || !sessions || !broken) throw new Error('no pollers');
    const results = {
      nodes: nodesResult(
        node(1, cpu(0.2)),
        node(2, cpu(0.4)),
        node(3),
        node(4, { livenessCode: 1 }),
      ),
      ranges: rangesResult(0),
      sessions: sessionsResult({
        a: { active: 1, idle_in_transaction: 2, idle: 4, oldestTransactionSeconds: 7 },
        b: { active: 8, oldestTransactionSeconds: 3 },
      }),
    };
    const polled = polledCluster({ pollers: [nodes, ranges, sessions], isUp: true, results });
    for (const name of ['nodes', 'ranges', 'sessions', 'users'])
      history.record(polled, name, NOW_MS);
    const partial = { ...results, ranges: rangesResult(2) };
    const pollers = [broken, ranges, sessions];
    const hurt = polledCluster({ pollers, isUp: true, results: partial });
    for (const name of ['nodes', 'ranges']) history.record(hurt, name, NOW_MS + 1_000);
    const shown = history.trends.filter(({ name }) => !/sql|statements/i.test(name));
    expect(shown).toEqual([
      { name: 'liveNodes', points: [pointAfter(0, 3), pointAfter(1_000)] },
      { name: 'cpuRatio', points: [pointAfter(0, 0.4), pointAfter(1_000)] },
      { name: 'queriesPerSecond', points: [pointAfter(0), pointAfter(1_000)] },
      { name: 'problemRanges', points: [pointAfter(0, 0), pointAfter(1_000)] },
      { name: 'openSessions', points: [pointAfter(0, 15)] },
      { name: 'oldestTransactionSeconds', points: [pointAfter(0, 7)] },
    ]);
  });

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
});
