import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import {
  clusterClient,
  holdsLease,
  type NodesBody,
  type RangesBody,
  type WireNode,
  type WireRange,
} from './client.ts';

const START_MS = 1_800_000_000_000;

/** What the stores of a node report in their ranges, in the words of the node's own counts. */
function countReplicas(replicas: readonly WireRange[], storeId: string) {
  const own = replicas.filter(({ source_store_id: id }) => String(id) === storeId);
  const having = (problem: string) => own.filter(({ problems }) => problems[problem] === true);
  const valid = own.filter((one) => holdsLease(one) && one.problems['no_lease'] !== true);
  return {
    replicas: own.length,
    'replicas.leaseholders': valid.length,
    'ranges.unavailable': having('unavailable').length,
    'ranges.underreplicated': having('underreplicated').length,
    'ranges.overreplicated': having('overreplicated').length,
  };
}

describe("a store's own counts", () => {
  it('agree with its ranges after a node has died and ranges were added', async () => {
    let nowMs = START_MS;
    const now = () => nowMs;
    await using simulator = await startSimulator({
      storesPerNode: 3,
      metricKeys: 'useful',
      now,
      faultyNodes: false,
    });
    const client = await clusterClient(simulator);
    simulator.world.killNode(2);
    simulator.world.killNode(3);
    simulator.world.addRange([1, 4, 5, 6]);
    simulator.world.setProblem(7, 'no_lease');
    nowMs += 10_000;
    const { nodes } = (await client<NodesBody>('/nodes/')).json();
    const live = (nodes ?? []).filter((node) => [3, 4, 6].includes(node.liveness_status));
    const problems = { unavailable: 0, underreplicated: 0, overreplicated: 0 };
    for (const { node_id: id, store_metrics: stores = {} } of live) {
      const { ranges } = (await client<RangesBody>(`/nodes/${id}/ranges/`)).json();
      for (const [storeId, own] of Object.entries(stores)) {
        expect(own).toMatchObject(countReplicas(ranges, storeId));
        problems.unavailable += own['ranges.unavailable'] ?? 0;
        problems.underreplicated += own['ranges.underreplicated'] ?? 0;
        problems.overreplicated += own['ranges.overreplicated'] ?? 0;
      }
    }
    // One replica of a range counts it.
    const { problems: truth } = simulator.truth().ranges;
    expect(problems).toEqual({
      unavailable: truth.unavailable,
      underreplicated: truth.underreplicated,
      overreplicated: truth.overreplicated,
    });
    expect(Math.min(...Object.values(problems))).toBeGreaterThan(0);
  });
});

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

  it('lists every node by id with its liveness', async () => {
    const seen = await nodes();
    expect(seen.map((node) => node.node_id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(seen.map((node) => node.liveness_status)).toEqual([3, 3, 3, 3, 3, 3, 5, 6, 1]);
  });

  it('writes the members in the order of the server', async () => {
    const [node] = await nodes('?limit=1');
    expect(Object.keys(node ?? {})).toEqual([
      'node_id',
      'address',
      'attrs',
      'locality',
      'ServerVersion',
      'build_tag',
      'started_at',
      'cluster_name',
      'sql_address',
      'metrics',
      'store_metrics',
      'total_system_memory',
      'num_cpus',
      'updated_at',
      'liveness_status',
    ]);
  });

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

  it('treats an invalid limit as none and ignores the offset then, an invalid offset as 0', async () => {
    for (const query of ['?limit=0&offset=4', '?limit=x&offset=4', '?offset=4', '?limit=-1']) {
      expect(await nodes(query)).toHaveLength(9);
    }
    expect((await nodes('?limit=2&offset=-3')).map((node) => node.node_id)).toEqual([1, 2]);
    expect((await nodes('?limit=2&offset=x')).map((node) => node.node_id)).toEqual([1, 2]);
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

it('does not change when frozen', async () => {
  // Nodes with several stores list them in another order for every request.
  const options = { metricKeys: 'useful', storesPerNode: 1, frozen: true } as const;
  await using simulator = await startSimulator(options);
  const client = await clusterClient(simulator);
  for (const path of ['/nodes/', '/nodes/local/ranges/', '/sessions/']) {
    expect((await client(path)).text).toBe((await client(path)).text);
  }
});

it('creates the same world from the same seed', async () => {
  const texts: string[] = [];
  for (const seed of [7, 7, 8]) {
    await using simulator = await startSimulator({ seed, frozen: true, now: () => START_MS });
    const client = await clusterClient(simulator);
    const answers = [];
    for (const path of ['/nodes/', '/nodes/2/ranges/', '/sessions/'])
      answers.push(await client(path));
    texts.push(answers.map((answer) => answer.text).join());
  }
  expect(texts[0]).toBe(texts[1]);
  expect(texts[0]).not.toBe(texts[2]);
});

it('creates records as large as real ones', async () => {
  await using simulator = await startSimulator({ storesPerNode: 1, nodes: 1, ranges: 5 });
  const client = await clusterClient(simulator);
  const [node] = (await client<NodesBody>('/nodes/')).json().nodes ?? [];
  expect(JSON.stringify(node?.metrics).length).toBeGreaterThan(95_000);
  expect(JSON.stringify(node?.store_metrics).length).toBeGreaterThan(33_000);
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
