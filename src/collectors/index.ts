// The collectors, their typed results, and polling.

// The list, and the contract of a collector: what declares one, and what its results have in common.
export { COLLECTORS } from './all-collectors.ts';
export {
  type Collector,
  type CollectorOf,
  type CollectorResult,
  type CollectorWith,
  gaugeOf,
  type PolledApi,
} from './collector.ts';

// The collectors by name, for who asks for the result of one: `observation.result(nodes)`.
export { cloud, type CloudResult } from './cloud/collector.ts';
export { network } from './network/collector.ts';
export { type NodesResult, nodes } from './nodes/collector.ts';
export { ranges } from './ranges/collector.ts';
export { sessions, type SessionsResult } from './sessions/collector.ts';
export { sql, type SqlResult } from './sql/collector.ts';
export { LIST_TABLES, tables, type TablesResult } from './tables/collector.ts';
export { users } from './users.ts';

// Parts of results, and how to read their codes.
export type { Connection, NetworkResult } from './network/network-result.ts';
export { type JobsStatus, readJobs } from './nodes/job-status.ts';
export { type ListedNode, measuredMetrics } from './nodes/node-record.ts';
export { nodeInfoLabels } from './nodes/collector.ts';
export { LEASE_KINDS, leaseKindOf, LOADS, LOAD_INDEX } from './ranges/replica.ts';
export type {
  ClusterScan,
  Dependence,
  FailedNode,
  HeldRange,
  ListedRange,
  NodeDomain,
  RangesResult,
  TableLoad,
} from './ranges/scan-result.ts';
export {
  labelOfTable,
  lastTableIdOf,
  lastTableLabel,
  tableLabels,
  tableOf,
  UNKNOWN_TABLE,
} from './ranges/table-index.ts';
export { SESSION_STATES, sizeOf } from './sessions/session.ts';
export type { QueryRow } from './sql/query-rows.ts';

// Polling: by a poller for as long as the exporter runs, or once.
export { stretchInterval } from './polling/duty.ts';
export type { PollFailure } from './polling/outcome.ts';
export { Poller, type PollerOptions } from './polling/poller.ts';
export { type ChosenPoll, runCollector, workBetweenPolls } from './polling/run-collector.ts';

// What commands read beyond a poll: whole elements, single ranges, tables, and the texts of servers.
export { assistantDetails } from './cloud/collector.ts';
export { collectorPoll } from './collector.ts';
export { readConnections } from './network/collector.ts';
export { copyNode, nodeDetails } from './nodes/node-record.ts';
export { DescriptorReader } from './ranges/descriptor-reader.ts';
export { describeIgnoring, findIgnoringUrls } from './ranges/ignoring-urls.ts';
export type { NodeReplicas } from './ranges/node-replicas.ts';
export { type ReplicaDetails, replicaDetails } from './ranges/replica-details.ts';
export { readNodeRanges, scanNodes } from './ranges/scan-nodes.ts';
export { RangeScan } from './ranges/scan.ts';
export { nameAsLabel } from './sessions/applications.ts';
export { QUERY_PHASES, readSession, retriesOf, sessionDetails } from './sessions/session.ts';
export {
  discoverTables,
  formatTableName,
  type KnownTable,
  readTable,
  toSeconds,
  ZONE_LEVELS,
} from './tables/table-details.ts';

// For reports, benchmarks and the list of fields: what is read, and the memory of ranges.
export { COLLECTOR_SHAPES, READ_METRICS } from './collector-shapes.ts';
export { RangeMap } from './ranges/range-map.ts';
