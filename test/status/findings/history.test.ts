import { describe, expect, test } from 'vitest';
import { ClusterHistory } from '../../../src/status/findings/history.ts';
import { preparePoller, START_MS } from '../../collectors/polling/prepare-poller.ts';
import { scannedNode } from '../../collectors/ranges/cluster.ts';
import { DEFAULT_FINDING_SETTINGS } from '../finding-settings.ts';
import {
  clusterConfig,
  node,
  nodesResult,
  polledCluster,
  pollersOf,
  scannedRanges,
  sessionsResult,
  WHOLE_SCAN,
} from '../results.ts';

/** The duration of a scan. */
const SCAN_MS = 120_000;

const LISTED = {
  rangeId: 12,
  nodeId: 4,
  storeId: 4,
  tableIndex: 0,
  firstSeenSeconds: START_MS / 1000 - 59,
};

/** A scan that proves the loss of a range. */
const LOST_RANGE = scannedRanges(
  {
    cluster: { ...WHOLE_SCAN, lost: 1 },
    problems: new Map([['no_live_replica', { ranges: 1, listed: [LISTED] }]]),
  },
  [scannedNode(1)],
);

describe('the history of a cluster', () => {
  test('knows since when a state and a finding last, and which the first polls found', async () => {
    const history = new ClusterHistory(
      () => DEFAULT_FINDING_SETTINGS,
      () => 0,
    );
    const pollers = await pollersOf({ nodes: 'ok' });
    const leaving = { nodes: nodesResult(node(1, { livenessCode: 4 })) };
    const calm = polledCluster({ pollers, isUp: true });
    const hurt = polledCluster({ pollers, isUp: true, results: leaving });
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

  test.each([12, -12])(
    'makes no problem older or younger when the wall clock is set by %i hours',
    async (hours) => {
      const clock = { wallMs: 100 * 3_600_000, monotonicMs: 0 };
      const history = new ClusterHistory(
        () => DEFAULT_FINDING_SETTINGS,
        () => clock.monotonicMs,
      );
      const pollers = await pollersOf({ nodes: 'ok' });
      const draining = { nodes: nodesResult(node(1, { livenessCode: 6 })) };
      const cluster = polledCluster({ pollers, isUp: true, results: draining });
      const pass = (minutes: number): void => {
        clock.wallMs += minutes * 60_000;
        clock.monotonicMs += minutes * 60_000;
      };
      /** How severe it is, and the minutes that it lasts. */
      const shown = () => {
        const { findings, since } = history.read(cluster, clock.wallMs);
        const found = findings.map(({ level, since: began }) => [level, began] as const);
        return [['cluster', since] as const, ...found].map(
          ([what, began]) => `${what} ${(clock.wallMs - Date.parse(began)) / 60_000}`,
        );
      };
      history.record(cluster, 'nodes', clock.wallMs);
      pass(30);
      expect(shown()).toEqual(['cluster 30', 'warning 30']);
      clock.wallMs += hours * 3_600_000;
      expect(shown()).toEqual(['cluster 30', 'warning 30']);
      history.record(cluster, 'nodes', clock.wallMs);
      pass(29);
      expect(shown()).toEqual(['cluster 59', 'warning 59']);
      expect(history.problems.map(({ since }) => Date.parse(since))).toEqual([
        clock.wallMs - 59 * 60_000,
      ]);
    },
  );

  test('says what was found before a restart of the polls, which have no result yet', async () => {
    const history = new ClusterHistory(
      () => DEFAULT_FINDING_SETTINGS,
      () => 0,
    );
    const names = { nodes: 'ok', ranges: 'ok', sessions: 'ok' };
    const before = polledCluster({
      pollers: await pollersOf(names),
      isUp: true,
      config: await clusterConfig('monitor'),
      results: { nodes: nodesResult(node(1)), sessions: sessionsResult({}), ranges: LOST_RANGE },
    });
    for (const minute of [1, 2, 3]) {
      for (const { collector } of before.pollers)
        history.record(before, collector.name, START_MS + minute * 60_000);
    }
    const waiting = { nodes: 'waiting', ranges: 'waiting', sessions: 'waiting' };
    const unpolled = polledCluster({ pollers: await pollersOf(waiting), isUp: undefined });
    const { findings } = history.read(unpolled, START_MS + 240_000);
    expect(findings.map(({ key }) => key)).toEqual(['ranges no_live_replica', 'own sessions']);
  });

  test.each([12, -12])(
    'knows how long ago it was that something was last seen when the wall clock is set by %i hours',
    async (hours) => {
      const clock = { wallMs: START_MS + 1_000, monotonicMs: 0 };
      const history = new ClusterHistory(
        () => DEFAULT_FINDING_SETTINGS,
        () => clock.monotonicMs,
      );
      const names = { nodes: 'ok', ranges: 'ok' };
      const polled = { pollers: await pollersOf(names), isUp: true };
      const results = { nodes: nodesResult(node(1)), ranges: LOST_RANGE };
      for (const { collector } of polled.pollers)
        history.record(polledCluster({ ...polled, results }), collector.name, clock.wallMs);
      const failing = await pollersOf({ nodes: 'failing', ranges: 'failing' });
      const shown = () => {
        const [problem] = history.read(polledCluster(polled), clock.wallMs).findings;
        const blind = polledCluster({ pollers: failing, isUp: false });
        const { lastKnown } = history.read(blind, clock.wallMs);
        const { nodes, ranges, worst } = lastKnown ?? {};
        const times = [nodes?.seenAt, ranges?.seenAt, ranges?.oldest[0]?.firstSeenAt];
        return [
          problem?.text,
          ...[...times, worst?.seenAt, worst?.since, problem?.since].map(
            (time) => (clock.wallMs - Date.parse(time ?? '')) / 60_000,
          ),
        ];
      };
      clock.wallMs += 1_800_000;
      clock.monotonicMs += 1_800_000;
      const before = shown();
      expect(before).toEqual([
        expect.stringMatching(/^Not known now, last known 30 min ago: 1 /),
        30,
        30,
        31,
        30,
        31,
        31,
      ]);
      clock.wallMs += hours * 3_600_000;
      expect(shown()).toEqual(before);
    },
  );

  test('compares a scan with the counts since its start', async () => {
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
    let monotonicMs = 0;
    const history = new ClusterHistory(
      () => DEFAULT_FINDING_SETTINGS,
      () => monotonicMs,
    );
    const disagreesAfter = async (minute: number) => {
      for (const [at, { clock, poll, poller }] of polled.entries()) {
        clock.nowMs = minute * 60_000 + (at === 0 ? -SCAN_MS : 15_000);
        await poll();
        monotonicMs = clock.nowMs;
        history.record(cluster, poller.collector.name, clock.nowMs);
      }
      return history.problems.some(({ alert }) => alert === 'CrdbScanDisagrees');
    };
    const found: boolean[] = [];
    for (const minute of [0, 1, 2, 3, 4, 5, 6]) {
      // The scan read no replicas, as the node counts in the first minute.
      replicas.set('replicas', minute === 0 ? 0 : 1_000);
      found.push(await disagreesAfter(minute));
    }
    expect(found).toEqual([false, false, false, false, false, false, true]);
  });
});
