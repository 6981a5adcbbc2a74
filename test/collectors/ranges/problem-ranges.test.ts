import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { MAX_REMEMBERED, ProblemRanges } from '../../../src/collectors/ranges/problem-ranges.ts';
import type { ProblemRange } from '../../../src/collectors/ranges/scan-result.ts';
import {
  encodeKey,
  fakeCluster,
  LAST_KEY,
  type PollGiven,
  pollRanges,
  replica,
} from './cluster.ts';

const UNAVAILABLE = 1;

interface Report {
  readonly rangeId: number;
  readonly problems?: number;
  readonly nodeId?: number;
  readonly storeId?: number;
}

/** One scan at `nowSeconds`; returns the ranges reported unavailable, oldest first. */
function scan(
  history: ProblemRanges,
  nowSeconds: number,
  reported: readonly Report[],
  unread: readonly number[] = [],
): readonly ProblemRange[] {
  history.begin();
  for (const { rangeId, problems = UNAVAILABLE, nodeId = 1, storeId = 1 } of reported) {
    history.addRange(problems, { rangeId, nodeId, storeId, tableIndex: 0 });
  }
  return history.end(nowSeconds, new Set(unread), () => false)[0] ?? [];
}

const timesOf = (listed: readonly ProblemRange[]) =>
  listed.map(({ rangeId, firstSeenSeconds }) => [rangeId, firstSeenSeconds]);

describe('first-seen times', () => {
  test('of ranges whose reporter could not be read are kept, but not listed', () => {
    const history = new ProblemRanges();
    scan(history, 100, [{ rangeId: 9, nodeId: 4 }]);
    expect(scan(history, 200, [], [4])).toEqual([]);
    expect(timesOf(scan(history, 300, [{ rangeId: 9, nodeId: 4 }]))).toEqual([[9, 100]]);
  });
});

test('the reporter listed is the lowest node, and on it the lowest store', () => {
  const [shown] = scan(new ProblemRanges(), 100, [
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

describe('a cluster where very many ranges have a problem', () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ rangeId: 20_000 - at }));

  test('lists the lowest ids and remembers no more than the maximum', () => {
    const history = new ProblemRanges();
    const shown = scan(history, 100, many);
    expect(timesOf(shown.slice(0, 2))).toEqual([
      [1, 100],
      [2, 100],
    ]);
    const again = timesOf(scan(history, 200, many));
    expect(again.filter(([, firstSeen]) => firstSeen === 100)).toHaveLength(MAX_REMEMBERED);
  });

  test('remembers the oldest ones, those of unread nodes among them', () => {
    const history = new ProblemRanges();
    scan(history, 50, [{ rangeId: 30_000, nodeId: 4 }]);
    scan(history, 100, many, [4]);
    const shown = timesOf(scan(history, 200, [...many, { rangeId: 30_000, nodeId: 4 }]));
    expect([shown[0], shown[1], shown[999], shown[1000]]).toEqual([
      [30_000, 50],
      [1, 100],
      [999, 100],
      [1_000, 200],
    ]);
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
    await pollElements(unavailable.slice(0, 1), { ...given, clock: { wallMs: () => 500_000 } });
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

  test.each([3_600, -3_600])(
    'moves first-seen times with the wall clock that is set by %i s',
    async (bySeconds) => {
      const state = ranges.createState();
      await pollElements(unavailable.slice(0, 1), { state });
      const clock = {
        wallMs: () => 1_030_000 + bySeconds * 1_000,
        monotonicMs: () => 1_030_000,
      };
      const { of } = await pollElements(unavailable, { state, clock });
      expect(readFirstSeen(of)).toEqual([1_000, 1_030, 1_030].map((at) => String(at + bySeconds)));
    },
  );

  test('keeps first-seen times over a failed scan', async () => {
    const state = ranges.createState();
    await pollElements(unavailable, { state, clock: { wallMs: () => 500_000 } });
    const down = fakeCluster([{ nodeId: 1, ranges: new RequestError('http', 'HTTP 500') }]);
    expect((await pollRanges(down.api, { state })).failure?.reason).toBe('http');
    const { of } = await pollElements(unavailable, { state });
    expect(readFirstSeen(of)).toEqual(['500', '500', '500']);
  });
});

/** A range between two of the keys 1 to 4; range 2 has a problem. */
const element = (nodeId: number, rangeId: number, from: number, to: number) =>
  replica({
    rangeId,
    nodeId,
    storeId: nodeId,
    lease: 1,
    keys: [from === 1 ? undefined : encodeKey(from), to === 4 ? LAST_KEY : encodeKey(to)],
    problems: rangeId === 2 ? { underreplicated: true } : {},
  });

test('a range that was merged while the nodes were read is not listed with its problem', async () => {
  const merged = (nodeId: number) => [element(nodeId, 1, 1, 3), element(nodeId, 3, 3, 4)];
  // Node 1 was read before the merge.
  const before = [element(1, 1, 1, 2), element(1, 2, 2, 3), element(1, 3, 3, 4)];
  const { api } = fakeCluster([
    { nodeId: 1, ranges: before, again: merged(1) },
    { nodeId: 2, ranges: merged(2) },
    { nodeId: 3, ranges: merged(3) },
  ]);
  const { of } = await pollRanges(api);
  expect(of('crdb_range_key_space_complete')).toEqual(['1']);
  const count = '{problem="underreplicated",shard="0"} 0';
  expect(of('crdb_range_problem_ranges')).toContain(count);
  expect(of('crdb_problem_ranges_omitted')).toContain(count);
  expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([]);
});
