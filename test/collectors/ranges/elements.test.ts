import { describe, expect, test } from 'vitest';
import { fakeCluster, type PollGiven, pollRanges, replica } from './cluster.ts';

/** Polls a cluster of one node, 1, with these elements. */
function pollElements(elements: readonly unknown[], given: PollGiven = {}) {
  return pollRanges(fakeCluster([{ nodeId: 1, ranges: elements }]).api, given);
}

function hotLabels(id: number): string {
  return `{range_id="${id}",table_id="104",index_id="1",shard="0"}`;
}

const GOOD = replica({ rangeId: 1, nodeId: 1, storeId: 1 });

describe('invalid input', () => {
  test.each([
    ['without desc', { ...GOOD, desc: undefined }],
    ['with desc null', { ...GOOD, desc: null }],
    ['with a range id of 0', replica({ rangeId: 0, nodeId: 1, storeId: 1 })],
    ['with a negative range id', replica({ rangeId: -5, nodeId: 1, storeId: 1 })],
    ['with a range id that is no integer', replica({ rangeId: 1.5, nodeId: 1, storeId: 1 })],
    ['with a range id that is text', replica({ rangeId: '1', nodeId: 1, storeId: 1 })],
    ['with a range id above 2^53', replica({ rangeId: 2 ** 60, nodeId: 1, storeId: 1 })],
    ['with a store id of 0', replica({ rangeId: 2, nodeId: 1, storeId: 0 })],
    ['without a store id', { ...GOOD, source_store_id: undefined }],
    ['without a node id', { ...GOOD, source_node_id: undefined }],
  ])('an element %s counts nowhere', async (_what, element) => {
    const { of } = await pollElements([GOOD, element]);
    expect(of('crdb_range_replicas')).toEqual(['{node_id="1",store_id="1"} 1']);
    expect(of('crdb_ranges')).toEqual(['{shard="0"} 1']);
    expect(of('crdb_ranges_by_replicas')).toContain('{replicas="1",shard="0"} 1');
  });

  test('a node none of whose elements can be used was not read', async () => {
    const { failure } = await pollElements([{ ...GOOD, desc: null }, {}]);
    expect(failure).toMatchObject({
      reason: 'decode',
      message:
        'ranges: 1 of 1 nodes were not read; ranges of node 1: none of 2 elements names its node, store and range',
    });
  });

  test.each([
    ['stats', {}],
    ['stats', null],
    ['stats', 'fast'],
    ['problems', undefined],
    ['problems', 7],
    ['span', undefined],
    ['lease_history', undefined],
    ['lease_history', {}],
    ['lease_history', [null]],
  ])('an element with %s %j is counted without that field', async (field, value) => {
    const { of } = await pollElements([{ ...GOOD, [field]: value }]);
    expect(of('crdb_range_replicas')).toEqual(['{node_id="1",store_id="1"} 1']);
    expect(of('crdb_range_leases')).toEqual(['{node_id="1",store_id="1"} 0']);
    expect(of('crdb_range_problem_replicas')).toEqual([]);
    expect(of('crdb_store_queries_per_second')).toEqual(['{node_id="1",store_id="1"} 0']);
  });

  test('while problems of a replica could not be read, those that none reports are not known to be 0', async () => {
    const bad = replica({ rangeId: 2, nodeId: 1, storeId: 1, problems: { unavailable: true } });
    const { of } = await pollElements([bad, { ...GOOD, problems: undefined }]);
    for (const family of ['crdb_range_problem_ranges', 'crdb_problem_ranges_omitted']) {
      const counts = of(family).filter((line) => !line.includes('no_live_replica'));
      expect(counts.map((line) => line.split(',')[0])).toEqual(['{problem="unavailable"']);
    }
    expect(of('crdb_ranges_serving_nothing')).toEqual([]);
    const readable = await pollElements([bad, GOOD]);
    expect(readable.of('crdb_ranges_serving_nothing')).toEqual(['0']);
    expect(readable.of('crdb_range_problem_ranges')).toContain(
      '{problem="underreplicated",shard="0"} 0',
    );
  });

  test('the largest id is 2^32 - 1: a node with a larger one is not read', async () => {
    const elements = [2 ** 31 + 1, 2 ** 32 - 1, 1, 2 ** 32].map((rangeId) =>
      replica({ rangeId, nodeId: 1, storeId: 1 }),
    );
    const { of } = await pollElements(elements.slice(0, 3));
    expect(of('crdb_ranges')).toEqual(['{shard="0"} 3']);
    const { failure } = await pollElements(elements);
    expect(failure?.message).toContain('the range id 4294967296 is above 4294967295');
  });
});

describe('an element', () => {
  test.each([
    ['a term', { term: 3, epoch: 2 }, 'leader'],
    ['an epoch', { epoch: 2 }, 'epoch'],
    ['neither', {}, 'expiration'],
    ['a term and an epoch that is text', { term: 3, epoch: '2' }, 'leader'],
  ])('a lease with %s is of kind %s', async (_what, fields, kind) => {
    const { of } = await pollElements([
      replica({ rangeId: 1, nodeId: 1, storeId: 1, lease: 1, ...fields }),
    ]);
    const counted = of('crdb_ranges_by_lease_kind').filter((line) => line.endsWith(' 1'));
    expect(counted).toEqual([`{kind="${kind}",shard="0"} 1`]);
    expect(of('crdb_range_max_queries_per_second')).toEqual(['{shard="0"} 0']);
    expect(of('crdb_hot_range_writes_per_second')).toEqual([`${hotLabels(1)} 0`]);
  });

  test.each([
    ['a term', { term: '3' }],
    ['an epoch', { epoch: '2' }],
  ])(
    'a lease with %s that is text is held, and the number of leases by kind not known',
    async (_what, fields) => {
      const { of } = await pollElements([
        replica({ rangeId: 1, nodeId: 1, storeId: 1, lease: 1, ...fields }),
        replica({ rangeId: 2, nodeId: 1, storeId: 1, lease: 1, epoch: 2 }),
      ]);
      expect(of('crdb_ranges_by_lease_kind')).toEqual(['{kind="none",shard="0"} 0']);
      expect(of('crdb_range_leases')).toEqual(['{node_id="1",store_id="1"} 2']);
    },
  );

  test('an unknown member of problems is other, one that is false is ignored', async () => {
    const { of } = await pollElements([
      replica({ rangeId: 1, nodeId: 1, storeId: 1, problems: { new_one: true, new_two: true } }),
      replica({ rangeId: 2, nodeId: 1, storeId: 1, problems: { new_one: false } }),
    ]);
    expect(of('crdb_range_problem_ranges').filter((line) => !line.endsWith(' 0'))).toEqual([
      '{problem="other",shard="0"} 1',
    ]);
  });

  test('queries per second are counted in buckets that include their upper bound', async () => {
    const { of } = await pollElements(
      [0, 1, 1.5, 10, 2500, 2501, 9999].map((queries_per_second, at) =>
        replica({
          rangeId: at + 1,
          nodeId: 1,
          storeId: 1,
          lease: 1,
          stats: { queries_per_second },
        }),
      ),
    );
    expect(of('crdb_ranges_by_queries_per_second_bucket')).toEqual([
      '{le="1",shard="0"} 2',
      ...[10, 50, 100, 250, 500, 1000].map((upper) => `{le="${upper}",shard="0"} 4`),
      '{le="2500",shard="0"} 5',
      '{le="5000",shard="0"} 6',
      '{le="+Inf",shard="0"} 7',
    ]);
    expect(of('crdb_range_max_queries_per_second')).toEqual(['{shard="0"} 9999']);
  });

  test('a node that sends one of the newer stats sends zeros by leaving the others out', async () => {
    const { of } = await pollElements([
      replica({ rangeId: 1, nodeId: 1, storeId: 1, lease: 1, stats: { queries_per_second: 5 } }),
      replica({
        rangeId: 2,
        nodeId: 1,
        storeId: 2,
        lease: 2,
        stats: { queries_per_second: 9, writes_per_second: 1, cpu_time_per_second: 25e7 },
      }),
    ]);
    expect(of('crdb_store_cpu_seconds_per_second')).toEqual([
      '{node_id="1",store_id="1"} 0',
      '{node_id="1",store_id="2"} 0.25',
    ]);
    expect(of('crdb_store_read_bytes_per_second')).toHaveLength(2);
    expect(of('crdb_range_max_cpu_seconds_per_second')).toEqual(['{shard="0"} 0.25']);
    expect(of('crdb_hot_range_cpu_seconds_per_second')).toEqual([
      `${hotLabels(2)} 0.25`,
      `${hotLabels(1)} 0`,
    ]);
  });

  test.each([
    ['/Table/104', '104', ''],
    ['/Table/104/1', '104', '1'],
    ['/Table/104/1/"secret"/7', '104', '1'],
    ['/Table/4294967296/1', '', ''],
    ['/Table/104/1048576', '104', ''],
    ['/Table/Max', '', ''],
    ['/Tenant/5/Table/104/1', '5/104', '1'],
    ['/Tenant/5/Table/104', '5/104', ''],
    ['/Tenant/511/Table/268435455/65535', '511/268435455', '65535'],
    ['/Tenant/5/Table/104/65536', '5/104', ''],
    ['/Tenant/5/Table/268435456/1', '', ''],
    ['/Tenant/512/Table/104/1', '', ''],
    ['/Tenant/5/Table/', '', ''],
    ['/Tenant/5/Table/0/1', '', ''],
    ['/Tenant/0/Table/104/1', '', ''],
    ['/Tenant/x/Table/104/1', '', ''],
    ['/Tenant/5/System/104', '', ''],
    ['/System/tsd/Table/104/1', '', ''],
    ['/Min', '', ''],
    ['Table/104/1', '', ''],
    ['/Table//104', '', ''],
    ['', '', ''],
  ])(
    'the start key %s is in table "%s" and index "%s", and nothing else of it is exported',
    async (key, tableId, indexId) => {
      const { of, lines } = await pollElements([
        replica({ rangeId: 1, nodeId: 1, storeId: 1, key, problems: { no_lease: true } }),
      ]);
      expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([
        `{problem="no_lease",range_id="1",table_id="${tableId}",index_id="${indexId}",shard="0"} 1000`,
      ]);
      expect(lines.join('\n')).not.toContain('secret');
    },
  );
});

test.each([{}, { start_key: null }, { start_key: 104 }, null])(
  'the span %j is in no table',
  async (span) => {
    const element = replica({ rangeId: 1, nodeId: 1, storeId: 1, problems: { no_lease: true } });
    const { of } = await pollElements([{ ...element, span }]);
    expect(of('crdb_problem_range_first_seen_timestamp_seconds')).toEqual([
      '{problem="no_lease",range_id="1",table_id="",index_id="",shard="0"} 1000',
    ]);
  },
);

test.each([
  ['/Table/104/1', '/Table/104/1/7', ''],
  ['/Table/104', '/Table/105', ''],
  ['/Table/104', '/Table/105/1', '105'],
  ['/Table/104', '/Table/131/1', '131'],
  ['/Table/104/2/x', '/Table/132', '131'],
  ['/Table/104', '/Max', ''],
  ['/System/tsd', '/Table/3', ''],
  ['/Tenant/3/Table/104', '/Tenant/3/Table/131/1', '3/131'],
  ['/Tenant/3/Table/104', '/Tenant/3/Table/132', '3/131'],
  ['/Tenant/3/Table/104', '/Tenant/4/Table/131', ''],
  ['/Tenant/3/Table/104', '/Tenant/4', ''],
  // In JSON, the quotes in a key are escaped.
  ['/Table/104/1/"a"', '/Table/131/1', '131'],
  ['/Table/104/1', '/Table/131/1/"a"', '131'],
  ['/Table/104/1/"a"', '/Table/131/1/"a"', '131'],
])('a range from %s to %s ends in the table %j', async (start_key, end_key, last) => {
  const hot = replica({
    rangeId: 1,
    nodeId: 1,
    storeId: 1,
    lease: 1,
    stats: { queries_per_second: 2900 },
  });
  const { of } = await pollElements([{ ...hot, span: { start_key, end_key } }]);
  expect(of('crdb_hot_range_leaseholder_info')).toEqual([
    `{range_id="1",node_id="1",store_id="1",last_table_id="${last}",shard="0"} 1`,
  ]);
});
