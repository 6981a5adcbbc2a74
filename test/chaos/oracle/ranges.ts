import { type Expected, keyOf, type Moment } from './expected.ts';

type Store = Moment['truth']['stores'][number];

const shard = '0';
const QUERY_BOUNDS = [1, 10, 50, 100, 250, 500, 1000, 2500, 5000] as const;
const MAX_REPLICAS = 7;

const OF_STORE: Readonly<Record<string, (store: Store) => number>> = {
  crdb_range_replicas: (store) => store.replicas,
  crdb_range_leases: (store) => store.leases,
  crdb_range_replicas_quiescent: (store) => store.quiescent,
  crdb_range_replicas_ticking: (store) => store.ticking,
  crdb_store_queries_per_second: (store) => store.queriesPerSecond,
  crdb_store_writes_per_second: (store) => store.writesPerSecond,
  crdb_store_requests_per_second: (store) => store.requestsPerSecond,
  crdb_store_reads_per_second: (store) => store.readsPerSecond,
  crdb_store_read_bytes_per_second: (store) => store.readBytesPerSecond,
  crdb_store_write_bytes_per_second: (store) => store.writeBytesPerSecond,
  crdb_store_cpu_seconds_per_second: (store) => store.cpuNanosPerSecond / 1e9,
};

/** Listed are some of them only. */
export const OPTIONAL_FAMILIES: ReadonlySet<string> = new Set([
  'crdb_hot_range_queries_per_second',
  'crdb_hot_range_writes_per_second',
  'crdb_hot_range_cpu_seconds_per_second',
  'crdb_hot_range_leaseholder_info',
]);
/** What only a view of all nodes may say. */
export const WHOLE_FAMILIES: ReadonlySet<string> = new Set([
  'crdb_ranges',
  'crdb_ranges_by_replicas',
  'crdb_node_dependent_ranges',
  'crdb_locality_dependent_ranges',
  'crdb_node_down_replicas',
  'crdb_ranges_unverified',
  'crdb_ranges_serving_nothing',
  'crdb_range_key_space_complete',
  'crdb_range_key_space_gap',
  'crdb_ranges_without_live_replica',
]);
/** Lower bounds while ranges are not verified. */
export const DEPENDENCE_FAMILIES: ReadonlySet<string> = new Set([
  'crdb_node_dependent_ranges',
  'crdb_locality_dependent_ranges',
]);
/** Put together from the answers of all nodes; the others come from one answer each. */
export const CLUSTER_FAMILIES: ReadonlySet<string> = new Set([
  ...WHOLE_FAMILIES,
  'crdb_range_problem_ranges',
  'crdb_ranges_by_lease_kind',
  'crdb_ranges_by_queries_per_second_bucket',
  'crdb_range_max_queries_per_second',
  'crdb_range_scan_nodes',
  'crdb_range_table_ranges',
  'crdb_range_table_queries_per_second',
  'crdb_range_table_writes_per_second',
  'crdb_range_table_cpu_seconds_per_second',
  'crdb_range_table_problem_ranges',
]);

export function expectRanges({ truth }: Moment): Expected {
  const expected: Expected = new Map();
  for (const store of truth.stores) {
    if (store.replicas === 0) continue;
    const labels = { node_id: String(store.nodeId), store_id: String(store.storeId) };
    for (const [family, valueOf] of Object.entries(OF_STORE)) {
      expected.set(keyOf(family, labels), valueOf(store));
    }
    for (const [problem, count] of Object.entries(store.problems)) {
      if (count === 0) continue;
      expected.set(keyOf('crdb_range_problem_replicas', { problem, ...labels }), count);
    }
  }
  expectCluster(expected, truth.ranges);
  expectTables(expected, truth.ranges);
  expectDependence(expected, truth.dependence);
  for (const hot of truth.ranges.hot) {
    const labels = {
      range_id: String(hot.rangeId),
      table_id: hot.tableId,
      index_id: hot.indexId,
      shard,
    };
    const replica = {
      range_id: String(hot.rangeId),
      node_id: String(hot.nodeId),
      store_id: String(hot.storeId),
      last_table_id: hot.lastTableId,
      shard,
    };
    expected.set(keyOf('crdb_hot_range_leaseholder_info', replica), 1);
    expected.set(keyOf('crdb_hot_range_queries_per_second', labels), hot.queriesPerSecond);
    expected.set(keyOf('crdb_hot_range_writes_per_second', labels), hot.writesPerSecond);
    expected.set(
      keyOf('crdb_hot_range_cpu_seconds_per_second', labels),
      hot.cpuNanosPerSecond / 1e9,
    );
  }
  const skipped = truth.nodes.filter(({ status }) =>
    ['dead', 'unavailable', 'decommissioned'].includes(status),
  );
  expected.set(keyOf('crdb_range_scan_nodes', { state: 'skipped', shard }), skipped.length);
  return expected;
}

function expectTables(expected: Expected, { tables }: Moment['truth']['ranges']): void {
  for (const [tableId, table] of [
    ['other', undefined],
    ['none', undefined],
    ...Object.entries(tables),
  ] as const) {
    const labels = { table_id: tableId, shard };
    const set = (family: string, value = 0): void => {
      expected.set(keyOf(`crdb_range_table_${family}`, labels), value);
    };
    // A table whose ranges have no load and no lease is not listed.
    if (table === undefined || table.leases + table.cpuNanosPerSecond > 0) {
      set('ranges', table?.leases);
      set('queries_per_second', table?.queriesPerSecond);
      set('writes_per_second', table?.writesPerSecond);
      set('cpu_seconds_per_second', (table?.cpuNanosPerSecond ?? 0) / 1e9);
    }
    for (const [problem, count] of Object.entries(table?.problems ?? {})) {
      if (count === 0) continue;
      expected.set(keyOf('crdb_range_table_problem_ranges', { problem, ...labels }), count);
    }
  }
}

/** In a calm world the replicas of all ranges are verified. */
function expectDependence(
  expected: Expected,
  { nodes, localities }: Moment['truth']['dependence'],
): void {
  expected.set(keyOf('crdb_ranges_unverified', {}), 0);
  for (const [nodeId, { quorum, allReplicas, withoutQuorum }] of Object.entries(nodes)) {
    const family = 'crdb_node_dependent_ranges';
    expected.set(keyOf(family, { node_id: nodeId, effect: 'quorum' }), quorum);
    expected.set(keyOf(family, { node_id: nodeId, effect: 'all_replicas' }), allReplicas);
    const without = { node_id: nodeId, effect: 'without_quorum' };
    expected.set(keyOf(family, without), withoutQuorum);
  }
  for (const [name, { quorum, allReplicas }] of Object.entries(localities)) {
    const family = 'crdb_locality_dependent_ranges';
    const [tier = '', locality = ''] = name.split(' ');
    expected.set(keyOf(family, { tier, locality, effect: 'quorum' }), quorum);
    expected.set(keyOf(family, { tier, locality, effect: 'all_replicas' }), allReplicas);
  }
}

function expectCluster(expected: Expected, ranges: Moment['truth']['ranges']): void {
  expected.set(keyOf('crdb_ranges', { shard }), ranges.distinct);
  for (const [problem, count] of [...Object.entries(ranges.problems), ['other', 0] as const]) {
    expected.set(keyOf('crdb_range_problem_ranges', { problem, shard }), count);
  }
  let others = ranges.distinct;
  for (let replicas = 1; replicas <= MAX_REPLICAS; replicas += 1) {
    const count = ranges.byReplicas[String(replicas)] ?? 0;
    others -= count;
    const labels = { replicas: String(replicas), shard };
    expected.set(keyOf('crdb_ranges_by_replicas', labels), count);
  }
  expected.set(keyOf('crdb_ranges_by_replicas', { replicas: 'other', shard }), others);
  for (const [kind, count] of Object.entries(ranges.byLeaseKind)) {
    expected.set(keyOf('crdb_ranges_by_lease_kind', { kind, shard }), count);
  }
  const queries = ranges.hot.map(({ queriesPerSecond }) => queriesPerSecond);
  for (const bound of [...QUERY_BOUNDS, Infinity]) {
    const le = bound === Infinity ? '+Inf' : String(bound);
    const count = queries.filter((each) => each <= bound).length;
    expected.set(keyOf('crdb_ranges_by_queries_per_second_bucket', { le, shard }), count);
  }
  if (queries.length > 0) {
    expected.set(keyOf('crdb_range_max_queries_per_second', { shard }), Math.max(...queries));
  }
}
