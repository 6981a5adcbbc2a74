import { expect, test } from 'vitest';
import { readCluster } from '../read-status.ts';
import { openChanged, simulatorOf } from './worlds.ts';

const PLACED = { placed: [1, 2, 3] };

test('what one follower claims is said of it alone, with the alert of the claim', async () => {
  await using scene = await openChanged(
    5,
    (simulator) => {
      const node = simulator.truth().nodes.find(({ nodeId }) => nodeId === 3);
      for (let id = 10; id < 20; id += 1) {
        simulator.world.moveLease(id, 1);
        simulator.world.setProblem(id, 'unavailable', true, node?.storeIds[0]);
      }
    },
    PLACED,
  );
  await scene.exporter.until(
    (scrape) => scrape.value('crdb_range_problem_ranges', { problem: 'unavailable' }) === 10,
  );
  const { ranges, findings, safeToStop } = await readCluster(scene);
  expect(ranges).toMatchObject({
    problems: { unavailable: 10 },
    disputed: { ranges: 10, nodeIds: [3] },
    withoutQuorum: { tables: [], otherRanges: 0, unnamedRanges: 0 },
  });
  const found = findings.filter(({ level }) => level === 'critical');
  expect(found.map(({ key, alert }) => [key, alert])).toEqual([
    ['ranges disputed', 'CrdbRangesUnavailable'],
  ]);
  expect(found[0]?.text).toMatch(
    /^Only node 3 reports 10 ranges as without a quorum of replicas: /,
  );
  expect(found[0]?.next).toMatch(/^Check node 3: /);
  expect(`${found[0]?.text} ${found[0]?.next}`).not.toMatch(/disk|start/i);
  expect(safeToStop).toMatchObject({
    answer: 'no',
    reason: 'only node 3 reports ranges as without a quorum',
  });
});

test('replicas that merges left behind are named, and nothing is critical', async () => {
  await using scene = await openChanged(
    5,
    ({ world }) => {
      world.leaveBehind(40, [2], { problems: ['unavailable', 'no_raft_leader'] });
      world.leaveBehind(39, [3], { knowsLease: true });
    },
    PLACED,
  );
  await scene.exporter.until((scrape) => scrape.value('crdb_ranges_left_over') === 2);
  const { ranges, findings, safeToStop } = await readCluster(scene);
  expect(simulatorOf(scene).truth().ranges.leftOver).toEqual([39, 40]);
  expect(ranges?.verification).toMatchObject({
    keySpace: 'complete',
    servingNothing: 0,
    unverified: 0,
  });
  const left = ranges?.verification?.leftOver.toSorted((a, b) => a.rangeId - b.rangeId);
  expect(left).toMatchObject([
    { rangeId: 39, nodeIds: [3] },
    { rangeId: 40, nodeIds: [2] },
  ]);
  expect(ranges?.problems['unavailable']).toBeUndefined();
  expect(findings.filter(({ level }) => level === 'critical')).toEqual([]);
  const found = findings.filter(({ key }) => key === 'ranges left over');
  expect(found).toMatchObject([{ level: 'info' }]);
  expect(found[0]?.text).toMatch(/^2 ranges are left over from merges: r\d+ of .* on node/);
  expect(safeToStop.answer).toBe('yes');
});
