// A cluster whose every field is known, as the answers of its API.

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1000).toISOString();
const nanosAgo = (seconds: number): number => (NOW_MS - seconds * 1000) * 1e6;

const NODES = [
  {
    node_id: 1,
    liveness_status: 3,
    address: { network_field: 'tcp', address_field: 'crdb-1:26257' },
    sql_address: { network_field: 'tcp', address_field: 'sql-1:26257' },
    build_tag: 'v24.3.1',
    ServerVersion: { major_val: 24, minor_val: 3, patch: 1, internal: 2 },
    cluster_name: 'prod',
    locality: {
      tiers: [
        { key: 'region', value: 'eu' },
        { key: 'zone', value: 'a' },
      ],
    },
    attrs: { attrs: ['ssd'] },
    started_at: nanosAgo(11_525),
    updated_at: nanosAgo(5),
    num_cpus: 8,
    num_vcpus: 7.5,
    total_system_memory: 4096,
    metrics: {
      'sys.cpu.combined.percent-normalized': 0.125,
      'sys.rss': 2048,
      'sql.conns': 1234,
      'sql.service.latency-p99': 12e6,
      'liveness.heartbeatlatency-p99': 1.5e9,
    },
    store_metrics: {
      1: { replicas: 9, capacity: 100, 'capacity.used': 30, 'capacity.available': 10 },
      2: { replicas: 1200, capacity: 300, 'capacity.used': 20, 'capacity.available': 150 },
    },
  },
  { node_id: 2, liveness_status: 9, updated_at: nanosAgo(3) },
  { node_id: 3, liveness_status: 3, updated_at: 0, store_metrics: { 3: { capacity: 0 } } },
  { node_id: 4, liveness_status: 3, started_at: nanosAgo(60), updated_at: nanosAgo(1) },
  // Its record is stale, and the next node is dead.
  { node_id: 5, liveness_status: 3, updated_at: nanosAgo(75), metrics: { 'sql.conns': 9 } },
  { node_id: 6, liveness_status: 1, updated_at: nanosAgo(4), metrics: { 'sql.conns': 9 } },
];

const TRANSACTION = {
  id: 'dHhu',
  start: ago(61),
  implicit: false,
  read_only: true,
  num_statements_executed: 3,
  num_retries: 2,
  num_auto_retries: 5,
  alloc_bytes: 10,
  max_alloc_bytes: 20,
  priority: 'normal',
};
const SESSIONS = [
  {
    id: 'AP8Q',
    node_id: 1,
    username: 'ada',
    application_name: 'shop',
    client_address: '10.0.0.1:1',
    start: ago(3600),
    alloc_bytes: 2048,
    max_alloc_bytes: 4096,
    num_txns_executed: 7,
    total_active_time: 1_500_000_000,
    last_active_query: 'SELECT 2',
    last_active_query_no_constants: 'SELECT _',
    active_queries: [
      {
        id: 'q1',
        start: ago(30),
        phase: 1,
        progress: 0.5,
        is_distributed: true,
        is_full_scan: false,
        database: 'movr',
        sql: 'SELECT 1',
        sql_no_constants: 'SELECT _',
      },
      { id: 'q2', start: ago(9), elapsed_time: 40_000_000_000, phase: 0 },
    ],
    active_txn: TRANSACTION,
  },
  {
    id: [1, 171],
    node_id: 2,
    username: 'bob',
    application_name: '',
    start: ago(90),
    active_txn: TRANSACTION,
    last_active_query: 'SHOW',
  },
  { node_id: 2, username: 'ada', active_queries: [{ phase: 7 }] },
  { id: '', node_id: 3, username: 'eve', start: ago(5), alloc_bytes: 5 },
  { id: 'AA==', username: 'closed', status: 1 },
  { id: 'AA==', username: 'ended', end: ago(1) },
];

const lease = (seconds: number | undefined, store: number, sequence: number) => ({
  ...(seconds !== undefined && { start: { wall_time: String(nanosAgo(seconds)) } }),
  epoch: 3,
  sequence,
  replica: { node_id: store, store_id: store, replica_id: 1 },
});
const range = (rangeId: number, node: number, more: object): object => ({
  desc: { range_id: rangeId },
  span: { start_key: '/Table/104/1', end_key: '/Table/104/2' },
  source_node_id: node,
  source_store_id: node,
  lease_history: [lease(undefined, 1, 1), lease(75, 3, 2), lease(5, 1, 3)],
  problems: {},
  ...more,
});
const STATS = {
  queries_per_second: 12.5,
  writes_per_second: 3,
  read_bytes_per_second: 2048,
  write_bytes_per_second: 1024,
  cpu_time_per_second: 25_000_000,
};
const RANGES: Readonly<Record<string, readonly object[]>> = {
  1: [range(7, 1, { stats: STATS, ticking: true, problems: { unavailable: false } })],
  4: [
    range(7, 4, { quiescent: true, problems: { no_lease: true, underreplicated: true } }),
    range(8, 4, {
      span: { start_key: '/System/tsd', end_key: '/System/"tse"' },
      lease_history: [],
    }),
  ],
};

const TABLE = {
  descriptor_id: 104,
  range_count: 1200,
  zone_config_level: 2,
  create_table_statement: 'CREATE TABLE rides (\n\tid UUID\n)',
  stats_last_created_at: '2026-01-01T01:04:05Z',
  data_total_bytes: 2048,
  columns: [
    { name: 'id', type: 'UUID', nullable: false, default_value: 'gen_random_uuid()' },
    { name: 'city', type: 'VARCHAR', nullable: true },
  ],
  indexes: [
    { name: 'pkey', unique: true, seq: 2, column: 'id', direction: 'DESC' },
    { name: 'pkey', unique: true, seq: 1, column: 'city', direction: 'ASC' },
    { name: 'pkey', seq: 3, column: 'fare', direction: 'N/A', storing: true },
    { name: 'by_fare', unique: false, seq: 1, column: 'fare' },
  ],
  grants: [
    { user: 'ada', privileges: ['SELECT', 'INSERT'] },
    { user: 'root', privileges: ['ALL'] },
  ],
  zone_config: { num_replicas: 5, range_max_bytes: 536_870_912, gc: { ttl_seconds: 14_400 } },
};

const TABLES = [
  {
    db_name: 'movr',
    schema_name: 'public',
    table_name: 'rides',
    table_id: 104,
    range_count: 1200,
    column_count: 10,
    index_count: 3,
    replication_size_bytes: 3072,
    total_data_bytes: 2048,
    total_live_data_bytes: 512,
    last_updated: ago(90),
  },
  { db_name: 'movr', schema_name: 'public', table_name: 'empty', table_id: 105 },
];

/** Range 7 is in a joint configuration; range 8 has a type that is not known. */
const DESCRIPTORS = [
  {
    isLeaseholder: true,
    leaseValid: true,
    types: [
      [1, 0],
      [4, 2],
      [6, 3],
      [2, 5],
    ],
  },
  { isLeaseholder: false, leaseValid: false, types: [[4, 9]] },
].map(({ types, ...holder }, at) => ({
  ...holder,
  state: {
    state: {
      desc: {
        rangeId: String(7 + at),
        generation: '12',
        internalReplicas: types.map(([nodeId, type]) => ({ nodeId, type })),
      },
    },
  },
}));

function isAsked(path: string) {
  return ({ state }: (typeof DESCRIPTORS)[number]): boolean =>
    new RegExp(`range_ids=${state.state.desc.rangeId}(&|$)`).test(path);
}

/** The answer to a GET of this path. */
export function answerOf(path: string): object {
  if (path.includes('/_status/ranges/')) return { ranges: DESCRIPTORS.filter(isAsked(path)) };
  const node = /(?:\/nodes\/|remote_node_id=)(\d+)/.exec(path)?.[1];
  if (node !== undefined) return { ranges: RANGES[node] ?? [] };
  if (path.includes('/nodes/')) return { nodes: NODES };
  if (path.includes('/sessions/')) return { sessions: SESSIONS };
  if (path.includes('/tables/')) return TABLE;
  return path.includes('/table_metadata/')
    ? { results: TABLES, pagination_info: { total_results: TABLES.length } }
    : {};
}
