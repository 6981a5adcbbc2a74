import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import {
  ask,
  clusterClient,
  describeRanges,
  type RangesBody,
  type WireDescribedRange,
} from './client.ts';

/** Five nodes with one store each; range 6 has voters on nodes 1, 2 and 3. */
async function openWorld(): Promise<Simulator> {
  const simulator = await startSimulator({
    nodes: 5,
    gateways: 5,
    ranges: 20,
    storesPerNode: 1,
    sessions: 0,
    metricKeys: 'useful',
    faultyNodes: false,
    frozen: true,
    insecure: true,
  });
  onTestFinished(() => simulator.close());
  simulator.world.placeRange(6, [1, 2, 3]);
  return simulator;
}

async function describedBy(
  simulator: Simulator,
  nodeId: number,
): Promise<WireDescribedRange | undefined> {
  return (await describeRanges(simulator, nodeId, [6]))[0];
}

const summaryOf = (range: WireDescribedRange | undefined) =>
  range && {
    generation: Number(range.state.state.desc.generation),
    nodes: range.state.state.desc.internalReplicas.map(({ nodeId }) => nodeId),
    leaseValid: range.leaseValid,
    isLeaseholder: range.isLeaseholder,
  };

/** The ids of the ranges that a node lists, with their end keys. */
async function listedBy(simulator: Simulator, nodeId: number): Promise<Map<number, unknown>> {
  const url = `${simulator.clusterUrls[nodeId - 1]}/api/v2/nodes/local/ranges/`;
  const { ranges } = (await ask<RangesBody>(url)).json();
  return new Map(ranges.map(({ desc }) => [desc.range_id, desc.end_key]));
}

describe('GET /_status/ranges/{id}', () => {
  it('answers the descriptors of the ranges that the node holds, 64-bit integers as text', async () => {
    const simulator = await openWorld();
    const { ranges } = simulator.world.state;
    const held = [...ranges.values()].filter(({ replicas }) =>
      replicas.some(({ nodeId }) => nodeId === 2),
    );
    const described = await describeRanges(simulator, 2, [...ranges.keys(), 999]);
    expect(described.map(({ state }) => state.state.desc)).toEqual(
      held.map(({ id, start, end, replicas, nextReplicaId, generation }) => ({
        rangeId: String(id),
        startKey: start.bytes.toString('base64'),
        endKey: end.bytes.toString('base64'),
        internalReplicas: replicas.map(({ nodeId, storeId, replicaId, type }) => ({
          nodeId,
          storeId,
          replicaId,
          type,
        })),
        nextReplicaId,
        generation: String(generation),
      })),
    );
    expect(described.length).toBeGreaterThan(0);
    expect(described.length).toBeLessThan(ranges.size);
  });

  it('names one leaseholder, whose lease all replicas know to be valid', async () => {
    const simulator = await openWorld();
    const described = await Promise.all([1, 2, 3].map((id) => describedBy(simulator, id)));
    expect(described.map((range) => range?.isLeaseholder)).toEqual([true, false, false]);
    expect(described.map((range) => range?.leaseValid)).toEqual([true, true, true]);
  });

  it('has no valid lease without a majority of live voters, and one again afterwards', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.placeRange(6, [1, 2, 3], [4, 5]);
    world.killNode(2);
    expect(summaryOf(await describedBy(simulator, 1))).toMatchObject({ leaseValid: true });
    world.killNode(3);
    for (const id of [1, 4]) {
      expect(summaryOf(await describedBy(simulator, id))).toMatchObject({
        leaseValid: false,
        isLeaseholder: false,
      });
    }
    world.reviveNode(2);
    expect(summaryOf(await describedBy(simulator, 1))).toMatchObject({ leaseValid: true });
  });

  it('moves the lease to another voter when its node stops, and back to a majority that returns', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.killNode(1);
    expect(summaryOf(await describedBy(simulator, 2))).toMatchObject({ isLeaseholder: true });
    world.killNode(2);
    world.reviveNode(1);
    expect(summaryOf(await describedBy(simulator, 1))).toMatchObject({ isLeaseholder: true });
  });

  it('raises the generation with each change', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    const generations = [];
    for (const change of [
      () => undefined,
      () => world.placeRange(6, [1, 2, 4]),
      () => world.splitRange(6),
      () => world.mergeRange(6),
      () => world.moveLease(6, 2),
    ]) {
      change();
      generations.push(summaryOf(await describedBy(simulator, 1))?.generation ?? NaN);
    }
    const [first = 0, placed, split, merged = 0, moved] = generations;
    expect([placed, split]).toEqual([first + 1, first + 2]);
    expect(merged).toBeGreaterThan(first + 2);
    expect(moved).toBe(merged);
  });
});

describe('a node that was cut off while its ranges changed', () => {
  it('answers as before, until it has caught up', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    const before = summaryOf(await describedBy(simulator, 1));
    world.killNode(3);
    world.placeRange(6, [1, 2, 4]);
    world.reviveNode(3, true);
    // The range no longer names node 3, which does not know it.
    expect(summaryOf(await describedBy(simulator, 3))).toEqual({
      ...before,
      leaseValid: false,
      isLeaseholder: false,
    });
    expect(summaryOf(await describedBy(simulator, 1))).toMatchObject({ nodes: [1, 2, 4] });
    expect((await listedBy(simulator, 3)).has(6)).toBe(true);
    world.catchUp(3);
    expect(await describedBy(simulator, 3)).toBeUndefined();
    expect((await listedBy(simulator, 3)).has(6)).toBe(false);
  });

  it('may hold the last lease that it knows of, which is not valid', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.killNode(1);
    world.placeRange(6, [2, 3, 4]);
    world.reviveNode(1, true);
    const [stale, current] = [await describedBy(simulator, 1), await describedBy(simulator, 2)];
    expect(summaryOf(stale)).toMatchObject({ leaseValid: false, isLeaseholder: false });
    expect(summaryOf(current)).toMatchObject({ leaseValid: true, isLeaseholder: true });
  });

  it('does not know of a split, and lacks the new range', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    const keys = await listedBy(simulator, 3);
    world.killNode(3);
    const id = world.splitRange(6);
    world.reviveNode(3, true);
    const after = await listedBy(simulator, 3);
    expect(after.get(6)).toBe(keys.get(6));
    expect(after.has(id)).toBe(false);
    expect((await listedBy(simulator, 1)).get(6)).not.toBe(keys.get(6));
    world.catchUp(3);
    expect(await listedBy(simulator, 3)).toEqual(
      new Map([...keys, [6, (await listedBy(simulator, 1)).get(6)], [id, keys.get(6)]]),
    );
  });

  it('still holds a range that was moved away and then merged', async () => {
    const simulator = await openWorld();
    const { world } = simulator;
    world.killNode(3);
    for (const id of [5, 6, 7]) world.placeRange(id, [1, 2, 4]);
    expect(world.mergeRange(5)).toBe(true);
    world.reviveNode(3, true);
    expect((await listedBy(simulator, 3)).has(6)).toBe(true);
    expect((await listedBy(simulator, 1)).has(6)).toBe(false);
  });

  it('that returns with `reviveNode` alone is up to date at once', async () => {
    const simulator = await openWorld();
    simulator.world.killNode(3);
    simulator.world.placeRange(6, [1, 2, 4]);
    simulator.world.reviveNode(3);
    expect(await describedBy(simulator, 3)).toBeUndefined();
  });
});

it.each([
  ['forbidden', 403],
  ['missing', 404],
  ['unimplemented', 501],
] as const)('is %s by a quirk', async (quirk, status) => {
  const simulator = await openWorld();
  simulator.setQuirk('rangeDescriptors', quirk);
  const url = `${simulator.clusterUrl}/_status/ranges/1?range_ids=1`;
  expect((await ask(url)).status).toBe(status);
});

it.each([400, 414] as const)('refuses more ids than a quirk allows with %d', async (status) => {
  const simulator = await openWorld();
  simulator.setQuirk('maxDescriptorIds', 2);
  simulator.setQuirk('tooManyIds', status);
  const statuses = ['range_ids=1&range_ids=2', 'range_ids=1&range_ids=2&range_ids=3'].map(
    async (query) => (await ask(`${simulator.clusterUrl}/_status/ranges/1?${query}`)).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, status]);
});

it('refuses a list of ids in one parameter', async () => {
  const simulator = await openWorld();
  const url = `${simulator.clusterUrl}/_status/ranges/1?range_ids=1,2`;
  expect((await ask(url)).status).toBe(400);
});

it('lets the exporter log in and ask with the cookie', async () => {
  await using simulator = await startSimulator({ metricKeys: 'useful', frozen: true });
  const client = await clusterClient(simulator);
  expect((await client('/nodes/?limit=1')).status).toBe(200);
  const url = `${simulator.clusterUrl}/_status/ranges/1?range_ids=1`;
  expect((await ask(url)).status).toBe(401);
});
