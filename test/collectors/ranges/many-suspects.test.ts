import { expect, test } from 'vitest';
import { MAX_READ_AGAIN } from '../../../src/collectors/ranges/key-space.ts';
import { fakeCluster, pollRanges } from './cluster.ts';
import { many, show } from './shown-ranges.ts';

/** What a scan says of this many ranges whose leaseholders know no leader. */
async function stuck(count: number) {
  const cluster = fakeCluster([]);
  show(cluster, { holders: many(count, [1, 2, 3]), problems: { no_raft_leader: true } });
  const { cluster: scanned, of } = await pollRanges(cluster.api);
  expect(of('crdb_range_problem_ranges').find((line) => line.includes('no_raft_leader'))).toContain(
    `} ${count}`,
  );
  return [scanned?.servingNothing, scanned?.stuck, scanned?.unverified, scanned?.isServingBound];
}

test('ranges that serve nothing are counted up to those that can be asked again; others are not verified', async () => {
  expect(await stuck(MAX_READ_AGAIN)).toEqual([MAX_READ_AGAIN, MAX_READ_AGAIN, 0, false]);
  expect(await stuck(MAX_READ_AGAIN + 7)).toEqual([MAX_READ_AGAIN, MAX_READ_AGAIN, 7, true]);
});
