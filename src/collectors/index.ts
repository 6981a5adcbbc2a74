// The collectors, their typed results, and polling.
export { COLLECTORS } from './all-collectors.ts';
export {
  assistantDetails,
  assistantShape,
  cloud,
  type CloudResult,
  noAssistant,
} from './cloud/collector.ts';
export {
  type Collector,
  type CollectorOf,
  collectorPoll,
  type CollectorResult,
  type CollectorWith,
  gaugeOf,
  type PolledApi,
} from './collector.ts';
export { network, readConnections } from './network/collector.ts';
export type { Connection, NetworkResult } from './network/network-result.ts';
export { peerShape } from './network/peers.ts';
export { type ListedNode, nodeInfoLabels, nodes, type NodesResult } from './nodes/collector.ts';
export { type JobsStatus, readJobs } from './nodes/job-status.ts';
export { nodeKeys, storeKeys } from './nodes/measurements.ts';
export { copyNode, nodeDetails, nodeShape } from './nodes/node-record.ts';
export type { Outcome, PollFailure } from './polling/outcome.ts';
export { Poller, type PollerOptions } from './polling/poller.ts';
export {
  type ChosenPoll,
  KeptState,
  runCollector,
  workBetweenPolls,
} from './polling/run-collector.ts';
export { stretchInterval } from './polling/duty.ts';
export { ranges } from './ranges/collector.ts';
export { DescriptorReader } from './ranges/descriptor-reader.ts';
export { describeIgnoring, findIgnoringUrls } from './ranges/ignoring-urls.ts';
export type { NodeReplicas } from './ranges/node-replicas.ts';
export { RangeMap, type Work } from './ranges/range-map.ts';
export { readNodeRanges, scanNodes } from './ranges/scan-nodes.ts';
export { type ReplicaDetails, replicaDetails } from './ranges/replica-details.ts';
export { LEASE_KINDS, leaseKindOf, LOADS, QUERIES, replicaShape } from './ranges/replica.ts';
export {
  labelOfTable,
  lastTableIdOf,
  lastTableLabel,
  tableLabels,
  tableOf,
  UNKNOWN_TABLE,
} from './ranges/table-index.ts';
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
export { RangeScan } from './ranges/scan.ts';
export { pairOf } from './sessions/applications.ts';
export { sessions, type SessionsResult } from './sessions/collector.ts';
export {
  QUERY_PHASES,
  readSession,
  retriesOf,
  SESSION_STATES,
  sessionDetails,
  sessionShape,
  sizeOf,
} from './sessions/session.ts';
export { sql, type SqlResult } from './sql/collector.ts';
export type { QueryRow } from './sql/query-rows.ts';
export { tables, type TablesResult } from './tables/collector.ts';
export {
  discoveredShape,
  discoverTables,
  formatTableName,
  type KnownTable,
  readTable,
  tableShape,
  toSeconds,
  ZONE_LEVELS,
} from './tables/table-details.ts';
export { users } from './users.ts';
