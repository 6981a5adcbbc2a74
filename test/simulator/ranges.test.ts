import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { clusterClient, type RangesBody, type WireRange } from './client.ts';

const ONE_REPLICA = ['unavailable', 'underreplicated', 'overreplicated', 'range_too_large'];

const keyOf = (range: WireRange): string => `${range.source_store_id}/${range.desc.range_id}`;

describe('GET /nodes/{id}/ranges/', () => {
  let simulator: Simulator;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeAll(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', frozen: true, gateways: 2 });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  const page = async (path: string): Promise<RangesBody> => (await client<RangesBody>(path)).json();

  async function allReplicas(): Promise<WireRange[]> {
    const pages = await Promise.all(
      [1, 2, 3, 4, 5, 6, 8].map((id) => page(`/nodes/${id}/ranges/`)),
    );
    return pages.flatMap((each) => each.ranges);
  }

  it('accepts only local or a positive 32-bit id', async () => {
    for (const id of ['0', '-1', 'x', '1.5', '2147483648', 'LOCAL']) {
      expect(await client(`/nodes/${id}/ranges/`)).toMatchObject({
        status: 400,
        text: 'invalid node ID\n',
      });
    }
    const [own, first] = [await page('/nodes/local/ranges/'), await page('/nodes/1/ranges/')];
    expect(own.ranges.map(keyOf).toSorted()).toEqual(first.ranges.map(keyOf).toSorted());
  });

  it('returns 500 for unknown, dead and decommissioned nodes', async () => {
    for (const id of [99, 9, 7]) expect((await client(`/nodes/${id}/ranges/`)).status).toBe(500);
  });

  it('lists one store after the other, and ranges by id within each', async () => {
    const { ranges } = await page('/nodes/1/ranges/');
    const stores = Map.groupBy(ranges, (range) => range.source_store_id);
    expect(stores.size).toBe(2);
    expect([...stores.values()].flat().map(keyOf)).toEqual(ranges.map(keyOf));
    for (const store of stores.values()) {
      const ids = store.map((range) => range.desc.range_id);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    }
  });

  it('pages by position; the pages join to the whole when the order stays the same', async () => {
    simulator.setQuirk('storeOrder', 'fixed');
    onTestFinished(() => simulator.setQuirk('storeOrder', 'random'));
    const whole = await page('/nodes/1/ranges/');
    const joined: WireRange[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const part: RangesBody = await page(`/nodes/1/ranges/?limit=100&offset=${offset}`);
      joined.push(...part.ranges);
      offset = part.next;
    }
    expect(joined).toEqual(whole.ranges);
    expect((await client('/nodes/1/ranges/?limit=5&offset=99999')).text).toBe('{"ranges":[]}');
  });

  it('omits zero values: no key for the first range, no stats for an idle one, no false flags', async () => {
    const replicas = await allReplicas();
    const first = replicas.find((range) => range.desc.range_id === 1);
    expect(first?.desc).toHaveProperty('end_key');
    expect(first?.desc).not.toHaveProperty('start_key');
    expect(first?.desc).toMatchObject({ store_id: 0, queries_per_second: 0 });
    expect(replicas.some((range) => Object.keys(range.stats).length === 0)).toBe(true);
    const flags = replicas.flatMap((range) => [
      range.quiescent,
      range.ticking,
      ...Object.values(range.problems),
    ]);
    expect(flags).not.toContain(false);
    expect(replicas.every((range) => !('error_message' in range))).toBe(true);
  });

  it('reports each problem of a range on exactly one replica', async () => {
    const replicas = await allReplicas();
    for (const problem of ONE_REPLICA) {
      const ids = replicas
        .filter((range) => range.problems[problem])
        .map((range) => range.desc.range_id);
      expect(ids.length).toBeGreaterThan(0);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('reports from the leaseholder when it is live, else from the first live replica', async () => {
    const id = simulator.world.addRange([4, 5, 6]);
    simulator.world.moveLease(id, 5);
    simulator.world.setProblem(id, 'range_too_large');
    const reporters = async (): Promise<number[]> =>
      (await allReplicas())
        .filter((range) => range.desc.range_id === id && range.problems['range_too_large'])
        .map((range) => range.source_node_id);
    expect(await reporters()).toEqual([5]);
    simulator.world.killNode(5);
    simulator.world.killNode(6);
    const survivors = await page(`/nodes/4/ranges/?ranges=${id}`);
    expect(survivors.ranges[0]?.problems).toEqual({
      unavailable: true,
      no_raft_leader: true,
      underreplicated: true,
      range_too_large: true,
    });
    simulator.world.reviveNode(5);
    simulator.world.reviveNode(6);
    simulator.world.removeRange(id);
  });
});
