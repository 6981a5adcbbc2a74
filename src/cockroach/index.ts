// The clients of both APIs, and what is known of a failure: its cause and its remedy.
export { ApiLogin, loginResponse } from './api-login.ts';
export {
  CA_CERT,
  type CloudApi,
  CloudControl,
  DATABASES,
  errorBody,
  MAX_CLOUD_RESPONSE_BYTES,
} from './cloud-api.ts';
export { ClusterApi } from './cluster-api.ts';
export { findServerFault } from './diagnosis/connection-rules.ts';
export {
  createRemedyFinder,
  diagnose,
  type FindRemedy,
  type RequestDiagnosis,
} from './diagnosis/diagnosis.ts';
export type { Operation } from './diagnosis/failure.ts';
export { grantee } from './diagnosis/remedies.ts';
export {
  BreakerOpenError,
  HttpClient,
  type HttpClientOptions,
  type UrlState,
} from './http/client.ts';
export {
  codeOf,
  exceededPoll,
  failedRequest,
  failureOf,
  faultOf,
  isNotOffered,
  isSilence,
  RequestError,
} from './http/errors.ts';
export { POLICY } from './http/retry-policy.ts';
export {
  addWarning,
  createPollStats,
  type PollStats,
  type PollWarning,
  responseSeconds,
  warningText,
} from './http/poll-stats.ts';
export { ClusterIdentity, nodeIdentity } from './identity.ts';
export { assertOneCluster, listNodes, type NodeList } from './list-nodes.ts';
export {
  assertWithin,
  offsetEnvelope,
  type RangeRoute,
  sessionsEnvelope,
  tablesEnvelope,
} from './listings.ts';
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
export type { MessageReader } from './protobuf/index.ts';
export { describedRange, type RangeDescriptor } from './range-descriptor.ts';
export { type SqlRows, sqlShape, StatementError } from './sql-statement.ts';
export { type Throttling, throttlingShape } from './status-pages.ts';
