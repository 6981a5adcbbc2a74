import { describedRange, sqlShape } from '#cockroach';
import {
  discoveredShape,
  nodeDetails,
  nodeKeys,
  peerShape,
  replicaDetails,
  replicaShape,
  sessionDetails,
  sessionShape,
  storeKeys,
  tableShape,
} from '#collectors';
import type { AnyShape } from '#json';

/** The metrics that the exporter reads, of nodes and of stores. */
export const READ_METRICS: readonly string[] = [
  ...new Set([
    ...nodeKeys({ keys: [], prefixes: [] }).keys,
    ...storeKeys({ keys: [], prefixes: [] }).keys,
  ]),
];

/** Shapes of all responses of a cluster. */
const SHAPES: readonly AnyShape[] = [
  nodeDetails,
  replicaShape,
  replicaDetails,
  describedRange,
  peerShape(false),
  sessionShape,
  sessionDetails(false),
  sessionDetails(true),
  tableShape,
  discoveredShape,
  sqlShape,
];

/** Words of the server's own names that no field of ours has: members beside the lists, and what is likely to come. */
const OTHER_WORDS = `
  abort absent account active activity address admission age alloc allocated amount anon api app application args array async attempt
  attrs auth auto avail available average avg background backup base batch begin behind bool bounds breaker bucket buffer build by byte
  bytes cache cached cancel capacity certificate changed check client clock closed cluster code codec column columns commit committed
  compaction completed config conn connection connections constraint constraints contention cookie coordinator count counter cpu create created
  current cursor data database databases date dead decimal default deleted delay desc description descriptor descriptors detail details disk distsql
  draining duration earliest elapsed email empty encoding end endpoint engine enqueued enum epoch error errors estimate estimated event
  executed execution existing expiration expires expiry external failed failure failures fast file files fingerprint finished first flag follower
  fraction free full gauge gc generation global goroutine goroutines grant grants group has hash heartbeat held high highwater histogram
  history hit host id ids idle implicit inbound index indexes info inherited initial input installed int interval io is isolation item
  items job jobs join key keys kind kv label labels last latch latency leader leaders leaseholder lease leases left length level
  license limit limits list live liveness load local locality lock locked locks log logical long lookup low major map max maximum mean
  membership memory merge message meta metadata method metric metrics min minimum minor mode modified mutex name names nanos network new
  next no node nodes nonvoter normalized null num number object off offset old oldest on open operation option options other outbound
  owner page paged pages pagination parent part patch path paused peak peer peers pending per percent percentage phase physical plan
  pool port position prefix preference preferences priority problem problems process progress protected purgatory qps qualifier query
  queries queue quiescent quorum raft applied range ranges rate rates ratio read reads reason rebalance received recent record records recovered
  region remaining removed replica replicas replicated replication report request requests reserved resource response result retained results
  retries retry role root row rows rpc rule rules run running runtime sampled scan scheduled schema sec seconds send sent sequence
  server service session sessions set setting settings severity shard size slow snapshot sort source span spans sql stale standby start
  started state statement statements states statistics stats status stmt storage store stores stream string sublevel sublevels subzone
  success sum summary survey suspect sys system table tables tag tags target targets task tenant term text threshold throttled tick
  ticking tier tiers time timeout timestamp token tokens top total trace transaction transactions transfer tsdb ttl txn type types
  unavailable under underreplicated unhealthy unit units unknown until updated upgrade uptime usage used user username users uuid valid
  value values version versions view violating virtual voter voters wait waiter waiters waiting wal warning window write writes zone zones`;

/** Words of the types and states of jobs that no field has. */
const JOB_WORDS = `
  auto canceled env failed flush gc hot import ingestion inspect key logger logical migration mvcc new partial pause paused poll poller
  producer reconciliation restore retention revert reverting rollback runner span spans standby stream succeeded telemetry ts
  typedesc update visualizer`;

/**
 * The words that names in a report may consist of. A name with any other word is not printed: where a server sends a map, its
 * keys may be names of tables, nodes or persons.
 */
const KNOWN_WORDS: ReadonlySet<string> = new Set([
  ...SHAPES.flatMap(namesOf).flatMap(wordsOf),
  ...READ_METRICS.flatMap(wordsOf),
  ...`${OTHER_WORDS}${JOB_WORDS}`.trim().split(/\s+/),
]);

/** The names of all fields of a shape. */
function namesOf(shape: AnyShape): readonly string[] {
  if (shape.kind === 'object') {
    return Object.entries(shape.fields).flatMap(([name, field]) => [name, ...namesOf(field)]);
  }
  if (shape.kind === 'flags') return shape.names;
  return 'inner' in shape ? namesOf(shape.inner) : [];
}

/** `node_id`, `nodeId` and `node.id` are the words node and id. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s._-]+/)
    .map((word) => word.toLowerCase());
}

const MAX_NAME_LENGTH = 80;

/** Whether a name may be printed. */
export function isKnownName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && wordsOf(name).every((word) => KNOWN_WORDS.has(word));
}
