import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { serve, type TestServer } from '../../support/http-server.ts';
import { runHere } from '../run.ts';
import { answerOf, NOW_MS } from './known-cluster.ts';

let server: TestServer;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS });
  server = await serve((request, response) => {
    response.setHeader('date', new Date(NOW_MS).toUTCString());
    response.end(JSON.stringify(answerOf(request.url ?? '')));
  });
});

afterAll(async () => {
  vi.useRealTimers();
  await server[Symbol.asyncDispose]();
});

/** What a command that succeeds prints, its notes first. */
async function outputOf(command: string): Promise<string> {
  const { code, out, err } = await runHere([...command.split(' '), `--cluster.url=${server.url}`]);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return `\n${err.replaceAll(server.url.replace('http://', ''), 'HOST')}${out}`;
}

test('nodes', async () => {
  expect(await outputOf('nodes')).toMatchInlineSnapshot(`
    "
    ID  STATUS    UPDATED  ADDRESS       VERSION  UPTIME   CPU  MEMORY  MAX DISK  SQL P99  HEARTBEAT  CONNS  REPLICAS  LOCALITY
     6  dead       4s ago  -             -             -     -       -         -        -          -      -         -  -
     2  other      3s ago  -             -             -     -       -         -        -          -      -         -  -
     1  live       5s ago  crdb-1:26257  v24.3.1   3h12m  13 %   2 KiB      90 %    12 ms      1.5 s  1,234     1,209  region=eu,zone=a
     3  live            -  -             -             -     -       -         -        -          -      -         -  -
     4  live       1s ago  -             -           59s     -       -         -        -          -      -         -  -
     5  live    1m15s ago  -             -             -     -       -         -        -          -      -         -  -
    "
  `);
  expect(await outputOf('nodes --output json')).toMatchInlineSnapshot(`
    "
    {"nodes": [
    {"node_id":1,"status":"live","address":"crdb-1:26257","sql_address":"sql-1:26257","build_tag":"v24.3.1","server_version":{"major":24,"minor":3,"patch":1,"internal":2},"cluster_name":"prod","locality":"region=eu,zone=a","attrs":["ssd"],"started_at":"2026-01-01T23:52:00.000Z","updated_at":"2026-01-02T03:04:00.000Z","num_cpus":8,"num_vcpus":7.5,"total_system_memory":4096,"metrics":{"sys.cpu.combined.percent-normalized":0.125,"sys.rss":2048,"sql.conns":1234,"sql.service.latency-p99":12000000,"liveness.heartbeatlatency-p99":1500000000},"store_metrics":{"1":{"replicas":9,"capacity":100,"capacity.used":30,"capacity.available":10},"2":{"replicas":1200,"capacity":300,"capacity.used":20,"capacity.available":150}},"record_age_seconds":5},
    {"node_id":2,"status":"other","address":"","sql_address":"","build_tag":"","server_version":{"major":0,"minor":0,"patch":0,"internal":0},"cluster_name":"","locality":"","attrs":[],"started_at":null,"updated_at":"2026-01-02T03:04:02.000Z","num_cpus":0,"num_vcpus":0,"total_system_memory":0,"metrics":{},"store_metrics":{},"record_age_seconds":3},
    {"node_id":3,"status":"live","address":"","sql_address":"","build_tag":"","server_version":{"major":0,"minor":0,"patch":0,"internal":0},"cluster_name":"","locality":"","attrs":[],"started_at":null,"updated_at":null,"num_cpus":0,"num_vcpus":0,"total_system_memory":0,"metrics":null,"store_metrics":null,"record_age_seconds":null},
    {"node_id":4,"status":"live","address":"","sql_address":"","build_tag":"","server_version":{"major":0,"minor":0,"patch":0,"internal":0},"cluster_name":"","locality":"","attrs":[],"started_at":"2026-01-02T03:03:05.000Z","updated_at":"2026-01-02T03:04:04.000Z","num_cpus":0,"num_vcpus":0,"total_system_memory":0,"metrics":{},"store_metrics":{},"record_age_seconds":1},
    {"node_id":5,"status":"live","address":"","sql_address":"","build_tag":"","server_version":{"major":0,"minor":0,"patch":0,"internal":0},"cluster_name":"","locality":"","attrs":[],"started_at":null,"updated_at":"2026-01-02T03:02:50.000Z","num_cpus":0,"num_vcpus":0,"total_system_memory":0,"metrics":null,"store_metrics":null,"record_age_seconds":75},
    {"node_id":6,"status":"dead","address":"","sql_address":"","build_tag":"","server_version":{"major":0,"minor":0,"patch":0,"internal":0},"cluster_name":"","locality":"","attrs":[],"started_at":null,"updated_at":"2026-01-02T03:04:01.000Z","num_cpus":0,"num_vcpus":0,"total_system_memory":0,"metrics":null,"store_metrics":null,"record_age_seconds":4}
    ]}
    "
  `);
});

test('sessions', async () => {
  expect(await outputOf('sessions --show-sql')).toMatchInlineSnapshot(`
    "
    ID      USER  APPLICATION  STATE                TXN AGE  QUERY AGE    AGE  NODE  RETRIES  MEMORY  SQL
    00ff10  ada   shop         active                  1m1s        40s     1h     1        5   2 KiB  SELECT 1
    01ab    bob   -            idle in transaction     1m1s          -  1m30s     2        5     0 B  SHOW
    -       ada   -            active                     -         0s      -     2        -     0 B  -
    -       eve   -            idle                       -          -     5s     3        -     5 B  -
    "
  `);
  expect(await outputOf('sessions --show-sql --output json')).toMatchInlineSnapshot(`
    "
    {"sessions": [
    {"node_id":1,"username":"ada","application_name":"shop","start":"2026-01-02T02:04:05.000Z","alloc_bytes":2048,"max_alloc_bytes":4096,"id":"00ff10","num_txns_executed":7,"last_active_query":"SELECT 2","last_active_query_no_constants":"SELECT _","state":"active","age_seconds":3600,"transaction_age_seconds":61,"query_age_seconds":40,"total_active_seconds":1.5,"active_txn":{"id":"dHhu","start":"2026-01-02T03:03:04.000Z","implicit":false,"num_retries":2,"num_auto_retries":5,"read_only":true,"num_statements_executed":3,"alloc_bytes":10,"max_alloc_bytes":20,"priority":"normal"},"active_queries":[{"id":"q1","start":"2026-01-02T03:03:35.000Z","phase":"executing","progress":0.5,"is_distributed":true,"is_full_scan":false,"database":"movr","sql":"SELECT 1","sql_no_constants":"SELECT _"},{"id":"q2","start":"2026-01-02T03:03:56.000Z","phase":"preparing","progress":0,"is_distributed":false,"is_full_scan":false,"database":"","sql":"","sql_no_constants":""}]},
    {"node_id":2,"username":"bob","application_name":"","start":"2026-01-02T03:02:35.000Z","alloc_bytes":0,"max_alloc_bytes":0,"id":"01ab","num_txns_executed":0,"last_active_query":"SHOW","last_active_query_no_constants":"","state":"idle_in_transaction","age_seconds":90,"transaction_age_seconds":61,"query_age_seconds":null,"total_active_seconds":0,"active_txn":{"id":"dHhu","start":"2026-01-02T03:03:04.000Z","implicit":false,"num_retries":2,"num_auto_retries":5,"read_only":true,"num_statements_executed":3,"alloc_bytes":10,"max_alloc_bytes":20,"priority":"normal"},"active_queries":[]},
    {"node_id":2,"username":"ada","application_name":"","start":null,"alloc_bytes":0,"max_alloc_bytes":0,"id":"","num_txns_executed":0,"last_active_query":"","last_active_query_no_constants":"","state":"active","age_seconds":null,"transaction_age_seconds":null,"query_age_seconds":0,"total_active_seconds":0,"active_txn":null,"active_queries":[{"id":"","start":null,"phase":"unknown(7)","progress":0,"is_distributed":false,"is_full_scan":false,"database":"","sql":"","sql_no_constants":""}]},
    {"node_id":3,"username":"eve","application_name":"","start":"2026-01-02T03:04:00.000Z","alloc_bytes":5,"max_alloc_bytes":0,"id":"","num_txns_executed":0,"last_active_query":"","last_active_query_no_constants":"","state":"idle","age_seconds":5,"transaction_age_seconds":null,"query_age_seconds":null,"total_active_seconds":0,"active_txn":null,"active_queries":[]}
    ],
    "failed_nodes": []}
    "
  `);
});

test.each([
  ['--user ADA', ['00ff10', '-']],
  ['--user ad', []],
  ['--application shop', ['00ff10']],
  ['--application unset', ['01ab', '-', '-']],
  ['--older-than 61s', []],
  ['--older-than 60s', ['00ff10', '01ab']],
  ['--older-than 1m --user bob', ['01ab']],
])('sessions %s', async (options, ids) => {
  const [, ...lines] = (await outputOf(`sessions ${options}`)).trim().split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual(ids);
});

test('ranges', async () => {
  expect(await outputOf('ranges')).toMatchInlineSnapshot(`
    "
    crdb-exporter: skipped, because not live: nodes 2 and 6
    RANGE  NODE  STORE  TABLE              LEASE  QPS  WRITES/S  READ/S  WRITTEN/S    CPU  PROBLEMS
        7     1      1  movr.public.rides  epoch   13         3   2 KiB      1 KiB  2.5 %  -
        7     4      4  movr.public.rides  -        0         0       -          -      -  no_lease,underreplicated
        8     4      4  -                  -        0         0       -          -      -  -
    "
  `);
  expect(await outputOf('ranges 4 --output json')).toMatchInlineSnapshot(`
    "
    {"ranges": [
    {"range_id":7,"node_id":4,"store_id":4,"table_id":104,"table":"movr.public.rides","index_id":1,"last_table_id":null,"last_table":null,"problems":["no_lease","underreplicated"],"is_leaseholder":false,"lease_kind":"epoch","quiescent":true,"ticking":false,"stats":{"queries_per_second":0,"writes_per_second":0},"lease_history":[{"epoch":3,"term":0,"sequence":1,"acquisition_type":0,"replica":{"node_id":1,"store_id":1,"replica_id":1}},{"start":{"wall_time":"1767322970000000000"},"epoch":3,"term":0,"sequence":2,"acquisition_type":0,"replica":{"node_id":3,"store_id":3,"replica_id":1}},{"start":{"wall_time":"1767323040000000000"},"epoch":3,"term":0,"sequence":3,"acquisition_type":0,"replica":{"node_id":1,"store_id":1,"replica_id":1}}]},
    {"range_id":8,"node_id":4,"store_id":4,"table_id":null,"table":null,"index_id":null,"last_table_id":null,"last_table":null,"problems":[],"is_leaseholder":false,"lease_kind":null,"quiescent":false,"ticking":false,"stats":{"queries_per_second":0,"writes_per_second":0},"lease_history":[]}
    ],
    "skipped_nodes": [],
    "failed_nodes": [],
    "replicas_without_problems": 0}
    "
  `);
});

test('range', async () => {
  expect(await outputOf('range 8 7')).toMatchInlineSnapshot(`
    "
    crdb-exporter: skipped, because not live: nodes 2 and 6
    Range 7: table movr.public.rides, index 1
    Voter on node 1, non-voter on node 2, incoming voter on node 4, outgoing voter on node 6; not live: nodes 2 and 6.

    NODE  STORE  LEASE  RAFT       QPS  WRITES/S    CPU  PROBLEMS
       1      1  epoch  ticking     13         3  2.5 %  -
       4      4  -      quiescent    0         0      -  no_lease,underreplicated

    Leases, the last one first:
    SINCE                                 NODE  STORE  SEQUENCE
    2026-01-02T03:04:00.000Z (5s ago)     1     1      3
    2026-01-02T03:02:50.000Z (1m15s ago)  3     3      2
    -                                     1     1      1

    no_lease: without a valid lease: requests wait. Normal for seconds. If it lasts, check the log of the reporting node.
    underreplicated: with fewer live replicas than configured. If nodes are down, start them. From 5 minutes after a node died, the cluster rebuilds its replicas on live nodes with space; add nodes only if it cannot come back and fewer are live than a range has voters (three by default). Else look for full stores, and for zone constraints that cannot be satisfied.

    Range 8: outside of tables
    Type 9 on node 4 (as node 4 knows it, which does not hold the lease).

    NODE  STORE  LEASE  RAFT  QPS  WRITES/S  CPU  PROBLEMS
       4      4  -      -       0         0    -  -

    Leases, the last one first:
    SINCE  NODE  STORE  SEQUENCE

    No replica that was read reports a problem; not read: nodes 2 and 6.

    "
  `);
});

test('range as JSON', async () => {
  expect(await outputOf('range 8 --output ndjson')).toMatchInlineSnapshot(`
    "
    crdb-exporter: skipped, because not live: nodes 2 and 6
    {"range_id":8,"table_id":null,"index_id":null,"replicas":[{"range_id":8,"node_id":4,"store_id":4,"table_id":null,"table":null,"index_id":null,"last_table_id":null,"last_table":null,"problems":[],"is_leaseholder":false,"lease_kind":null,"quiescent":false,"ticking":false,"stats":{"queries_per_second":0,"writes_per_second":0},"lease_history":[]}],"descriptor":{"from_node_id":4,"is_from_leaseholder":false,"replicas":[{"node_id":4,"type":"type 9"}]},"unread_nodes":[2,6],"problems":[]}
    "
  `);
});

test('table', async () => {
  expect(await outputOf('table movr rides')).toMatchInlineSnapshot(`
    "
    TABLE                    movr.rides
    id                       104
    ranges                   1,200
    data                     2 KiB
    zone defined by          database
    replicas                 5
    range size               up to 512 MiB
    garbage collected after  4h
    statistics               1d2h old

    USER  PRIVILEGES
    ada   SELECT, INSERT
    root  ALL

    CREATE TABLE rides (
      id UUID
    )
    "
  `);
});

test('tables', async () => {
  expect(await outputOf('tables --load')).toMatchInlineSnapshot(`
    "
    crdb-exporter: reads all ranges of 4 nodes: about 1,209 replicas, 1.7 MiB; Ctrl-C cancels
    crdb-exporter: nodes that are not live were skipped: 2; see \`nodes\`
    crdb-exporter: single ranges: HOST ignores \`ranges=\` and lists all ranges of a node: single ones are not asked for there for an hour; look for a proxy that drops the query of requests
    DATABASE  SCHEMA  TABLE   ID   SIZE   DATA  LIVE  RANGES  COLUMNS  INDEXES  UPDATED  QPS  WRITES/S  CPU
    movr      public  rides  104  3 KiB  2 KiB  25 %   1,200       10        3    1m30s   13         3  3 %
    movr      public  empty  105    0 B    0 B     -       0        0        0        -    0         0    -
    "
  `);
  expect(await outputOf('tables --load --output ndjson')).toMatchInlineSnapshot(`
    "
    crdb-exporter: reads all ranges of 4 nodes: about 1,209 replicas, 1.7 MiB; Ctrl-C cancels
    crdb-exporter: nodes that are not live were skipped: 2; see \`nodes\`
    crdb-exporter: single ranges: HOST ignores \`ranges=\` and lists all ranges of a node: single ones are not asked for there for an hour; look for a proxy that drops the query of requests
    {"database":"movr","schema":"public","table":"rides","table_id":104,"replication_size_bytes":3072,"total_data_bytes":2048,"total_live_data_bytes":512,"range_count":1200,"column_count":10,"index_count":3,"last_updated":"2026-01-02T03:02:35.000Z","queries_per_second":12.5,"writes_per_second":3,"cpu_seconds_per_second":0.025}
    {"database":"movr","schema":"public","table":"empty","table_id":105,"replication_size_bytes":0,"total_data_bytes":0,"total_live_data_bytes":0,"range_count":0,"column_count":0,"index_count":0,"last_updated":null,"queries_per_second":0,"writes_per_second":0}
    "
  `);
});
