import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import { recordOf } from '../../simulator/world/records.ts';
import { clusterClient, type NodesBody, type WireNode } from './client.ts';

const START_MS = 1_800_000_000_000;

describe('GET /nodes/', () => {
  let simulator: Simulator;
  let nowMs = START_MS;
  let client: Awaited<ReturnType<typeof clusterClient>>;

  beforeAll(async () => {
    simulator = await startSimulator({ metricKeys: 'useful', now: () => nowMs });
    client = await clusterClient(simulator);
  });
  afterAll(() => simulator.close());

  async function nodes(query = ''): Promise<readonly WireNode[]> {
    return (await client<NodesBody>(`/nodes/${query}`)).json().nodes ?? [];
  }

  it('pages with limit and offset, and ends exactly at a multiple', async () => {
    const first = (await client<NodesBody>('/nodes/?limit=3')).json();
    expect(first).toMatchObject({
      next: 3,
      nodes: [{ node_id: 1 }, { node_id: 2 }, { node_id: 3 }],
    });
    const last = (await client<NodesBody>('/nodes/?limit=3&offset=6')).json();
    expect(last.nodes).toHaveLength(3);
    expect(last).not.toHaveProperty('next');
  });

  it('returns null, not [], for a page beyond the end', async () => {
    expect((await client('/nodes/?limit=2&offset=40')).text).toBe('{"nodes":null}');
  });

  it('updates the record of a live node every ten seconds, not that of a dead one', async () => {
    const before = await nodes();
    nowMs += 10_000;
    const after = await nodes();
    const ages = after.map(
      (node, index) => (node.updated_at - (before[index]?.updated_at ?? 0)) / 1e9,
    );
    expect(ages.map((age) => Math.round(age))).toEqual([10, 10, 10, 10, 10, 10, 0, 10, 0]);
    const [queries, later] = [before, after].map(
      (list) => list[0]?.metrics['sql.query.count'] ?? 0,
    );
    expect(later).toBeGreaterThan(queries ?? Infinity);
    expect(after[8]?.metrics).toEqual(before[8]?.metrics);
  });

  it('starts counters at zero after a restart', async () => {
    const [before] = await nodes();
    simulator.world.restartNode(1);
    const [after] = await nodes();
    expect(after?.started_at).toBeGreaterThan(before?.started_at ?? Infinity);
    expect(after?.metrics['sql.query.count']).toBe(0);
  });
});

it('has no faults with the scenario `calm`', async () => {
  await using simulator = await startSimulator({ metricKeys: 'useful', scenario: 'calm' });
  const truth = simulator.truth();
  expect(truth.nodesByStatus).toEqual({ live: 9 });
  expect(Object.values(truth.ranges.problems).every((count) => count === 0)).toBe(true);
  expect(new Set(truth.nodes.map((node) => node.buildTag)).size).toBe(1);
  const youngest = truth.sessions.byNode.map((node) => node.oldestIdleTransactionMs ?? truth.nowMs);
  expect(truth.nowMs - Math.min(...youngest)).toBeLessThan(60_000);
});

it('counts a job that fails at its node until that restarts', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 12, faultyNodes: false });
  const failures = () =>
    [1, 2].map((id) => {
      const node = simulator.world.state.nodes.get(id);
      return node && recordOf(simulator.world.state, node).metrics['jobs.import.resume_failed'];
    });
  simulator.world.failJob('import', 2);
  expect(failures()).toEqual([0, 1]);
  simulator.world.restartNode(2);
  expect(failures()).toEqual([0, 0]);
});

it('reports licenses, backfills and retries as servers do, until they end', async () => {
  let nowMs = Date.UTC(2026, 0, 2);
  await using simulator = await startSimulator({
    nodes: 3,
    ranges: 12,
    faultyNodes: false,
    now: () => nowMs,
  });
  const { world } = simulator;
  const read = (id: number, ...keys: readonly string[]) => {
    const node = world.state.nodes.get(id);
    const metrics = node && recordOf(world.state, node).metrics;
    return keys.map((key) => metrics?.[key]);
  };
  const LICENSES = ['seconds_until_license_expiry', 'seconds_until_enterprise_license_expiry'];
  world.setLicense('none');
  expect(read(3, ...LICENSES)).toEqual([0, 0]);
  world.setLicense('expired');
  expect(read(3, ...LICENSES)).toEqual([-259_200, -259_200]);
  world.setLicense('unreported');
  expect(read(3, ...LICENSES)).toEqual([undefined, 17_280_000]);
  const LAG = 'changefeed.max_behind_nanos';
  world.backfill(2);
  expect(read(1, LAG)).toEqual([40_000 * 3600 * 1e9]);
  expect(read(2, 'changefeed.backfill_count')).toEqual([1]);
  world.backfill();
  const [before = 0] = read(1, 'changefeed.error_retries');
  world.retryChangefeed('no sink');
  nowMs += 330_000;
  const [after = 0] = read(1, 'changefeed.error_retries');
  expect([after - before, ...read(1, LAG)]).toEqual([6, 0]);
  world.retryChangefeed();
  nowMs += 5 * 60_000;
  expect(read(1, 'changefeed.error_retries')).toEqual([after]);
});

it('lets a machine without its disk return as another node', async () => {
  await using simulator = await startSimulator({ nodes: 4, ranges: 12, faultyNodes: false });
  const stores = [...simulator.world.state.nodes.values()].flatMap((node) => node.stores);
  expect(simulator.world.replaceNode(3)).toBe(5);
  const client = await clusterClient(simulator);
  const nodes = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  const [, , old, , next] = nodes;
  expect([old?.liveness_status, next?.liveness_status]).toEqual([1, 3]);
  expect(next?.address).toEqual(old?.address);
  expect(Object.keys(next?.store_metrics ?? {})).toEqual([String(stores.length + 1)]);
  expect(simulator.truth().ranges.unseen).toBe(0);
});

it('gives each node a locality tier of its own, beside the zones over which ranges are spread', async () => {
  const options = { seed: 7, nodes: 9, ranges: 60, faultyNodes: false };
  const placed = async (nodeTier: boolean) => {
    await using simulator = await startSimulator({ ...options, nodeTier });
    const { nodes, ranges } = simulator.world.state;
    return {
      dns: new Set([...nodes.values()].map(({ locality }) => locality[2]?.value)).size,
      nodes: [...ranges.values()].map(({ replicas }) => replicas.map(({ nodeId }) => nodeId)),
    };
  };
  const [plain, cloud] = [await placed(false), await placed(true)];
  expect([plain.dns, cloud.dns]).toEqual([1, 9]);
  expect(cloud.nodes).toEqual(plain.nodes);
});

it('keeps every range of a single node in purgatory', async () => {
  await using simulator = await startSimulator({ nodes: 1, ranges: 12, faultyNodes: false });
  const [node] = simulator.world.state.nodes.values();
  const stores = node ? [...recordOf(simulator.world.state, node).stores.values()] : [];
  for (const store of stores) {
    expect(store['queue.replicate.purgatory']).toBe(store['replicas']);
    expect(store['ranges.underreplicated']).toBe(store['replicas.leaseholders']);
  }
  expect(stores.length).toBeGreaterThan(0);
});

it('serves nothing of a range without a quorum, and counts no valid lease for it', async () => {
  let nowMs = Date.UTC(2026, 0, 2);
  const calm = { nodes: 3, ranges: 12, faultyNodes: false };
  await using simulator = await startSimulator({ ...calm, now: () => nowMs });
  const { world } = simulator;
  const sumOf = (key: string) => {
    const node = world.state.nodes.get(1);
    const stores = node ? [...recordOf(world.state, node).stores.values()] : [];
    return stores.reduce((sum, store) => sum + (store[key] ?? 0), 0);
  };
  for (let id = 1; id <= 12; id += 1) {
    world.placeRange(id, [1, 2, 3]);
    world.moveLease(id, 1);
  }
  const keys = ['replicas.leaseholders', 'rebalancing.writespersecond'];
  expect(keys.every((key) => sumOf(key) > 0)).toBe(true);
  world.killNode(2);
  world.killNode(3);
  nowMs += 10_000;
  expect(keys.map(sumOf)).toEqual([0, 0]);
  // The last known lease stays in the list.
  const { hot } = simulator.truth().ranges;
  expect(hot.map(({ queriesPerSecond }) => queriesPerSecond)).toEqual(Array(12).fill(0));
});

it('lists members that died long ago with their last record, some at the address of a node', async () => {
  await using simulator = await startSimulator({
    nodes: 3,
    relics: 3,
    relicsAtNodes: true,
    faultyNodes: false,
    metricKeys: 'useful',
    frozen: true,
  });
  const client = await clusterClient(simulator);
  const nodes = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  const YEAR_NS = 365 * 86_400e9;
  expect(nodes.map((node) => [node.node_id, node.liveness_status])).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
    [4, 5],
    [5, 1],
    [6, 5],
  ]);
  const [first, , , relic] = nodes;
  expect(relic).toMatchObject({ address: first?.address, build_tag: 'v20.1.17' });
  expect((first?.updated_at ?? 0) - (relic?.updated_at ?? 0)).toBeGreaterThan(YEAR_NS);
  const { ranges, dependence } = simulator.truth();
  expect(ranges).toMatchObject({ unseen: 0, problems: { underreplicated: 0 } });
  expect([dependence.lost, dependence.unsafeToStop]).toEqual([[], []]);
});
