import { keyed, keyedBy, type KeyedSeries, kindsOf, NODE } from './keyed.ts';

const SQL_KINDS = ['select', 'insert', 'update', 'delete', 'ddl'];
const SQL_OUTCOMES = {
  committed: 'sql.txn.commit.count',
  rolled_back: 'sql.txn.rollback.count',
  aborted: 'sql.txn.abort.count',
};

/** The families of a node that are one metric each, or one by kind. */
export const NODE_METRICS: readonly KeyedSeries[] = [
  keyed(NODE, 'clock-offset.meannanos', {
    name: 'crdb_node_clock_offset_seconds',
    help: 'Mean offset of the clock of the node to those of its peers in seconds.',
  }),
  keyed(NODE, 'sys.cpu.combined.percent-normalized', {
    name: 'crdb_node_cpu_ratio',
    help: 'CPU used by the node process, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.cpu.host.combined.percent-normalized', {
    name: 'crdb_node_host_cpu_ratio',
    help: 'CPU used on the whole machine of the node, 0 to 1 of all its CPUs.',
    unit: 'ratio, 0 to 1',
  }),
  keyed(NODE, 'sys.rss', {
    name: 'crdb_node_resident_memory_bytes',
    help: 'Resident memory of the node process in bytes.',
  }),
  keyed(NODE, 'sys.runnable.goroutines.per.cpu', {
    name: 'crdb_node_runnable_goroutines_per_cpu',
    help: 'Goroutines waiting for a CPU, per CPU; above 30 the node is overloaded.',
  }),
  keyed(NODE, 'sql.conns', {
    name: 'crdb_node_sql_connections',
    help: 'Open SQL connections of the node.',
  }),
  keyed(NODE, 'sql.service.latency-p99', {
    name: 'crdb_node_sql_service_latency_p99_seconds',
    help: '99th percentile of recent SQL statement latency in seconds; 0 without statements.',
  }),
  keyed(NODE, 'liveness.heartbeatlatency-p99', {
    name: 'crdb_node_liveness_heartbeat_p99_seconds',
    help: '99th percentile of recent liveness heartbeat latency in seconds; 0 without heartbeats.',
  }),
  keyed(NODE, 'requests.slow.distsender', {
    name: 'crdb_node_slow_requests',
    help: 'KV requests sent by the node that have been stuck for a long time.',
  }),
  keyed(NODE, 'sys.fd.open', {
    name: 'crdb_node_open_file_descriptors',
    help: 'Open file descriptors of the node process.',
  }),
  keyed(NODE, 'sys.fd.softlimit', {
    name: 'crdb_node_file_descriptor_limit',
    help: 'Maximum number of open file descriptors of the node process.',
  }),
  keyed(NODE, 'changefeed.running', {
    name: 'crdb_node_changefeeds_running',
    help: 'Changefeeds running on the node.',
  }),
  keyed(NODE, 'changefeed.max_behind_nanos', {
    name: 'crdb_node_changefeed_max_behind_seconds',
    help: 'Lag of the slowest changefeed of the node in seconds.',
  }),
  keyed(NODE, 'sql.query.count', {
    name: 'crdb_node_sql_queries_total',
    help: 'SQL statements executed by the node.',
  }),
  keyed(NODE, 'sql.failure.count', {
    name: 'crdb_node_sql_failures_total',
    help: 'SQL statements that failed on the node.',
  }),
  keyed(NODE, 'liveness.heartbeatfailures', {
    name: 'crdb_node_liveness_heartbeat_failures_total',
    help: 'Failed liveness heartbeats of the node.',
  }),
  keyed(NODE, 'schedules.BACKUP.failed', {
    name: 'crdb_node_backup_schedule_failures_total',
    help: 'Scheduled backups that failed on the node.',
  }),
  keyed(NODE, 'changefeed.failures', {
    name: 'crdb_node_changefeed_failures_total',
    help: 'Changefeeds that failed permanently on the node.',
  }),
  ...keyedBy(NODE, 'kind', kindsOf('sql.*.count', SQL_KINDS), {
    name: 'crdb_node_sql_statements_total',
    help: 'SQL statements executed by the node, by kind.',
  }),
  ...keyedBy(NODE, 'outcome', SQL_OUTCOMES, {
    name: 'crdb_node_sql_transactions_total',
    help: 'SQL transactions ended by the node, by outcome.',
  }),
  keyed(NODE, 'sql.txn.contended.count', {
    name: 'crdb_node_sql_contended_transactions_total',
    help: 'SQL transactions of the node that had to wait for another transaction.',
  }),
  keyed(NODE, 'sql.conn.failures', {
    name: 'crdb_node_sql_connection_failures_total',
    help: 'SQL connections to the node that failed.',
  }),
  keyed(NODE, 'sql.mem.root.current', {
    name: 'crdb_node_sql_memory_bytes',
    help: 'Memory that SQL holds on the node in bytes.',
  }),
  keyed(NODE, 'changefeed.emitted_bytes', {
    name: 'crdb_node_changefeed_emitted_bytes_total',
    help: 'Bytes that changefeeds of the node emitted.',
  }),
  keyed(NODE, 'changefeed.error_retries', {
    name: 'crdb_node_changefeed_retries_total',
    help: 'Retries of changefeeds of the node after an error.',
  }),
  ...keyedBy(NODE, 'state', kindsOf('rpc.connection.*', ['healthy', 'unhealthy']), {
    name: 'crdb_node_rpc_connections',
    help: 'RPC connections of the node to its peers, by state.',
    notes: 'Unhealthy on some live nodes only: a network partition.',
  }),
];
