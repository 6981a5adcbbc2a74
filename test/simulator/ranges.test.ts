import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { clusterClient, type RangesBody, type WireRange } from './client.ts';

const ONE_REPLICA = ['unavailable', 'underreplicated', 'overreplicated', 'range_too_large'];

const keyOf = (range: WireRange): string => `${range.source_store_id}/${range.desc.range_id}`;

/** The stores of a list in the order of their first replicas. */
const storesOf = ({ ranges }: RangesBody): string =>
  [...new Set(ranges.map((range) => range.source_store_id))].join(' ');

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

  it('leaves no gap in the key space', async () => {
    const spans = new Map<number, WireRange['span']>();
    for (const range of await allReplicas()) spans.set(range.desc.range_id, range.span);
    const vanished = simulator.truth().ranges.unseen;
    const sorted = [...spans].toSorted(([a], [b]) => a - b).map(([, span]) => span);
    const gaps = sorted.filter((span, at) => at > 0 && sorted[at - 1]?.end_key !== span.start_key);
    expect(gaps).toHaveLength(vanished);
    expect(sorted[0]?.start_key).toBe('/Min');
    expect(sorted.at(-1)?.end_key).toBe('/Max');
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

  it('writes members in the order of the server', async () => {
    const replica = (await allReplicas()).find((range) => range.quiescent);
    expect(Object.keys(replica ?? {})).toEqual([
      'desc',
      'span',
      'source_node_id',
      'source_store_id',
      'lease_history',
      'problems',
      'stats',
      'quiescent',
    ]);
  });

  it('encodes keys as the server does', async () => {
    const replica = (await allReplicas()).find(
      (range) => range.span.start_key === '/Table/112/1/2500',
    );
    expect(replica?.desc.start_key).toBe(
      Buffer.from([0xf6, 112, 0x89, 0xf7, 0x09, 0xc4]).toString('base64'),
    );
  });

  it('shows leases of three kinds with their members', async () => {
    const last = (await allReplicas()).map((range) => range.lease_history?.at(-1));
    expect(last.some((lease) => lease?.epoch !== undefined && lease.term === undefined)).toBe(true);
    expect(last.some((lease) => lease?.term !== undefined && lease.epoch === undefined)).toBe(true);
    expect(last.some((lease) => lease?.expiration !== undefined)).toBe(true);
    expect(last.every((lease) => Number(lease?.sequence) > 0)).toBe(true);
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
      underreplicated: true,
      range_too_large: true,
    });
    simulator.world.reviveNode(5);
    simulator.world.reviveNode(6);
    simulator.world.removeRange(id);
  });
});

/** The orders of so many lists of node 1. */
async function drawnOrders(
  count: number,
  storesPerNode: number,
  seed: number,
): Promise<readonly string[]> {
  await using simulator = await startSimulator({
    metricKeys: 'useful',
    nodes: 1,
    replication: 1,
    ranges: 15,
    storesPerNode,
    seed,
    faultyNodes: false,
  });
  const client = await clusterClient(simulator);
  const orders: string[] = [];
  for (let request = 0; request < count; request += 1) {
    orders.push(storesOf((await client<RangesBody>('/nodes/1/ranges/')).json()));
  }
  return orders;
}

describe('a node with several stores', () => {
  // As measured with maps of Go: 0.78, 0.60 and 0.22.
  it.each([
    [2, 0.7, 0.85],
    [3, 0.52, 0.68],
    [6, 0.14, 0.3],
  ])(
    'draws the order of %i stores anew for each request: two agree with a probability of %d to %d',
    async (stores, least, most) => {
      const orders = await drawnOrders(200, stores, 3);
      const agreeing = orders.filter((order, at) => at > 0 && order === orders[at - 1]);
      expect(agreeing.length / 199).toBeGreaterThan(least);
      expect(agreeing.length / 199).toBeLessThan(most);
    },
  );

  it('draws the same orders again with the same seed, and others with another', async () => {
    const first = await drawnOrders(30, 3, 5);
    expect(await drawnOrders(30, 3, 5)).toEqual(first);
    expect(await drawnOrders(30, 3, 6)).not.toEqual(first);
  });
});

it('sends no header before its work is done, which grows with the replicas of the node', async () => {
  await using simulator = await startSimulator({
    metricKeys: 'useful',
    nodes: 1,
    replication: 1,
    ranges: 100,
    faultyNodes: false,
    quirks: { replicaMicros: 3_000 },
  });
  const client = await clusterClient(simulator);
  const seconds = async (path: string): Promise<number> => {
    const startedAt = performance.now();
    await client(path);
    return (performance.now() - startedAt) / 1000;
  };
  expect(await seconds('/nodes/1/ranges/?limit=1')).toBeGreaterThan(0.29);
  const wanted = Array.from({ length: 50 }, (_, at) => at + 1).join(',');
  expect(await seconds(`/nodes/1/ranges/?ranges=${wanted}`)).toBeGreaterThan(0.14);
});
