import { describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { answering, poll } from '../support.ts';
import { NOW_MS, NOW_NS, OPTIONS, pollNodes, recordOf } from './records.ts';

/** The metrics of a store by its id, with this many under-replicated ranges. */
function storeMetrics(id: number, underreplicated: number) {
  const space = { capacity: 100, 'capacity.available': 30, 'capacity.used': 20 };
  return { store_metrics: { [id]: { 'ranges.underreplicated': underreplicated, ...space } } };
}

describe('liveness', () => {
  test('every status is counted, also statuses without nodes', async () => {
    const { of } = await pollNodes([
      recordOf(1),
      recordOf(2),
      recordOf(3, { liveness_status: undefined }),
      recordOf(4, { liveness_status: 6 }),
      recordOf(5, { liveness_status: 7 }),
    ]);
    expect(of('crdb_nodes')).toEqual([
      '{status="unknown"} 1',
      '{status="dead"} 0',
      '{status="unavailable"} 0',
      '{status="live"} 2',
      '{status="decommissioning"} 0',
      '{status="decommissioned"} 0',
      '{status="draining"} 1',
      '{status="other"} 1',
    ]);
  });

  test.each([
    [undefined, 'unknown'],
    [0, 'unknown'],
    [1, 'dead'],
    [2, 'unavailable'],
    [3, 'live'],
    [4, 'decommissioning'],
    [5, 'decommissioned'],
    [6, 'draining'],
    [7, 'other'],
    [-1, 'other'],
  ])('liveness_status %s is exactly one state, %s', async (code, status) => {
    const { of } = await pollNodes([recordOf(9, { liveness_status: code })]);
    const states = of('crdb_node_liveness');
    expect(states).toHaveLength(8);
    expect(states.filter((line) => line.endsWith(' 1'))).toEqual([
      `{node_id="9",status="${status}"} 1`,
    ]);
  });
});

describe('node status', () => {
  test('addresses, build, version and locality are labels of one info series', async () => {
    const version = { major_val: 25, minor_val: 4, patch: 0, internal: 8 };
    const { of } = await pollNodes([recordOf(1, { ServerVersion: version })]);
    expect(of('crdb_node_info')).toEqual([
      '{node_id="1",address="crdb-1:26257",sql_address="sql-1:26257",build_tag="v25.4.3",' +
        'server_version="25.4-8",cluster_name="movr",locality="region=us-east1,zone=b"} 1',
    ]);
    expect(of('crdb_node_locality_info')).toEqual([
      '{node_id="1",tier="region",value="us-east1"} 1',
      '{node_id="1",tier="zone",value="b"} 1',
    ]);
  });

  test('builds are counted over active members: live, draining or unavailable', async () => {
    const older = {
      build_tag: 'v25.2.1',
      ServerVersion: { major_val: 25, minor_val: 2, patch: 0, internal: 0 },
    };
    const gone = { build_tag: 'v20.1.0', ServerVersion: { major_val: 20, minor_val: 1 } };
    const { of } = await pollNodes([
      recordOf(1),
      recordOf(2, older),
      recordOf(3, { ...gone, liveness_status: 1 }),
      recordOf(4, { ...gone, liveness_status: 5 }),
      recordOf(6, { ...gone, liveness_status: 0 }),
      recordOf(7, { ...gone, liveness_status: 4 }),
      recordOf(8, { ...gone, liveness_status: 7 }),
      recordOf(9, { ...older, liveness_status: 2 }),
      recordOf(10, { build_tag: 'v25.4.2', liveness_status: 6 }),
      recordOf(5, { build_tag: undefined, ServerVersion: undefined }),
    ]);
    expect(of('crdb_build_tags')).toEqual(['3']);
  });

  test('a decommissioning node with the old build is no second build', async () => {
    const { of } = await pollNodes([
      ...[1, 2, 3].map((id) => recordOf(id)),
      recordOf(4, { build_tag: 'v25.2.1', liveness_status: 4 }),
    ]);
    expect(of('crdb_build_tags')).toEqual(['1']);
  });

  test('counts in the old record of a node that is lost are none, space is what is available', async () => {
    const lost = { liveness_status: 2, updated_at: NOW_NS - 90e9 };
    const { of } = await pollNodes([
      recordOf(1, storeMetrics(1, 0)),
      recordOf(2, storeMetrics(2, 0)),
      recordOf(3, { ...storeMetrics(3, 7), ...lost }),
    ]);
    expect(of('crdb_store_underreplicated_ranges')).toEqual([
      '{node_id="1",store_id="1"} 0',
      '{node_id="2",store_id="2"} 0',
    ]);
    expect(of('crdb_store_available_bytes')[0]).toBe('{node_id="1",store_id="1"} 30');
    expect(of('crdb_store_used_bytes')[0]).toBe('{node_id="1",store_id="1"} 20');
  });

  test('virtual CPUs take precedence over host CPUs; 0 and a missing value are unknown', async () => {
    const { of } = await pollNodes([
      recordOf(1, { num_vcpus: 1.5 }),
      recordOf(2, { num_vcpus: 0 }),
      recordOf(3, { num_cpus: 0, total_system_memory: 0 }),
      recordOf(4, { num_cpus: undefined, total_system_memory: undefined }),
    ]);
    expect(of('crdb_node_cpus')).toEqual(['{node_id="1"} 1.5', '{node_id="2"} 8']);
    expect(of('crdb_node_memory_bytes')).toEqual(['{node_id="1"} 4096', '{node_id="2"} 4096']);
  });

  test('a minimal record has only the series it has values for', async () => {
    const { lines } = await pollNodes([{ node_id: 3 }]);
    expect(
      lines.filter((line) => line.includes('node_id="3"') && !/liveness\{/.test(line)),
    ).toEqual([
      'crdb_node_info{node_id="3",address="",sql_address="",build_tag="",server_version="",cluster_name="",locality=""} 1',
    ]);
  });
});

function tiersOf(count: number, value = '') {
  return Array.from({ length: count }, (_each, at) => ({ key: `t${at}`, value }));
}

describe('localities', () => {
  test.each([
    ['6 tiers of a node', tiersOf(6), 6, []],
    ['more tiers', tiersOf(7), 6, ['items']],
    ['256 characters', tiersOf(4, 'x'.repeat(60)), 4, []],
    ['more characters', tiersOf(4, 'x'.repeat(61)), 3, ['items']],
    ['a long text', tiersOf(2, 'x'.repeat(1_000_000)), 1, ['items']],
  ])('of %s', async (_of, tiers, exported, reached) => {
    const { of, limits } = await pollNodes([recordOf(1, { locality: { tiers } })]);
    expect(of('crdb_node_locality_info')).toHaveLength(exported);
    expect([...limits]).toEqual(reached);
  });

  // The region of all nodes is a locality, and so is the host of each.
  test.each([
    [9_999, 2 * 9_999, []],
    [10_000, 2 * 9_999 + 1, ['items']],
  ])('are 10,000 in all: of %i nodes', async (count, exported, reached) => {
    const records = Array.from({ length: count }, (_each, at) => {
      const tiers = [
        { key: 'region', value: 'us-east1' },
        { key: 'host', value: String(at) },
      ];
      return { node_id: at + 1, locality: { tiers } };
    });
    const { of, limits } = await pollNodes(records);
    expect(of('crdb_node_locality_info')).toHaveLength(exported);
    expect([...limits]).toEqual(reached);
  });
});

describe('paging', () => {
  test('all pages are read; a node that is listed twice counts once, by its later record', async () => {
    const { api, requests } = answering((path) =>
      path.endsWith('offset=0')
        ? { nodes: [recordOf(10), recordOf(2)], next: 2 }
        : { nodes: [recordOf(2, { num_cpus: 16 }), recordOf(3)] },
    );
    const options = { page_limit: 2, metrics: [] };
    const { of } = await poll(nodes, api, { options, state: nodes.createState() });
    expect(requests).toEqual(['/nodes/?limit=2&offset=0', '/nodes/?limit=2&offset=2']);
    expect(of('crdb_node_cpus')).toEqual([
      '{node_id="2"} 16',
      '{node_id="3"} 8',
      '{node_id="10"} 8',
    ]);
    expect(of('crdb_nodes')).toContain('{status="live"} 3');
  });

  test('a node without a valid id is not exported', async () => {
    const { of } = await pollNodes([recordOf(0), recordOf(1, { node_id: '7' }), recordOf(2)]);
    expect(of('crdb_node_info')).toHaveLength(1);
    expect(of('crdb_nodes')).toContain('{status="live"} 1');
  });

  test.each([
    ['null', null],
    ['empty', []],
    ['of elements without ids', [recordOf(0), recordOf(1, { node_id: '7' }), {}]],
  ])('a list that is %s is no cluster without nodes', async (_what, records) => {
    const message = 'nodes: the response lists no node with an id';
    await expect(pollNodes(records)).rejects.toMatchObject({ reason: 'decode', message });
  });
});

describe('the age of a record', () => {
  const family = 'crdb_node_record_age_seconds';

  test('is measured by the clock of the server, and not below 0', async () => {
    const { of } = await pollNodes([
      recordOf(1),
      recordOf(2, { updated_at: NOW_NS - 600e9 }),
      recordOf(3, { updated_at: NOW_NS + 2e9 }),
      recordOf(4, { updated_at: undefined }),
    ]);
    expect(of(family)).toEqual(['{node_id="1"} 5', '{node_id="2"} 600', '{node_id="3"} 0']);
  });

  test('is measured when its page is sent, not when the last page is', async () => {
    const { api } = answering(
      (path) =>
        path.endsWith('=0') ? { nodes: [recordOf(1)], next: 1 } : { nodes: [recordOf(2)] },
      NOW_MS,
      NOW_MS + 20_000,
    );
    const polled = await poll(nodes, api, { options: OPTIONS, state: nodes.createState() });
    expect(polled.of(family)).toEqual(['{node_id="1"} 5', '{node_id="2"} 25']);
  });

  test('is absent when the response has no Date', async () => {
    const { api } = answering(() => ({ nodes: [recordOf(1)] }));
    const given = { options: OPTIONS, state: nodes.createState() };
    expect((await poll(nodes, api, given)).of(family)).toEqual([]);
  });
});

describe('a large cluster', () => {
  test('is written in slices, so that other work can run', async () => {
    const records = Array.from({ length: 4_000 }, (_each, at) => recordOf(at + 1));
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const { of } = await pollNodes(records);
    isDone = true;
    expect(of('crdb_node_info')).toHaveLength(4_000);
    // The response is in memory: neither reading it nor writing it without pauses yields to the event loop.
    expect(turns).toBeGreaterThan(3);
  });
});
