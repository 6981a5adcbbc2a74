// Records that operators published, written as the API v2 writes them, with neutral names and fewer metrics.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { nodes } from '../../../src/collectors/nodes/collector.ts';
import { CLUSTER_CHECKS } from '../../../src/status/findings/check-cluster.ts';
import { runChecks } from '../../../src/status/findings/check.ts';
import { FIGURES } from '../../../src/status/findings/figures.ts';
import { findFigures } from '../../../src/status/findings/find-figures.ts';
import { observeAt, polledCluster } from '../../status/results.ts';
import { answering, poll } from '../support.ts';
import { OPTIONS } from './records.ts';

type Polled = Awaited<ReturnType<typeof pollCapture>>;

function pollCapture(name: string, answeredMs: number) {
  const file = path.join(import.meta.dirname, 'captures', `${name}.json`);
  const { api } = answering(() => readFileSync(file), answeredMs);
  return poll(nodes, api, { options: OPTIONS, state: nodes.createState() });
}

/** The value of the only line of the series; undefined without one. */
function valueOf({ lines }: Polled, series: string): number | undefined {
  const [line, ...others] = lines.filter((each) => each.startsWith(`${series} `));
  expect(others).toEqual([]);
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** What the page says of it. */
function problemsOf({ result }: Polled, nowMs: number) {
  const cluster = polledCluster({ pollers: [], isUp: true, results: { nodes: result } });
  const evidence = observeAt(nowMs, cluster);
  const figures = findFigures(FIGURES.nodes, evidence);
  return [...figures, ...runChecks(CLUSTER_CHECKS, evidence)].map(({ text }) => text);
}

describe('one node of v25.4.3, two minutes old, before it has a workload', () => {
  const ANSWERED_MS = Date.UTC(2026, 0, 19, 17, 4, 47);
  let polled: Polled;

  beforeAll(async () => {
    polled = await pollCapture('one-node-v25.4.3', ANSWERED_MS);
  });

  // By hand, from the numbers of the file:
  // - started_at and updated_at: nanoseconds / 10^9, to microseconds. 17:04:47 less 17:04:42.715221 is 4.284779 s.
  // - CPUs: (0.0011003393 + 0.0015004627) / 0.0003251003 = 0.002600802 / 0.0003251003 = 8.00.
  // - clock-offset.meannanos 22812 / 10^9. The heartbeats' 22695105.36694665 ns / 10^9.
  // - The license ends 29937317 s after the record: 1768842282.715221 + 29937317 = 1798779599.715221, on 2027-01-01.
  test.each([
    ['crdb_nodes{status="live"}', 1],
    ['crdb_nodes{status="dead"}', 0],
    ['crdb_build_tags', 1],
    ['crdb_node_liveness{node_id="1",status="live"}', 1],
    ['crdb_node_locality_info{node_id="1",tier="region",value="region-1"}', 1],
    ['crdb_node_locality_info{node_id="1",tier="zone",value="zone-1a"}', 1],
    ['crdb_node_started_timestamp_seconds{node_id="1"}', 1_768_842_142.636_614],
    ['crdb_node_updated_timestamp_seconds{node_id="1"}', 1_768_842_282.715_221],
    ['crdb_node_record_age_seconds{node_id="1"}', 4.284_779],
    ['crdb_node_cpus{node_id="1"}', 8],
    ['crdb_node_memory_bytes{node_id="1"}', 16 * 2 ** 30],
    ['crdb_node_clock_offset_seconds{node_id="1"}', 0.000_022_812],
    ['crdb_node_cpu_ratio{node_id="1"}', 0.000_325_1],
    ['crdb_node_host_cpu_ratio{node_id="1"}', 0.132_166],
    ['crdb_node_resident_memory_bytes{node_id="1"}', 437_207_040],
    ['crdb_node_liveness_heartbeat_p99_seconds{node_id="1"}', 0.022_695_1],
    ['crdb_node_sql_service_latency_p99_seconds{node_id="1"}', 0],
    ['crdb_node_file_descriptor_limit{node_id="1"}', 0],
    ['crdb_node_sql_queries_total{node_id="1"}', 21],
    ['crdb_node_sql_failures_total{node_id="1"}', 1],
    ['crdb_node_sql_statements_total{node_id="1",kind="select"}', 3],
    ['crdb_node_sql_statements_total{node_id="1",kind="insert"}', 1],
    ['crdb_node_sql_statements_total{node_id="1",kind="ddl"}', 4],
    ['crdb_node_sql_connections_new_total{node_id="1"}', 5],
    ['crdb_node_rpc_connections{node_id="1",state="healthy"}', 2],
    ['crdb_node_license_installed{node_id="1"}', 1],
    ['crdb_node_license_expiry_timestamp_seconds{node_id="1"}', 1_798_779_599.715_221],
    ['crdb_store_capacity_bytes{node_id="1",store_id="1"}', 494_384_795_648],
    ['crdb_store_available_bytes{node_id="1",store_id="1"}', 272_782_086_144],
    ['crdb_store_used_bytes{node_id="1",store_id="1"}', 13_389_080],
    ['crdb_store_live_bytes{node_id="1",store_id="1"}', 2_137_541],
    ['crdb_store_replicas{node_id="1",store_id="1"}', 78],
    ['crdb_store_leaseholders{node_id="1",store_id="1"}', 78],
    ['crdb_store_underreplicated_ranges{node_id="1",store_id="1"}', 78],
    ['crdb_store_replicate_queue{node_id="1",store_id="1",state="purgatory"}', 78],
  ])('%s is %d', (series, expected) => {
    expect(valueOf(polled, series)).toBeCloseTo(expected, 6);
  });

  test('says nothing of what the record does not have', () => {
    const absent = [
      'crdb_backup_last_completed_timestamp_seconds',
      'crdb_node_certificate_expiry_timestamp_seconds',
      'crdb_preserve_downgrade_option_updated_timestamp_seconds',
      'crdb_replication_lag_seconds',
      'crdb_node_sql_statements_started_total',
    ];
    expect(absent.filter((family) => polled.of(family).length > 0)).toEqual([]);
  });

  test('is no problem, although each of its 78 ranges is under-replicated and in purgatory', () => {
    expect(problemsOf(polled, ANSWERED_MS)).toEqual([]);
  });
});

describe('the node of a secure cluster in CockroachDB Cloud', () => {
  const ANSWERED_MS = Date.UTC(2026, 0, 19, 17, 4, 0);
  let polled: Polled;

  beforeAll(async () => {
    polled = await pollCapture('cloud-node-v25.4.3', ANSWERED_MS);
  });

  // By hand, from the numbers of the file:
  // - updated_at 1768842237079827813 ns is 17:03:57.079828: 2.920172 s before 17:04:00.
  // - The license ends 315504358 s after it: 1768842237.079828 + 315504358 = 2084346595.079828.
  // - Certificates are Unix times as they stand; the last backup, too.
  // - Without the metrics of the processor the CPUs are those of the host: 2. The sync of the log: 3300000 ns.
  test.each([
    ['crdb_node_record_age_seconds{node_id="1"}', 2.920_172],
    ['crdb_node_locality_info{node_id="1",tier="zone",value="zone-1a"}', 1],
    ['crdb_node_locality_info{node_id="1",tier="dns",value="crdb-abcde.example"}', 1],
    ['crdb_node_cpus{node_id="1"}', 2],
    ['crdb_node_memory_bytes{node_id="1"}', 6_105_886_720],
    ['crdb_backup_last_completed_timestamp_seconds', 1_768_842_000],
    ['crdb_node_license_expiry_timestamp_seconds{node_id="1"}', 2_084_346_595.079_828],
    ['crdb_node_certificate_expiry_timestamp_seconds{node_id="1",certificate="ca"}', 2_084_172_849],
    [
      'crdb_node_certificate_expiry_timestamp_seconds{node_id="1",certificate="node"}',
      1_863_421_631,
    ],
    ['crdb_node_certificate_expiry_timestamp_seconds{node_id="1",certificate="ui"}', 1_776_585_361],
    ['crdb_node_sql_connections_ready_total{node_id="1"}', 2748],
    ['crdb_node_sql_statements_started_total{node_id="1",kind="ddl"}', 0],
    ['crdb_store_wal_fsync_p99_seconds{node_id="1",store_id="1"}', 0.0033],
    ['crdb_store_replicas{node_id="1",store_id="1"}', 71],
  ])('%s is %d', (series, expected) => {
    expect(valueOf(polled, series)).toBeCloseTo(expected, 6);
  });

  test('has the certificates that it has, and not the sum over its clients', () => {
    const names = polled
      .of('crdb_node_certificate_expiry_timestamp_seconds')
      .map((line) => /certificate="([^"]+)"/.exec(line)?.[1]);
    expect(names).toEqual(['ca', 'client-ca', 'node', 'node-client', 'ui']);
  });

  test('is no problem', () => {
    expect(problemsOf(polled, ANSWERED_MS)).toEqual([]);
  });
});
