import { describe, expect, test } from 'vitest';
import { freshnessOf } from '../../../src/cockroach/node.ts';
import { compareClocks } from '../../../src/status/findings/check-clocks.ts';
import { ClusterHistory } from '../../../src/status/findings/history.ts';
import { judge } from '../../../src/status/findings/judge.ts';
import { DEFAULT_FINDING_SETTINGS } from '../finding-settings.ts';
import {
  collectorState,
  node,
  type Node,
  nodesResult,
  observeAt,
  polledCluster,
  pollersOf,
} from '../results.ts';

/** When the poll ended, by the clock of the exporter. */
const NOON = Date.parse('2026-03-01T12:00:00Z') / 1000;

/** A node with a record of this time, which reports this offset of its clock. */
function written(id: number, updatedSeconds: number, offsetMs = 1): Node {
  const metrics = new Map([['clock-offset.meannanos', offsetMs * 1e6]]);
  return node(id, { updatedSeconds, metrics });
}

/** The list of these nodes, which the server sent at this time by its clock. */
function listed(nodes: readonly Node[], answeredSeconds: number) {
  const answeredMs = answeredSeconds * 1000;
  const isFresh = freshnessOf(nodes, answeredMs);
  return {
    ...nodesResult(...nodes.map((each) => ({ ...each, isFresh: isFresh(each) }))),
    answeredMs,
  };
}

/** The texts of what is found in a poll that ended at noon, with the alerts. */
function find(nodes: readonly Node[], answeredSeconds = NOON) {
  const results = { nodes: listed(nodes, answeredSeconds) };
  const cluster = polledCluster({ pollers: [], isUp: true, results });
  const evidence = observeAt(NOON * 1000, cluster);
  const collectors = [collectorState('nodes')];
  const clocks = compareClocks(collectors, results.nodes);
  return judge({ ...evidence, view: { ...evidence.view, collectors }, clocks }, () => NOON * 1000);
}

function textsOf(...given: Parameters<typeof find>): readonly string[] {
  return find(...given).findings.map(({ alert, text }) => `${alert}: ${text}`);
}

function off(who: string, time: string): readonly string[] {
  return [`CrdbClockOffsetHigh: ${who}: the clock is up to ${time} off those of the others.`];
}

/** Nodes whose records are seconds old at this time. */
function nodesAt(seconds: number): readonly Node[] {
  return [written(1, seconds - 3), written(2, seconds - 8)];
}

describe('a node whose clock is wrong', () => {
  test.each([16, 59, 3_600, 1e9])('by %i s ahead is named, at once', (seconds) => {
    const { findings } = find([
      written(1, NOON - 3),
      written(2, NOON - 9),
      written(3, NOON + seconds),
    ]);
    expect(findings).toMatchObject([
      {
        alert: 'CrdbClockOffsetHigh',
        level: 'warning',
        text: expect.stringMatching(/^Node 3: the clock is up to .* off those of the others\.$/),
      },
    ]);
  });

  test('behind is named when its records keep coming; one that stops writing is not', async () => {
    const history = new ClusterHistory(
      () => DEFAULT_FINDING_SETTINGS,
      () => 0,
    );
    const pollers = await pollersOf({ nodes: 'ok' });
    const polls = [0, 30, 60].map((after) => {
      const now = NOON + after;
      const nodes = [written(1, now - 2), written(2, now - 5, 1_200_000)];
      const late = written(3, now - 3_600);
      const results = { nodes: listed([...nodes, written(4, NOON - 300), late], now) };
      const cluster = polledCluster({ pollers, isUp: true, results });
      history.record(cluster, 'nodes', now * 1000);
      const { findings } = history.read(cluster, now * 1000);
      return findings.filter(({ about }) => about === 'nodes').map(({ text }) => text);
    });
    expect(polls.at(-1)).toEqual([
      'Node 4 has stopped updating the record that node metrics are read from, or its clock is behind.',
      'Node 3: the clock is up to 59 min 55 s off those of the others.',
    ]);
  });

  test('behind is not named once the clocks of the others were set back to its time', async () => {
    const history = new ClusterHistory(
      () => DEFAULT_FINDING_SETTINGS,
      () => 0,
    );
    const pollers = await pollersOf({ nodes: 'ok' });
    const polls = [3_600, 3_630, 60, 90].map((after) => {
      const now = NOON + after;
      const right = written(3, NOON + (after % 3_600) - 3);
      const results = { nodes: listed([written(1, now - 2), written(2, now - 5), right], now) };
      const cluster = polledCluster({ pollers, isUp: true, results });
      history.record(cluster, 'nodes', now * 1000);
      const { findings } = history.read(cluster, now * 1000);
      return findings.filter(({ alert }) => alert === 'CrdbClockOffsetHigh').length;
    });
    expect(polls).toEqual([0, 1, 0, 0]);
  });

  test('is named alone where the means that others report follow from it', () => {
    const at = NOON - 3;
    const offsets = (...all: readonly number[]) =>
      textsOf(all.map((offset, index) => written(index + 1, at, offset)));
    expect(offsets(-300, -310, 900, -290)).toEqual(off('Node 3', '900 ms'));
    expect(offsets(-600, 610)).toEqual(off('Nodes 1 and 2', '610 ms'));
    expect(offsets(700, 10, 900, 20)).toEqual(off('Nodes 1 and 3', '900 ms'));
    expect(offsets(150, 190, -199)).toEqual([]);
    expect(offsets(-450, 225, 225)).toEqual(off('Node 1', '450 ms'));
  });

  test('is named alone where other nodes report nothing', () => {
    const live = [-450, 225, 225].map((offset, index) => written(index + 1, NOON - 3, offset));
    const dead = [4, 5].map((id) => written(id, NOON - 600));
    expect(textsOf([...live, ...dead])).toContain(off('Node 1', '450 ms')[0]);
  });
});

describe('the exporter and the server disagree on the time', () => {
  test.each([
    [180, '3 min behind the clock of'],
    [-3_600, '1 h ahead of the clock of'],
  ])('by %i s: where the nodes agree with the server, the exporter is wrong', (seconds, much) => {
    expect(textsOf(nodesAt(NOON + seconds), NOON + seconds)).toEqual([
      `CrdbExporterClockWrong: The clock of the exporter is ${much} the server.`,
    ]);
  });

  test.each([
    [180, '3 min ahead of'],
    [-3_600, '1 h behind'],
  ])('by %i s: where they agree with the exporter, the Date is wrong', (seconds, much) => {
    const reading = find(nodesAt(NOON), NOON + seconds);
    expect(reading.state).toBe('problems');
    expect(reading.findings).toMatchObject([
      {
        alert: 'CrdbExporterClockWrong',
        level: 'warning',
        text: `The Date of the responses is ${much} the clocks of the exporter and of the nodes.`,
      },
    ]);
  });

  test('by less than half a minute: nothing is found', () => {
    expect(textsOf(nodesAt(NOON + 30), NOON + 30)).toEqual([]);
    expect(textsOf(nodesAt(NOON - 30), NOON - 30)).toEqual([]);
  });
});

test('the latency of a cluster whose nodes all stopped writing is not shown', () => {
  const metrics = new Map([['sql.service.latency-p99', 5e8]]);
  const shown = [0, 600].map((after) => {
    const results = { nodes: listed([node(1, { updatedSeconds: NOON, metrics })], NOON + after) };
    const cluster = polledCluster({ pollers: [], isUp: true, results });
    return observeAt((NOON + after) * 1000, cluster).view.sqlLoad;
  });
  expect(shown).toEqual([{ latencyP99Seconds: 0.5, slowestNodeId: 1 }, undefined]);
});
