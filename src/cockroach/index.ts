// The clients of both APIs, and what is known of a failure: its cause and its remedy.

// The clients: one method for each request, over a client that knows slots, retries and breakers, with its login.
export { ApiLogin } from './api-login.ts';
export { type CloudApi, CloudControl, MAX_CLOUD_RESPONSE_BYTES } from './cloud-api.ts';
export { ClusterApi } from './cluster-api.ts';
export {
  BreakerOpenError,
  HttpClient,
  type HttpClientOptions,
  type UrlState,
} from './http/client.ts';
export { POLICY } from './http/retry-policy.ts';
export { API_PATH } from './http/upstream.ts';

// A poll: its deadline, what it has received, and what was odd.
export {
  addWarning,
  createPollStats,
  type PollStats,
  type PollWarning,
  responseSeconds,
  warningText,
} from './http/poll-stats.ts';
export { assertWithin } from './listings.ts';

// A failed request, and what it means.
export { codeOf, failureOf, RequestError } from './http/errors.ts';

// The cause of a failure in a sentence, and the next step.
export { findServerFault } from './diagnosis/connection-rules.ts';
export {
  createRemedyFinder,
  diagnose,
  type FindRemedy,
  type RequestDiagnosis,
} from './diagnosis/diagnosis.ts';
export type { Operation } from './diagnosis/failure.ts';
export { grantee } from './diagnosis/remedies.ts';

// The nodes of a cluster: which are up, whose records are fresh, and whether two lists are of one cluster.
export { ClusterIdentity, nodeIdentity } from './identity.ts';
export { assertOneCluster, listNodes, type NodeList } from './list-nodes.ts';
export {
  ACTIVE,
  DEAD,
  DOWN,
  freshnessOf,
  isId,
  livenessOf,
  LocalityReader,
  localityShape,
  MAX_RECORD_AGE_SECONDS,
  medianRecord,
  PAGE_LIMIT,
  REACHABLE,
  type Tier,
} from './node.ts';

// Parts of responses, and the shapes of all.
export { CLIENT_SHAPES } from './client-shapes.ts';
export type { RangeRoute } from './listings.ts';
export type { MessageReader } from './protobuf/index.ts';
export type { RangeDescriptor } from './range-descriptor.ts';
export { type SqlRows, StatementError } from './sql-statement.ts';
export type { Throttling } from './status-pages.ts';
