/**
 * Pages as servers send them: compact, members in the server's order, zeros omitted. The same count
 * gives the same bytes.
 */

/** Ranges with five past leases each: about 2.2 kB a range. */
export function rangesPage(count: number): Buffer {
  const random = createRandom();
  const ranges = Array.from({ length: count }, (_, index) => rangeText(random, index + 1));
  return Buffer.from(`{"ranges":[${ranges.join(',')}],"next":${count}}`);
}

/** The node of `nodeAndRanges`. */
export const PAGE_NODE_ID = 101;

/** A cluster of one node that holds these ranges in one store: its list of nodes, and the elements of its list of ranges. */
export function nodeAndRanges(count: number): {
  readonly nodeList: string;
  readonly elements: readonly string[];
} {
  const random = createRandom();
  const elements = Array.from({ length: count }, (_, index) =>
    rangeText(random, index + 1, { isLast: index + 1 === count, nodeId: PAGE_NODE_ID }),
  );
  return { nodeList: `{"nodes":[${nodeText(random, PAGE_NODE_ID)}]}`, elements };
}

/** Sessions, each with statements of about 2 kB. */
export function sessionsPage(count: number): Buffer {
  const random = createRandom();
  const sessions = Array.from({ length: count }, (_, index) => sessionText(random, index));
  const rest = '"errors":[],"internal_app_name_prefix":"$ internal","next":"MSwyLDMsfDB8MHw="';
  return Buffer.from(`{"sessions":[${sessions.join(',')}],${rest}}`);
}

/** Nodes with 2,500 metrics and one store of 935: about 150 kB a node. */
export function nodesPage(count: number): Buffer {
  const random = createRandom();
  const nodes = Array.from({ length: count }, (_, index) => nodeText(random, index + 1));
  return Buffer.from(`{"nodes":[${nodes.join(',')}]}`);
}

type Random = () => number;

/** Numbers from 0 to 1, always the same ones (Park and Miller). */
function createRandom(): Random {
  let state = 20_261_121;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

function upTo(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

function timestamp(random: Random): string {
  const logical = random() < 0.5 ? `,"logical":${1 + upTo(random, 20)}` : '';
  return `{"wall_time":17688421${10_000_000 + upTo(random, 80_000_000)}${100 + upTo(random, 900)}${logical}}`;
}

function base64(random: Random, length: number): string {
  return Buffer.from(Array.from({ length }, () => upTo(random, 256))).toString('base64');
}

function leaseText(random: Random, sequence: number): string {
  const store = 1 + upTo(random, 9);
  const kind = random() < 0.6 ? `"term":${5 + upTo(random, 9)}` : `"epoch":${1 + upTo(random, 40)}`;
  return (
    `{"start":${timestamp(random)},"expiration":${timestamp(random)},` +
    `"replica":{"node_id":${store},"store_id":${store},"replica_id":${1 + upTo(random, 6)},"type":0},` +
    `"proposed_ts":${timestamp(random)},` +
    `"sequence":${sequence},"acquisition_type":${1 + upTo(random, 2)},` +
    `"min_expiration":${timestamp(random)},${kind}}`
  );
}

/** The key where a range begins, which is the end of the one before: 24 bytes, as of a row. */
function keyOf(id: number): string {
  return id === 1
    ? ''
    : Buffer.from(`${'\u0080'.repeat(8)}${String(id).padStart(8, '0')}`).toString('base64');
}

const LAST_KEY = '//8=';

function rangeText(
  random: Random,
  id: number,
  { isLast = false, nodeId = 1 + (id % 9) } = {},
): string {
  const leases = [1, 2, 3, 4, 5].map((step) => leaseText(random, id + step));
  const problem = random() < 0.02 ? '"underreplicated":true' : '';
  const table = 100 + (id % 300);
  const rates = ['queries', 'writes', 'requests', 'reads', 'write_bytes', 'read_bytes', 'cpu_time'];
  const stats = rates.map((rate) => `"${rate}_per_second":${random() * 10 ** upTo(random, 5)}`);
  return (
    `{"desc":{"range_id":${id},"start_key":"${keyOf(id)}","end_key":"${isLast ? LAST_KEY : keyOf(id + 1)}",` +
    `"store_id":0,"queries_per_second":0},"span":{"start_key":"/Table/${table}/1/${id}",` +
    `"end_key":"/Table/${table}/1/${id + 1}"},"source_node_id":${nodeId},"source_store_id":${nodeId},` +
    `"lease_history":[${leases.join(',')}],"problems":{${problem}},"stats":{${stats.join(',')}}` +
    `${random() < 0.3 ? ',"quiescent":true' : ''},"ticking":true}`
  );
}

const STATEMENT =
  'SELECT o.id, o.\\"total\\", c.name FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE ';

function sessionText(random: Random, index: number): string {
  const start = `2026-01-19T17:${10 + upTo(random, 50)}:${10 + upTo(random, 50)}.${100_000 + upTo(random, 900_000)}Z`;
  const clauses = `o.id \\u003c\\u003e ${upTo(random, 1e6)} AND o.total \\u003e 12.5 OR `.repeat(
    38,
  );
  const sql = `${STATEMENT}${clauses}true`;
  const query = `{"id":"17a8f2c1d3e4b5a60000000000000001","txn_id":"6f1c2d3e-0000-4000-8000-000000000001","sql":"${sql}","start":"${start}","phase":1,"elapsed_time":${upTo(random, 1e9)},"database":"shop"}`;
  const txn = `{"id":"6f1c2d3e-0000-4000-8000-000000000001","start":"${start}","num_statements_executed":3,"deadline":"0001-01-01T00:00:00Z","alloc_bytes":${upTo(random, 1e6)},"priority":"normal","elapsed_time":${upTo(random, 1e9)}}`;
  const isActive = random() < 0.3;
  return (
    `{"node_id":${1 + (index % 9)},"username":"app_${index % 7}","client_address":"10.0.${index % 250}.9:${10_000 + index}",` +
    `"application_name":"service-${index % 40}","active_queries":[${isActive ? query : ''}],"start":"${start}",` +
    (isActive ? `"active_txn":${txn},` : `"last_active_query":"${sql}","status":2,`) +
    `"id":"${base64(random, 16)}","alloc_bytes":${upTo(random, 1e6)},"max_alloc_bytes":${upTo(random, 1e7)},` +
    `"num_txns_executed":${upTo(random, 5000)},"txn_fingerprint_ids":[${upTo(random, 1e15)}2345],` +
    `"total_active_time":${upTo(random, 1e12)},"end":"0001-01-01T00:00:00Z"}`
  );
}

const AREAS = ['admission.granter', 'sql.exec.latency', 'raft.process', 'storage.compaction'];
const KINDS = ['count', 'sum', 'avg', 'max', 'p50', 'p90', 'p99', 'p99.9', 'p99.99'];

/** Keys of the shape, for `sys.…` and `sql.…`; they are spread among the others. */
export const WANTED_METRICS = Array.from(
  { length: 30 },
  (_, index) => `sys.wanted.metric-${index}`,
);

function metrics(random: Random, count: number): string {
  const entries = Array.from({ length: count }, (_, index) => {
    const area = `${AREAS[index % AREAS.length]}.part${index % 97}`;
    const isWanted = index % 83 === 40;
    const key = isWanted
      ? WANTED_METRICS[Math.floor(index / 83)]
      : `${area}.waiting-${KINDS[index % KINDS.length]}.${index}`;
    const kind = random();
    if (kind < 0.5) return `"${key}":0`;
    return `"${key}":${kind < 0.9 ? upTo(random, 1e12) : random() * 1000}`;
  });
  return `{${entries.join(',')}}`;
}

function nodeText(random: Random, id: number): string {
  return (
    `{"node_id":${id},"address":{"network_field":"tcp","address_field":"node-${id}:26257"},"attrs":{},` +
    `"locality":{"tiers":[{"key":"region","value":"eu-west-1"},{"key":"zone","value":"b"}]},` +
    `"ServerVersion":{"major_val":25,"minor_val":4,"patch":0,"internal":0},"build_tag":"v25.4.3",` +
    `"started_at":1768842142636614000,"cluster_name":"","sql_address":{"network_field":"tcp","address_field":"node-${id}:26257"},` +
    `"metrics":${metrics(random, 2500)},"store_metrics":{"${id}":${metrics(random, 935)}},` +
    `"total_system_memory":17179869184,"num_cpus":8,"updated_at":1768842282715221000,"liveness_status":3}`
  );
}
