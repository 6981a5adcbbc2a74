import { expect, it } from 'vitest';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../simulator/index.ts';
import { createRandom } from '../../simulator/random.ts';
import { ask, type RangesBody } from './client.ts';

const WORLD = {
  nodes: 4,
  ranges: 12,
  storesPerNode: 2,
  sessions: 0,
  metricKeys: 'useful',
  faultyNodes: false,
  frozen: true,
  insecure: true,
} as const;

/** Start and end of each range as the leaseholders list them, in base64; the first has no start. */
async function listedKeys(simulator: Simulator): Promise<Map<string, string>> {
  const keys = new Map<string, string>();
  for (const { nodeId } of simulator.truth().nodes) {
    const url = `${simulator.clusterUrl}/api/v2/nodes/${nodeId}/ranges/`;
    const { ranges } = (await ask<RangesBody>(url)).json();
    for (const { desc } of ranges) {
      const { start_key: start = '', end_key: end = '' } = desc;
      keys.set(String(start), String(end));
    }
  }
  return keys;
}

/** The ranges from /Min to /Max; stops at the first gap. */
function follow(keys: ReadonlyMap<string, string>): string[] {
  const ends = [];
  for (let end = keys.get(''); end !== undefined; end = keys.get(end)) ends.push(end);
  return ends;
}

const MAX_KEY = Buffer.from([0xff, 0xff]).toString('base64');

it.each<[string, Partial<SimulatorOptions>]>([
  ['tables', {}],
  ['a virtual cluster', { virtualCluster: 3, quirks: { defaultVirtualCluster: 'system' } }],
  ['system ranges', { ranges: 3 }],
  ['one range', { ranges: 1 }],
])('is whole after any splits and merges of %s', async (_, more) => {
  await using simulator = await startSimulator({ ...WORLD, ...more });
  const { world } = simulator;
  const random = createRandom(7);
  const ids = [...world.state.ranges.keys()];
  for (let step = 0; step < 120; step++) {
    const id = random.pick([...world.state.ranges.keys()]);
    const kind = random.integer(1, 4);
    const added =
      kind <= 2 ? world.splitRange(id) : kind === 3 ? world.addRange([1, 2, 3]) : undefined;
    if (kind === 4) world.removeRange(id);
    if (added !== undefined) ids.push(added);
  }
  // No id was used again.
  expect(new Set(ids).size).toBe(ids.length);
  const keys = await listedKeys(simulator);
  expect(keys.size).toBe(world.state.ranges.size);
  expect(keys.size).toBeGreaterThan(20);
  const ends = follow(keys);
  expect(ends).toHaveLength(keys.size);
  expect(ends.at(-1)).toBe(MAX_KEY);
  const bytes = ends.map((end) => Buffer.from(end, 'base64'));
  expect(bytes.toSorted((a, b) => Buffer.compare(a, b))).toEqual(bytes);
});

it('can be split at the same place again and again', async () => {
  await using simulator = await startSimulator(WORLD);
  const { world } = simulator;
  for (let count = 0; count < 60; count++) world.splitRange(6);
  const keys = await listedKeys(simulator);
  expect(follow(keys)).toHaveLength(72);
});

it('keeps the id of the left range in a merge, and its replicas', async () => {
  await using simulator = await startSimulator(WORLD);
  const { world } = simulator;
  const [left, right] = [world.state.ranges.get(6), world.state.ranges.get(7)];
  const before = left?.replicas.map(({ storeId }) => storeId);
  const end = right?.end;
  expect(world.mergeRange(6)).toBe(true);
  const merged = world.state.ranges.get(6);
  expect(merged?.end).toBe(end);
  expect(merged?.replicas.map(({ storeId }) => storeId)).toEqual(before);
  expect(world.state.ranges.has(7)).toBe(false);
});

it('is not merged while a replica is cut off, and never beyond its ends', async () => {
  await using simulator = await startSimulator(WORLD);
  const { world } = simulator;
  world.placeRange(7, [1, 2, 3]);
  world.killNode(3);
  expect(world.mergeRange(6)).toBe(false);
  expect(world.removeRange(1)).toBe(false);
  expect(world.mergeRange(12)).toBe(false);
  expect(world.state.ranges.size).toBe(12);
});

it('leaves replicas of merged ranges behind, which name what the range was', async () => {
  await using simulator = await startSimulator(WORLD);
  const { world } = simulator;
  for (const id of [6, 7, 8]) world.placeRange(id, [1, 2, 3]);
  expect(world.leaveBehind(8, [2])).toBe(true);
  expect(world.leaveBehind(7, [2, 3], { knowsLease: true })).toBe(true);
  world.killNode(2);
  world.reviveNode(2);
  expect([...world.state.ranges.keys()]).not.toContain(7);
  expect(simulator.truth().ranges).toMatchObject({ leftOver: [7, 8], unseen: 0, distinct: 12 });
  expect(simulator.dependence()).toMatchObject({ servingNothing: [], withoutQuorum: [] });
  const url = `${simulator.clusterUrl}/api/v2/nodes/2/ranges/?ranges=7,8`;
  const { ranges } = (await ask<RangesBody>(url)).json();
  const problems = { no_raft_leader: true, circuit_breaker_error: true };
  expect(ranges).toMatchObject([{ problems }, { problems }]);
  expect(ranges.map(({ lease_history: leases }) => leases?.length ?? 0)).toEqual([
    expect.any(Number),
    0,
  ]);
  const described = await ask<{ ranges: unknown[] }>(
    `${simulator.clusterUrl}/_status/ranges/2?range_ids=8`,
  );
  expect(described.json().ranges).toMatchObject([{ isLeaseholder: false, leaseValid: false }]);
});
