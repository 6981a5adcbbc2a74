import { CLIENT_SHAPES } from '#cockroach';
import {
  COLLECTOR_SHAPES,
  nodeDetails,
  READ_METRICS,
  replicaDetails,
  sessionDetails,
} from '#collectors';
import type { AnyShape } from '#json';

/** The keys of the metrics that the exporter reads, of nodes and of stores. */
export const READ_KEYS: readonly string[] = [
  ...new Set([...READ_METRICS.node.keys, ...READ_METRICS.store.keys]),
];

/** Shapes of all responses of a cluster. */
const SHAPES: readonly AnyShape[] = [
  nodeDetails,
  COLLECTOR_SHAPES.replica,
  replicaDetails,
  CLIENT_SHAPES.descriptors,
  COLLECTOR_SHAPES.peer,
  COLLECTOR_SHAPES.session,
  sessionDetails(true),
  COLLECTOR_SHAPES.table,
  COLLECTOR_SHAPES.discoveredTable,
  CLIENT_SHAPES.sql,
];

/** Words of the server's own names that no field of ours has: members beside the lists, and what is likely to come. */
const OTHER_WORDS = `
  absent account activity allocated amount anon api app args array async attempt auth avail average avg background base batch begin bool
  bounds bucket buffer by byte cache cached cancel certificate changed check closed codec committed compaction connections constraint
  contention cookie coordinator counter cursor databases date dead decimal deleted delay description descriptors detail details distsql
  draining duration earliest email empty encoding endpoint engine enqueued enum errors estimate estimated event existing expires external
  fast file files fingerprint finished first flag follower fraction free gauge goroutine grant group hash held high highwater histogram
  hit ids idle inbound info initial input installed int interval isolation item items job join keys kind label labels leaders left length
  limit limits list load local locked locks long lookup low map maximum mean membership merge meta metadata method metric minimum mode
  modified mutex names network next nodes nonvoter null number object off old oldest on operation options other outbound owner page paged
  pages pagination parent part path peak peer peers plan pool port position prefix preference problem qps qualifier quorum applied rate
  rates ratio reason rebalance received recent record records recovered region remaining removed report request reserved resource response
  result retained retry role rule rules run runtime sampled scheduled send sent session sessions set setting settings severity shard
  snapshot sort spans stale standby states statistics stmt string sublevel subzone sum summary survey suspect tables tags target targets
  task tenant text threshold throttled tick tier timeout timestamp token tokens top trace transaction transactions transfer tsdb types
  under unit units unknown upgrade uptime usage users uuid values versions view virtual waiter waiting warning window zones`;

/** Words of the types and states of jobs that no field has. */
const JOB_WORDS = `
  canceled env flush hot logger migration mvcc partial pause poller producer reconciliation retention revert reverting runner succeeded
  telemetry typedesc visualizer`;

/**
 * The words that names in a report may consist of. A name with any other word is not printed: where a server sends a map, its
 * keys may be names of tables, nodes or persons.
 */
const KNOWN_WORDS: ReadonlySet<string> = new Set([
  ...SHAPES.flatMap(namesOf).flatMap(wordsOf),
  ...READ_KEYS.flatMap(wordsOf),
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
