// The closed sets of values that several layers share. Each is written once, here.

/** The APIs of a cluster; values of the label `api`. */
export const APIS = ['cluster', 'cloud'] as const;
export type Api = (typeof APIS)[number];

/** Operations of the cluster API that every poll may need. */
export const CLUSTER_ENDPOINTS = [
  'login',
  'nodes',
  'node_ranges',
  'sessions',
  'users',
  'table',
  'table_metadata',
  'range_descriptors',
  'connectivity',
  'sql',
  'jobs',
] as const;

/** Operations of both APIs; values of the label `endpoint`, never paths. */
export type Endpoint = (typeof CLUSTER_ENDPOINTS)[number] | 'logout' | 'assistant' | 'other';

/** Why a poll or a request failed; values of the label `reason` of crdb_exporter_poll_failures_total. */
export const FAILURE_REASONS = [
  'timeout',
  'network',
  'tls',
  'auth',
  'forbidden',
  'not_available',
  'http',
  'decode',
  'limit',
  'breaker_open',
  'other',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Why a request was retried, never after a timeout; values of the label `reason` of crdb_exporter_http_retries_total. */
export type RetryReason = 'network' | 'http' | 'throttled';

/** Bounds that a poll can reach; values of the label `limit` of crdb_exporter_collector_limit_hit. */
export const LIMITS = ['pages', 'bytes', 'items', 'duration', 'series'] as const;
export type Limit = (typeof LIMITS)[number];

/** Why a TLS client was refused; values of the label `reason` of crdb_exporter_web_tls_refused_total. */
export const TLS_REFUSALS = [
  'no_certificate',
  'unknown_ca',
  'expired',
  'name',
  'plain_http',
  'other',
] as const;
export type TlsRefusal = (typeof TLS_REFUSALS)[number];

/** States of a circuit breaker; values of the label `state` of crdb_exporter_breaker_state. */
export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];

/** Liveness states of a node, indexed by `liveness_status` of the API. */
export const LIVENESS_BY_CODE = [
  'unknown',
  'dead',
  'unavailable',
  'live',
  'decommissioning',
  'decommissioned',
  'draining',
] as const;
/** Values of the label `status` of crdb_node_liveness; `other` is any code not listed above. */
export const LIVENESS_STATUSES = [...LIVENESS_BY_CODE, 'other'] as const;
export type LivenessStatus = (typeof LIVENESS_STATUSES)[number];

/** Severities of alerts and of findings on the status page, the worst first. */
export const SEVERITIES = ['critical', 'warning', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Problems that replicas report: members of `problems` in the API; `other` is any member not listed here. */
export const REPORTED_PROBLEMS = [
  'unavailable',
  'underreplicated',
  'overreplicated',
  'no_lease',
  'no_raft_leader',
  'leader_not_lease_holder',
  'quiescent_equals_ticking',
  'raft_log_too_large',
  'circuit_breaker_error',
  'paused_followers',
  'range_too_large',
  'other',
] as const;

export type ReportedProblem = (typeof REPORTED_PROBLEMS)[number];

/** All problems of ranges, in the order of their bits. The last one is of ranges that no live node reports. */
export const PROBLEMS = [...REPORTED_PROBLEMS, 'no_live_replica'] as const;
export type RangeProblem = (typeof PROBLEMS)[number];
