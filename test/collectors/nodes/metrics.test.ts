import { describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { answering, poll } from '../support.ts';
import { NOW_MS, NOW_NS, OPTIONS, pollNodes, recordOf } from './records.ts';

/** Ids of the nodes with exported measurements. */
async function measuredNodes(
  records: readonly unknown[],
  dateMs?: number,
): Promise<readonly string[]> {
  const { lines } = await pollNodes(records, { dateMs: dateMs ?? NOW_MS, metrics: ['*'] });
  const ids = lines
    .filter((line) => /^crdb_(node_resident|store_|node_metric)/.test(line))
    .map((line) => /node_id="(\d+)"/.exec(line)?.[1] ?? '');
  return [...new Set(ids)];
}

describe('metrics of a node', () => {
  test('nanoseconds become seconds; counters and ratios are unchanged', async () => {
    const metrics = {
      'clock-offset.meannanos': -1_500_000,
      'sys.cpu.combined.percent-normalized': 0.25,
      'sys.cpu.host.combined.percent-normalized': 0.5,
      'sys.rss': 1e9,
      'sys.runnable.goroutines.per.cpu': 0.125,
      'sql.conns': 12,
      'sql.service.latency-p99': 20_000_000,
      'liveness.heartbeatlatency-p99': 3_000_000,
      'sql.query.count': 1e6,
      'sql.failure.count': 7,
      'liveness.heartbeatfailures': 1,
      'requests.slow.distsender': 2,
      'sys.fd.open': 100,
      'sys.fd.softlimit': 1000,
      'schedules.BACKUP.failed': 3,
      'changefeed.failures': 4,
      'changefeed.running': 5,
      'changefeed.max_behind_nanos': 6e9,
    };
    const { lines } = await pollNodes([recordOf(1, { metrics })]);
    expect(lines.filter((line) => /^crdb_node_\w+\{node_id="1"\}/.test(line)).slice(6)).toEqual([
      'crdb_node_clock_offset_seconds{node_id="1"} -0.0015',
      'crdb_node_cpu_ratio{node_id="1"} 0.25',
      'crdb_node_host_cpu_ratio{node_id="1"} 0.5',
      'crdb_node_resident_memory_bytes{node_id="1"} 1000000000',
      'crdb_node_runnable_goroutines_per_cpu{node_id="1"} 0.125',
      'crdb_node_sql_connections{node_id="1"} 12',
      'crdb_node_sql_service_latency_p99_seconds{node_id="1"} 0.02',
      'crdb_node_liveness_heartbeat_p99_seconds{node_id="1"} 0.003',
      'crdb_node_slow_requests{node_id="1"} 2',
      'crdb_node_open_file_descriptors{node_id="1"} 100',
      'crdb_node_file_descriptor_limit{node_id="1"} 1000',
      'crdb_node_changefeeds_running{node_id="1"} 5',
      'crdb_node_changefeed_max_behind_seconds{node_id="1"} 6',
      'crdb_node_sql_queries_total{node_id="1"} 1000000',
      'crdb_node_sql_failures_total{node_id="1"} 7',
      'crdb_node_liveness_heartbeat_failures_total{node_id="1"} 1',
      'crdb_node_backup_schedule_failures_total{node_id="1"} 3',
      'crdb_node_changefeed_failures_total{node_id="1"} 4',
    ]);
  });

  test('statements, transactions and connections are counted by kind', async () => {
    const metrics = {
      'sql.select.count': 1,
      'sql.ddl.count': 2,
      'sql.txn.commit.count': 3,
      'sql.txn.rollback.count': 4,
      'sql.txn.abort.count': 5,
      'sql.txn.contended.count': 6,
      'sql.conn.failures': 7,
      'sql.mem.root.current': 8,
      'changefeed.emitted_bytes': 9,
      'changefeed.error_retries': 10,
      'rpc.connection.healthy': 11,
      'rpc.connection.unhealthy': 0,
    };
    const { lines } = await pollNodes([recordOf(1, { metrics })]);
    expect(lines.filter((line) => /sql_|rpc_|changefeed/.test(line)).slice(1)).toEqual([
      'crdb_node_sql_statements_total{node_id="1",kind="select"} 1',
      'crdb_node_sql_statements_total{node_id="1",kind="ddl"} 2',
      'crdb_node_sql_transactions_total{node_id="1",outcome="committed"} 3',
      'crdb_node_sql_transactions_total{node_id="1",outcome="rolled_back"} 4',
      'crdb_node_sql_transactions_total{node_id="1",outcome="aborted"} 5',
      'crdb_node_sql_contended_transactions_total{node_id="1"} 6',
      'crdb_node_sql_connection_failures_total{node_id="1"} 7',
      'crdb_node_sql_memory_bytes{node_id="1"} 8',
      'crdb_node_changefeed_emitted_bytes_total{node_id="1"} 9',
      'crdb_node_changefeed_retries_total{node_id="1"} 10',
      'crdb_node_rpc_connections{node_id="1",state="healthy"} 11',
      'crdb_node_rpc_connections{node_id="1",state="unhealthy"} 0',
    ]);
  });

  test('a key that the server does not send has no series', async () => {
    const { of } = await pollNodes([recordOf(1, { metrics: { 'sql.conns': 0 } })]);
    expect(of('crdb_node_sql_connections')).toEqual(['{node_id="1"} 0']);
    expect(of('crdb_node_resident_memory_bytes')).toEqual([]);
  });

  test.each([
    [{ seconds_until_license_expiry: 100 }, NOW_MS / 1000 - 5 + 100],
    [{ seconds_until_enterprise_license_expiry: 100 }, NOW_MS / 1000 - 5 + 100],
    [{ seconds_until_license_expiry: -50 }, NOW_MS / 1000 - 5 - 50],
    [
      { seconds_until_license_expiry: 100, seconds_until_enterprise_license_expiry: 900 },
      NOW_MS / 1000 - 5 + 100,
    ],
  ])('%o is the time at which the license expires', async (metrics, expiry) => {
    const { of } = await pollNodes([recordOf(1, { metrics })]);
    expect(of('crdb_node_license_expiry_timestamp_seconds')).toEqual([`{node_id="1"} ${expiry}`]);
  });

  test('a node without a license has no expiry', async () => {
    const { of } = await pollNodes([
      recordOf(1, { metrics: { seconds_until_license_expiry: 0 } }),
      recordOf(2),
    ]);
    expect(of('crdb_node_license_expiry_timestamp_seconds')).toEqual([]);
  });

  test('every certificate of a node has its expiry, but those of clients', async () => {
    const metrics = {
      'security.certificate.expiration.ca': 1_900_000_000,
      'security.certificate.expiration.node': 1_800_000_000,
      'security.certificate.expiration.ui': 0,
      'security.certificate.expiration.ui-ca': 1_950_000_000,
      // A sum over the SQL users.
      'security.certificate.expiration.client': 5_400_000_000,
      'security.certificate.expiration.node-client': 1_850_000_000,
      'security.certificate.ttl.ca': 5,
    };
    const { of } = await pollNodes([recordOf(1, { metrics })]);
    expect(of('crdb_node_certificate_expiry_timestamp_seconds')).toEqual([
      '{node_id="1",certificate="ca"} 1900000000',
      '{node_id="1",certificate="node"} 1800000000',
      '{node_id="1",certificate="ui-ca"} 1950000000',
      '{node_id="1",certificate="node-client"} 1850000000',
    ]);
  });

  test('stores are sorted by id', async () => {
    const store = {
      capacity: 100,
      'capacity.available': 60,
      'capacity.used': 30,
      'storage.l0-sublevels': 1,
      'storage.write-stalls': 2,
      'storage.disk-slow': 3,
      'storage.disk-stalled': 4,
      'requests.slow.latch': 5,
      'requests.slow.raft': 7,
      livebytes: 8,
      'raftlog.behind': 9,
      'storage.wal.fsync.latency-p99': 3e6,
      'raft.process.logcommit.latency-p99': 4e6,
      'range.snapshots.rcvd-bytes': 10,
      'leases.transfers.success': 11,
      'queue.replicate.pending': 12,
      'queue.replicate.purgatory': 13,
      'ranges.decommissioning': 14,
      'leases.preferences.violating': 15,
      'kv.concurrency.lock_wait_queue_waiters': 16,
      'admission.io.overload': 1.25,
      ranges: 9,
    };
    const stores = { '10': store, '9': { capacity: 50 }, 'x"': store, '9x': store };
    const { lines } = await pollNodes([recordOf(4, { store_metrics: stores })]);
    expect(lines.filter((line) => line.startsWith('crdb_store_'))).toEqual([
      'crdb_store_capacity_bytes{node_id="4",store_id="9"} 50',
      'crdb_store_capacity_bytes{node_id="4",store_id="10"} 100',
      'crdb_store_available_bytes{node_id="4",store_id="10"} 60',
      'crdb_store_used_bytes{node_id="4",store_id="10"} 30',
      'crdb_store_l0_sublevels{node_id="4",store_id="10"} 1',
      'crdb_store_write_stalls_total{node_id="4",store_id="10"} 2',
      'crdb_store_disk_slow_total{node_id="4",store_id="10"} 3',
      'crdb_store_disk_stalled_total{node_id="4",store_id="10"} 4',
      'crdb_store_slow_requests{node_id="4",store_id="10",kind="latch"} 5',
      'crdb_store_slow_requests{node_id="4",store_id="10",kind="raft"} 7',
      'crdb_store_live_bytes{node_id="4",store_id="10"} 8',
      'crdb_store_raft_log_behind{node_id="4",store_id="10"} 9',
      'crdb_store_wal_fsync_p99_seconds{node_id="4",store_id="10"} 0.003',
      'crdb_store_raft_log_commit_p99_seconds{node_id="4",store_id="10"} 0.004',
      'crdb_store_snapshot_received_bytes_total{node_id="4",store_id="10"} 10',
      'crdb_store_lease_transfers_total{node_id="4",store_id="10"} 11',
      'crdb_store_replicate_queue{node_id="4",store_id="10",state="pending"} 12',
      'crdb_store_replicate_queue{node_id="4",store_id="10",state="purgatory"} 13',
      'crdb_store_decommissioning_ranges{node_id="4",store_id="10"} 14',
      'crdb_store_lease_preference_violations{node_id="4",store_id="10"} 15',
      'crdb_store_lock_waiters{node_id="4",store_id="10"} 16',
      'crdb_store_io_overload_ratio{node_id="4",store_id="10"} 1.25',
    ]);
  });

  test('only the keys that the user lists are exported by key', async () => {
    const { of } = await pollNodes(
      [
        recordOf(1, {
          metrics: {
            'sys.rss': 1,
            'sql.mem.root.current': 2,
            'sql.mem.root.max': 3,
            'sql.memory': 9,
            other: 4,
          },
          store_metrics: { '1': { ranges: 5, capacity: 6, 'sql.mem.x': 7 } },
        }),
      ],
      { metrics: ['sys.rss', 'sql.mem.*', 'ranges'] },
    );
    expect(of('crdb_node_metric')).toEqual([
      '{node_id="1",key="sys.rss"} 1',
      '{node_id="1",key="sql.mem.root.current"} 2',
      '{node_id="1",key="sql.mem.root.max"} 3',
    ]);
    expect(of('crdb_store_metric')).toEqual([
      '{node_id="1",store_id="1",key="ranges"} 5',
      '{node_id="1",store_id="1",key="sql.mem.x"} 7',
    ]);
    expect(of('crdb_node_resident_memory_bytes')).toEqual(['{node_id="1"} 1']);
  });

  test('* selects every key', async () => {
    const metrics = { a: 1, 'b.c': 2, 'security.certificate.expiration.ca': 3 };
    const { of } = await pollNodes([recordOf(1, { metrics })], { metrics: ['*'] });
    expect(of('crdb_node_metric')).toHaveLength(3);
  });
});

describe('a stale record', () => {
  const measured = { metrics: { 'sys.rss': 1 }, store_metrics: { '1': { capacity: 1 } } };

  test('has no metrics when it is more than a minute older than the newest', async () => {
    const newest = NOW_NS - 5e9;
    expect(
      await measuredNodes([
        recordOf(1, measured),
        recordOf(2, { ...measured, updated_at: newest - 59e9 }),
        recordOf(3, { ...measured, updated_at: newest - 61e9 }),
      ]),
    ).toEqual(['1', '2']);
  });

  test('has no metrics when it is more than two minutes older than the response', async () => {
    const records = [recordOf(1, measured), recordOf(2, measured)];
    expect(await measuredNodes(records, NOW_MS + 114_000)).toEqual(['1', '2']);
    expect(await measuredNodes(records, NOW_MS + 116_000)).toEqual([]);
  });

  test('has no metrics when its node is dead or it has no timestamp', async () => {
    expect(
      await measuredNodes([
        recordOf(1, { ...measured, liveness_status: 1 }),
        recordOf(2, { ...measured, updated_at: undefined }),
        recordOf(3, { ...measured, liveness_status: 2 }),
      ]),
    ).toEqual(['3']);
  });

  test('keeps liveness, identity, start and age', async () => {
    const { of } = await pollNodes([recordOf(1), recordOf(2, { updated_at: NOW_NS - 600e9 })]);
    for (const family of [
      'crdb_node_liveness_code',
      'crdb_node_info',
      'crdb_node_started_timestamp_seconds',
      'crdb_node_updated_timestamp_seconds',
    ]) {
      expect([family, of(family).length]).toEqual([family, 2]);
    }
  });

  test('is detected also when the response has no Date', async () => {
    const { api } = answering(() => ({
      nodes: [recordOf(1), recordOf(2, { updated_at: NOW_NS - 600e9 })],
    }));
    const { of } = await poll(nodes, api, { options: OPTIONS, state: nodes.createState() });
    expect(of('crdb_node_resident_memory_bytes')).toEqual(['{node_id="1"} 1024']);
  });
});
