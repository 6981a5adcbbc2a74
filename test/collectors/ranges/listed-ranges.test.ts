import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import {
  HotCandidates,
  HotLists,
  type HotRange,
  MAX_REMEMBERED,
  ProblemHistory,
  type ProblemRange,
  ProblemReports,
} from '../../../src/collectors/ranges/listed-ranges.ts';
import { RequestError } from '../../../src/http/errors.ts';
import { fakeCluster, type PollGiven, pollRanges, replica } from './cluster.ts';

const UNAVAILABLE = 1;
const OTHER = 1 << 11;

interface Report {
  readonly rangeId: number;
  readonly problems?: number;
  readonly nodeId?: number;
  readonly storeId?: number;
}

/** One scan at `nowSeconds`; returns the ranges reported unavailable, oldest first. */
function scan(
  history: ProblemHistory,
  nowSeconds: number,
  reported: readonly Report[],
  unread: readonly number[] = [],
): readonly ProblemRange[] {
  const reports = new ProblemReports(history);
  for (const { rangeId, problems = UNAVAILABLE, nodeId = 1, storeId = 1 } of reported) {
    reports.add(problems, { rangeId, nodeId, storeId, tableIndex: 0 });
  }
  return history.update(reports, nowSeconds, new Set(unread))[0] ?? [];
}

const timesOf = (listed: readonly ProblemRange[]) =>
  listed.map(({ rangeId, firstSeenSeconds }) => [rangeId, firstSeenSeconds]);

describe('first-seen times', () => {
  test('of ranges whose reporter could not be read are kept, but not listed', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9, nodeId: 4 }]);
    expect(scan(history, 200, [], [4])).toEqual([]);
    expect(timesOf(scan(history, 300, [{ rangeId: 9, nodeId: 4 }]))).toEqual([[9, 100]]);
  });

  test('belong to one problem each', () => {
    const history = new ProblemHistory();
    scan(history, 100, [{ rangeId: 9, problems: OTHER }]);
    expect(timesOf(scan(history, 200, [{ rangeId: 9, problems: OTHER | UNAVAILABLE }]))).toEqual([
      [9, 200],
    ]);
    expect(history.remembered[11]?.get(9)?.firstSeenSeconds).toBe(100);
  });

  test('of equal age are sorted by range id', () => {
    const shown = scan(new ProblemHistory(), 100, [{ rangeId: 11 }, { rangeId: 2 }]);
    expect(timesOf(shown)).toEqual([
      [2, 100],
      [11, 100],
    ]);
  });
});

test('the reporter listed is the lowest node, and on it the lowest store', () => {
  const [shown] = scan(new ProblemHistory(), 100, [
    { rangeId: 9, nodeId: 10, storeId: 1 },
    { rangeId: 9, nodeId: 2, storeId: 8 },
    { rangeId: 9, nodeId: 2, storeId: 7 },
    { rangeId: 9, nodeId: 2, storeId: 9 },
    { rangeId: 9, nodeId: 3, storeId: 1 },
  ]);
  expect(shown).toEqual({
    rangeId: 9,
    firstSeenSeconds: 100,
    nodeId: 2,
    storeId: 7,
    tableIndex: 0,
  });
});

test('the reports of a node are added to those of the scan', () => {
  const history = new ProblemHistory();
  const all = new ProblemReports(history);
  const one = new ProblemReports(history);
  all.add(UNAVAILABLE, { rangeId: 9, nodeId: 2, storeId: 2, tableIndex: 0 });
  one.add(UNAVAILABLE, { rangeId: 9, nodeId: 1, storeId: 1, tableIndex: 0 });
  all.addAll(one);
  expect(all.get('unavailable').get(9)?.nodeId).toBe(1);
});

describe('a cluster where very many ranges have a problem', () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ rangeId: 20_000 - at }));

  test('lists the lowest ids and remembers no more than the maximum', () => {
    const history = new ProblemHistory();
    const shown = scan(history, 100, many);
    expect(timesOf(shown.slice(0, 2))).toEqual([
      [1, 100],
      [2, 100],
    ]);
    expect(history.remembered[0]?.size).toBe(MAX_REMEMBERED);
  });

  test('does not lose an old one among new ones with lower ids', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 1_000_000 }]);
    const shown = scan(history, 100, [{ rangeId: 1_000_000 }, ...many]);
    expect(timesOf(shown.slice(0, 2))).toEqual([
      [1_000_000, 50],
      [1, 100],
    ]);
  });

  test('keeps the reports of the lowest new ids and of old ones, once there are too many', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 1_000_000 }, { rangeId: 5, problems: OTHER }]);
    const reports = new ProblemReports(history);
    const add = (rangeId: number): void =>
      reports.add(UNAVAILABLE, { rangeId, nodeId: 1, storeId: 1, tableIndex: 0 });
    add(1_000_000);
    for (let rangeId = 4_000; rangeId > 1; rangeId -= 1) add(rangeId);
    expect(reports.get('unavailable').size).toBe(4_000);
    add(1);
    const lowest = Array.from({ length: 1_000 }, (_, at) => at + 1);
    expect([...reports.get('unavailable').keys()].toSorted((a, b) => a - b)).toEqual([
      ...lowest,
      1_000_000,
    ]);
  });

  test('remembers the oldest ones, those of unread nodes among them', () => {
    const history = new ProblemHistory();
    scan(history, 50, [{ rangeId: 30_000, nodeId: 4 }]);
    scan(history, 100, many, [4]);
    const lowest = Array.from({ length: 999 }, (_, at) => at + 1);
    expect([...(history.remembered[0]?.keys() ?? [])]).toEqual([30_000, ...lowest]);
  });
});

function hotRange(
  rangeId: number,
  queries: number,
  cpuSeconds: number | undefined,
  nodeId = 1,
): HotRange {
  return { rangeId, nodeId, storeId: nodeId, tableIndex: 0, queries, writes: 0, cpuSeconds };
}

test('a range with few queries and much CPU is on the list, and a moved lease keeps it there', () => {
  const hot = new HotLists();
  const scanOnce = (...replicas: readonly HotRange[]) => {
    const candidates = new HotCandidates(hot, 1);
    for (const held of replicas) candidates.add(held);
    return hot.update(candidates, 1).map(({ rangeId, nodeId }) => [rangeId, nodeId]);
  };
  const busy = hotRange(1, 900, 0.1);
  expect(scanOnce(busy, hotRange(2, 3, 1.2), hotRange(3, 800, 0.2))).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(scanOnce(busy, hotRange(2, 3, 1.1, 5), hotRange(3, 800, 1.15))).toEqual([
    [1, 1],
    [2, 5],
  ]);
});

describe('hot ranges', () => {
  test('of several nodes are merged, with one entry for a range that two of them claim', () => {
    const hot = new HotLists();
    const [all, other] = [new HotCandidates(hot, 2), new HotCandidates(hot, 2)];
    all.add(hotRange(1, 10, undefined, 1));
    other.add(hotRange(1, 12, undefined, 2));
    other.add(hotRange(5, 11, undefined, 2));
    all.addAll(other);
    const listed = hot.update(all, 2);
    expect(listed.map(({ rangeId, nodeId }) => [rangeId, nodeId])).toEqual([
      [1, 2],
      [5, 2],
    ]);
  });

  test('have CPU of 0 where their node sends CPU and leaves zeros out, and else none', () => {
    const hot = new HotLists();
    const candidates = new HotCandidates(hot, 2);
    candidates.add(hotRange(1, 10, undefined, 1));
    candidates.add(hotRange(2, 9, undefined, 2));
    const listed = hot.update(candidates, 2, new Set([2]));
    expect(listed.map(({ cpuSeconds }) => cpuSeconds)).toEqual([undefined, 0]);
  });
});

/** Polls a cluster of one node, 1, with these elements. */
function pollElements(elements: readonly unknown[], given: PollGiven = {}) {
  return pollRanges(fakeCluster([{ nodeId: 1, ranges: elements }]).api, given);
}

/** When each listed range was first seen, in seconds. */
function readFirstSeen(of: (family: string) => readonly string[]) {
  const lines = of('crdb_problem_range_first_seen_timestamp_seconds');
  return lines.map((line) => line.split(' ').at(-1));
}

describe('the list of problem ranges', () => {
  const unavailable = [5, 3, 4].map((rangeId) =>
    replica({ rangeId, nodeId: 1, storeId: 1, problems: { unavailable: true } }),
  );

  test('holds the oldest, then the lowest ids, and counts those that it omits', async () => {
    const state = ranges.createState();
    const given = { state, options: { problem_ranges: 2 } };
    await pollElements(unavailable.slice(0, 1), { ...given, context: { nowMs: () => 500_000 } });
    const { of } = await pollElements(unavailable, given);
    const shown = of('crdb_problem_range_first_seen_timestamp_seconds');
    expect(shown.map((line) => /range_id="(\d+)".* (\d+)$/.exec(line)?.slice(1))).toEqual([
      ['5', '500'],
      ['3', '1000'],
    ]);
    expect(of('crdb_problem_ranges_omitted')).toHaveLength(13);
    expect(of('crdb_problem_ranges_omitted')).toContain('{problem="unavailable",shard="0"} 1');
    expect(of('crdb_range_problem_ranges')).toContain('{problem="unavailable",shard="0"} 3');
  });

  test('keeps first-seen times over a failed scan', async () => {
    const state = ranges.createState();
    await pollElements(unavailable, { state, context: { nowMs: () => 500_000 } });
    const down = fakeCluster([{ nodeId: 1, ranges: new RequestError('http', 'HTTP 500') }]);
    expect((await pollRanges(down.api, { state })).failure?.reason).toBe('http');
    const { of } = await pollElements(unavailable, { state });
    expect(readFirstSeen(of)).toEqual(['500', '500', '500']);
  });

  test('begins again for a range that a scan did not see with its problem', async () => {
    const state = ranges.createState();
    const given = { state, context: { nowMs: () => 500_000 } };
    await pollElements(unavailable, given);
    await pollElements(unavailable.slice(1), given);
    const { of } = await pollElements(unavailable, { state });
    expect(readFirstSeen(of)).toEqual(['500', '500', '1000']);
  });

  test('has the first-seen times of a scan that failed, too', async () => {
    const state = ranges.createState();
    const failing = { ranges: new RequestError('http', 'HTTP 500') };
    const nodes = [{ nodeId: 1, ranges: unavailable.slice(0, 1) }, { nodeId: 2 }, { nodeId: 3 }];
    const partial = nodes.map((node, at) => (at === 0 ? node : { ...node, ...failing }));
    const { failure } = await pollRanges(fakeCluster(partial).api, {
      state,
      context: { nowMs: () => 500_000 },
    });
    expect(failure?.message).toBe('ranges: 2 of 3 nodes were not read; HTTP 500');
    const { of } = await pollRanges(fakeCluster(nodes).api, { state });
    expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([
      '{problem="unavailable",range_id="5",table_id="104",index_id="1",shard="0"} 500',
    ]);
  });
});
