import { describe, expect, test } from 'vitest';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import { RequestError } from '../../../src/http/errors.ts';
import { fakeCluster, type PollGiven, pollRanges, replica } from './cluster.ts';

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
