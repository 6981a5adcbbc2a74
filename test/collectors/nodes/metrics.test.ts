import { describe, expect, test } from 'vitest';
import { NOW_MS, NOW_NS, pollNodes, recordOf } from './records.ts';

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

/** CPU time in CPUs, and as a share of those that the node may use. */
function cpuTime(user: number, system: number, share: number) {
  return {
    'sys.cpu.user.percent': user,
    'sys.cpu.sys.percent': system,
    'sys.cpu.combined.percent-normalized': share,
  };
}

describe('metrics of a node', () => {
  test('nanoseconds become seconds; counters and ratios are unchanged; kinds are a label', async () => {
    const metrics = {
      'clock-offset.meannanos': -1_500_000,
      'sys.cpu.combined.percent-normalized': 0.25,
      'sql.query.count': 1e6,
      'sql.select.count': 1,
      'sql.txn.commit.count': 3,
      'sql.txn.rollback.count': 4,
      'rpc.connection.healthy': 11,
    };
    const { lines } = await pollNodes([recordOf(1, { metrics })]);
    expect(lines.slice(lines.findIndex((line) => line.includes('clock_offset')))).toEqual([
      'crdb_node_clock_offset_seconds{node_id="1"} -0.0015',
      'crdb_node_cpu_ratio{node_id="1"} 0.25',
      'crdb_node_sql_queries_total{node_id="1"} 1000000',
      'crdb_node_sql_statements_total{node_id="1",kind="select"} 1',
      'crdb_node_sql_transaction_ends_total{node_id="1",kind="commit"} 3',
      'crdb_node_sql_transaction_ends_total{node_id="1",kind="rollback"} 4',
      'crdb_node_rpc_connections{node_id="1",state="healthy"} 11',
    ]);
  });

  test('a mean offset of no clock is none', async () => {
    const metrics = { 'clock-offset.meannanos': -(2 ** 63), 'sql.conns': 1 };
    const { of } = await pollNodes([recordOf(1, { metrics })]);
    expect(of('crdb_node_clock_offset_seconds')).toEqual([]);
    expect(of('crdb_node_sql_connections')).toEqual(['{node_id="1"} 1']);
  });

  test('what INSPECT found is counted by node, support between stores by store', async () => {
    const record = recordOf(1, {
      metrics: { 'jobs.inspect.issues_found': 3 },
      store_metrics: {
        '2': {
          'storeliveness.heartbeat.failures': 4,
          'storeliveness.support_withdraw.successes': 5,
          'storeliveness.support_from.stores': 8,
          'storeliveness.support_for.stores': 9,
        },
      },
    });
    const { of } = await pollNodes([record]);
    expect(of('crdb_node_inspect_issues_total')).toEqual(['{node_id="1"} 3']);
    const labels = '{node_id="1",store_id="2"}';
    expect(of('crdb_store_liveness_heartbeat_failures_total')).toEqual([`${labels} 4`]);
    expect(of('crdb_store_support_withdrawn_total')).toEqual([`${labels} 5`]);
    expect(of('crdb_store_support_from_stores')).toEqual([`${labels} 8`]);
    expect(of('crdb_store_support_for_stores')).toEqual([`${labels} 9`]);
  });

  test('a key that the server does not send has no series', async () => {
    const { of } = await pollNodes([recordOf(1, { metrics: { 'sql.conns': 0 } })]);
    expect(of('crdb_node_sql_connections')).toEqual(['{node_id="1"} 0']);
    expect(of('crdb_node_resident_memory_bytes')).toEqual([]);
  });

  test('statements count when they start and again when they succeed, connections when accepted and when ready', async () => {
    const metrics = {
      'sql.select.started.count': 9,
      'sql.select.count': 7,
      'sql.ddl.started.count': 2,
      'sql.query.started.count': 50,
      'sql.txn.latency-count': 40,
      'sql.txn.contended.count': 5,
      'sql.new_conns': 12,
      'sql.conn.latency-count': 10,
      'sql.conn.failures': 1,
      'changefeed.backfill_count': 3,
    };
    const { lines } = await pollNodes([recordOf(1, { metrics })]);
    expect(lines.filter((line) => /^crdb_node_(sql|changefeed)/.test(line))).toEqual([
      'crdb_node_changefeed_backfills{node_id="1"} 3',
      'crdb_node_sql_statements_total{node_id="1",kind="select"} 7',
      'crdb_node_sql_statements_started_total{node_id="1",kind="select"} 9',
      'crdb_node_sql_statements_started_total{node_id="1",kind="ddl"} 2',
      'crdb_node_sql_transactions_total{node_id="1"} 40',
      'crdb_node_sql_contended_transactions_sampled_total{node_id="1"} 5',
      'crdb_node_sql_connections_new_total{node_id="1"} 12',
      'crdb_node_sql_connections_ready_total{node_id="1"} 10',
      'crdb_node_sql_connection_failures_total{node_id="1"} 1',
    ]);
  });

  test.each([
    ['a license', { seconds_until_license_expiry: 100 }, ['{node_id="1"} 1']],
    ['an expired license', { seconds_until_license_expiry: -100 }, ['{node_id="1"} 1']],
    [
      'no license',
      { seconds_until_license_expiry: 0, seconds_until_enterprise_license_expiry: 0 },
      ['{node_id="1"} 0'],
    ],
    ['an older server', { seconds_until_enterprise_license_expiry: 0 }, []],
  ])('%s is told', async (_what, metrics, expected) => {
    const { of } = await pollNodes([recordOf(1, { metrics })]);
    expect(of('crdb_node_license_installed')).toEqual(expected);
  });

  test.each([
    ['the limit of a container', { num_cpus: 64, metrics: cpuTime(1.5, 0.5, 0.5) }, 4],
    ['a limit that is no whole number', { num_cpus: 64, metrics: cpuTime(0.4, 0.1, 1 / 3) }, 1.5],
    ['what the server sends', { num_cpus: 64, num_vcpus: 3, metrics: cpuTime(1.5, 0.5, 0.5) }, 3],
    ['at most those of the host', { num_cpus: 8, metrics: cpuTime(1.5, 0.5, 0.2) }, 8],
    ['those of the host while it is idle', { num_cpus: 64, metrics: cpuTime(0, 0, 0) }, 64],
    ['those of the host without a share', { num_cpus: 64, metrics: cpuTime(1, 1, 0) }, 64],
  ])('the CPUs are %s', async (_what, record, cpus) => {
    const { of } = await pollNodes([recordOf(1, record)]);
    expect(of('crdb_node_cpus')).toEqual([`{node_id="1"} ${cpus}`]);
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

  test('each store has its own series', async () => {
    const store = {
      capacity: 100,
      'storage.wal.fsync.latency-p99': 3e6,
      'requests.slow.latch': 5,
      'ranges.unavailable': 0,
      ranges: 9,
    };
    const stores = { '10': store, '9': { capacity: 50 } };
    const { lines } = await pollNodes([recordOf(4, { store_metrics: stores })]);
    expect(lines.filter((line) => line.startsWith('crdb_store_'))).toEqual([
      'crdb_store_capacity_bytes{node_id="4",store_id="9"} 50',
      'crdb_store_capacity_bytes{node_id="4",store_id="10"} 100',
      'crdb_store_slow_requests{node_id="4",store_id="10",kind="latch"} 5',
      'crdb_store_wal_fsync_p99_seconds{node_id="4",store_id="10"} 0.003',
      'crdb_store_unavailable_ranges{node_id="4",store_id="10"} 0',
    ]);
  });

  // A node writes its first record when it starts, and measures its process and its stores 10 s later for the first time.
  test('a process that the node has not measured yet has no series', async () => {
    const zeros = { 'sys.rss': 0, 'sys.fd.softlimit': 0, 'sql.conns': 0 };
    const { lines, of } = await pollNodes([recordOf(1, { metrics: zeros })], {
      metrics: ['sys.*'],
    });
    expect(lines.filter((line) => /resident|descriptor|node_metric/.test(line))).toEqual([]);
    expect(of('crdb_node_sql_connections')).toEqual(['{node_id="1"} 0']);
    expect(of('crdb_exporter_node_keys_missing')).toEqual(['0']);
  });

  test('a store that the node has not measured yet has no series', async () => {
    const zeros = { capacity: 0, 'capacity.available': 0, 'ranges.unavailable': 0 };
    const measured = { capacity: 9, 'capacity.available': 0, 'ranges.unavailable': 0 };
    const records = [
      recordOf(1, { store_metrics: { '1': zeros } }),
      recordOf(2, { store_metrics: { '2': measured } }),
    ];
    const { lines, of } = await pollNodes(records, { metrics: ['ranges.unavailable'] });
    expect(lines.filter((line) => line.startsWith('crdb_store_'))).toEqual([
      'crdb_store_capacity_bytes{node_id="2",store_id="2"} 9',
      'crdb_store_available_bytes{node_id="2",store_id="2"} 0',
      'crdb_store_unavailable_ranges{node_id="2",store_id="2"} 0',
      'crdb_store_metric{node_id="2",store_id="2",key="ranges.unavailable"} 0',
    ]);
    expect(of('crdb_exporter_node_keys_missing')).toEqual(['0']);
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
});

describe('a stale record', () => {
  const measured = { metrics: { 'sys.rss': 1 }, store_metrics: { '1': { capacity: 1 } } };

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
      'crdb_node_info',
      'crdb_node_started_timestamp_seconds',
      'crdb_node_updated_timestamp_seconds',
    ]) {
      expect([family, of(family).length]).toEqual([family, 2]);
    }
  });
});
