import type { Family } from './family.ts';
import { counter, histogram } from './family.ts';

// What the exporter counts about itself, per cluster. The gauges stand in outcome-families.ts.

export type Api = 'cluster' | 'cloud';

export const POLL_FAILURE_REASONS = [
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
export type PollFailureReason = (typeof POLL_FAILURE_REASONS)[number];

export const POLL_SKIP_REASONS = ['overrun', 'breaker_open', 'shutdown'] as const;
export type PollSkipReason = (typeof POLL_SKIP_REASONS)[number];

export const LOGIN_FAILURE_REASONS = ['rejected', 'timeout', 'network', 'tls', 'http'] as const;
export type LoginFailureReason = (typeof LOGIN_FAILURE_REASONS)[number];

export type RetryReason = 'timeout' | 'network' | 'http' | 'throttled';

/** Names of operations, never paths. */
export type Endpoint =
  | 'login'
  | 'logout'
  | 'nodes'
  | 'node_ranges'
  | 'sessions'
  | 'users'
  | 'table'
  | 'assistant'
  | 'other';

/** Why a series is not shown: over a budget, or merged into another one of the same labels. */
export type DropReason = 'budget' | 'duplicate';

export const POLLS = counter({
  name: 'crdb_exporter_polls_total',
  help: 'Polls that ended, good or bad.',
  labels: ['collector', 'shard'],
});

export const POLL_FAILURES = counter({
  name: 'crdb_exporter_poll_failures_total',
  help: 'Polls that published nothing, by reason. breaker_open: earlier failures of all URLs or of its endpoint kept the poll from asking.',
  labels: ['collector', 'shard', 'reason'],
});

export const POLLS_SKIPPED = counter({
  name: 'crdb_exporter_polls_skipped_total',
  help: 'Polls that did not start, by reason; they count neither as polls nor as failures.',
  labels: ['collector', 'shard', 'reason'],
});

export const SERIES_DROPPED = counter({
  name: 'crdb_exporter_series_dropped_total',
  help: 'Series left out of the exposition: over a budget (max_series), or merged into another one with the same labels. Each poll adds its own.',
  labels: ['family', 'reason'],
});

export const HTTP_REQUESTS = counter({
  name: 'crdb_exporter_http_requests_total',
  help: 'Requests to the API by operation and HTTP status; code error: no answer came.',
  labels: ['api', 'endpoint', 'code'],
});

/** From a metadata request on a LAN to a page of ranges over a slow link; none an integer. */
export const HTTP_REQUEST_DURATION = histogram({
  name: 'crdb_exporter_http_request_duration_seconds',
  help: 'Duration of requests to the API in seconds, from sending to the end of the body.',
  labels: ['api', 'endpoint'],
  buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5],
});

export const HTTP_RESPONSE_BYTES = counter({
  name: 'crdb_exporter_http_response_bytes_total',
  help: 'Bytes of the bodies of answers, after decompression.',
  labels: ['api', 'endpoint'],
});

export const HTTP_RETRIES = counter({
  name: 'crdb_exporter_http_retries_total',
  help: 'Requests that were sent again, by the reason why the one before did not do.',
  labels: ['api', 'endpoint', 'reason'],
});

export const DECODE_ERRORS = counter({
  name: 'crdb_exporter_decode_errors_total',
  help: 'Fields or elements of answers that had a wrong shape and were skipped.',
  labels: ['endpoint'],
});

export const LOGINS = counter({
  name: 'crdb_exporter_logins_total',
  help: 'Attempts to log in to the cluster.',
  labels: [],
});

export const LOGIN_FAILURES = counter({
  name: 'crdb_exporter_login_failures_total',
  help: 'Attempts to log in to the cluster that failed, by reason.',
  labels: ['reason'],
});

export const WEB_CONNECTIONS_DROPPED = counter({
  name: 'crdb_exporter_web_connections_dropped_total',
  help: 'Client connections refused or closed because too many were open.',
  labels: [],
});

/** For the metric reference and the check of names. */
export const SELF_FAMILIES: readonly Family[] = [
  POLLS,
  POLL_FAILURES,
  POLLS_SKIPPED,
  SERIES_DROPPED,
  HTTP_REQUESTS,
  HTTP_REQUEST_DURATION,
  HTTP_RESPONSE_BYTES,
  HTTP_RETRIES,
  DECODE_ERRORS,
  LOGINS,
  LOGIN_FAILURES,
  WEB_CONNECTIONS_DROPPED,
];
