import { counter, gauge, histogram } from './family.ts';

// Families about the exporter itself. Gauges are written at every scrape, prom-client keeps the counters.

export const POLL_SKIP_REASONS = ['overrun', 'breaker_open', 'shutdown'] as const;

export const LOGIN_FAILURE_REASONS = ['rejected', 'timeout', 'network', 'tls', 'http'] as const;

/** Why a series is missing: over a budget, or merged into another one of the same labels. */
export const DROP_REASONS = ['budget', 'duplicate'] as const;

/** Families without the label crdb_cluster. */
export const processFamilies = {
  buildInfo: gauge({
    name: 'crdb_exporter_build_info',
    help: 'Version, source revision, Node.js version and platform of the exporter. Always 1.',
    labels: ['version', 'revision', 'node_version', 'platform'],
  }),
  lastReloadSuccessful: gauge({
    name: 'crdb_exporter_config_last_reload_successful',
    help: 'Whether the current content of the configuration files is loaded.',
    unit: '0 or 1',
    notes:
      'Web config, certificates and CAs included. With 0, the previous content is still in use.',
  }),
  lastReloadSuccess: gauge({
    name: 'crdb_exporter_config_last_reload_success_timestamp_seconds',
    help: 'Unix time in seconds of the last successful load of the configuration.',
  }),
  connectionsDropped: counter({
    name: 'crdb_exporter_web_connections_dropped_total',
    help: 'Client connections refused or closed because too many were open.',
  }),
  tlsRefused: counter({
    name: 'crdb_exporter_web_tls_refused_total',
    help: 'TLS clients that were refused.',
    labels: ['reason'],
    notes:
      '`unknown_ca`, `expired` and `name` are about the certificate of the client, `plain_http` is a client without TLS.',
  }),
  logLinesDropped: counter({
    name: 'crdb_exporter_log_lines_dropped_total',
    help: 'Log lines not written because standard output did not take them.',
    notes: 'After a backlog of 1 MiB. Nothing waits for a reader of the log.',
  }),
};

/** Families of a cluster and its APIs. */
export const clusterFamilies = {
  up: gauge({
    name: 'crdb_up',
    help: 'Whether the last poll of the API succeeded; the collector with the shortest interval decides.',
    labels: ['api'],
    unit: '0 or 1',
    notes:
      'Of several such collectors nodes decides. Absent before the first poll has ended. `crdb_exporter_collector_last_attempt_timestamp_seconds` is the time of the poll.',
  }),
  clusterInfo: gauge({
    name: 'crdb_cluster_info',
    help: 'Address of the DB Console of the cluster, empty when not configured; always 1.',
    labels: ['console_url'],
  }),
  clusterConfigured: gauge({
    name: 'crdb_exporter_cluster_configured',
    help: 'Always 1, for each cluster of the running configuration.',
    notes: 'Tells a cluster that was removed from the configuration from one that was lost.',
  }),
  shards: gauge({
    name: 'crdb_exporter_shards',
    help: 'Configured number of exporters that share the range scans of this cluster.',
  }),
  breakerState: gauge({
    name: 'crdb_exporter_breaker_state',
    help: 'State of the circuit breaker of each configured URL: 1 for the current state.',
    labels: ['target', 'state'],
    unit: '0 or 1',
    notes:
      'target: host:port of the URL, with its path where URLs of the cluster share it. Breakers of single endpoints and nodes are not exported.',
  }),
  apiPaused: gauge({
    name: 'crdb_exporter_api_paused_seconds',
    help: 'Seconds until all requests, or those of an endpoint, resume after Retry-After; 0 without a pause.',
    labels: ['api'],
    notes:
      'At most 2 minutes, then one request. The pause of one URL among others is shown by its breaker.',
  }),
  certificateExpiry: gauge({
    name: 'crdb_exporter_certificate_expiry_timestamp_seconds',
    help: 'Unix time in seconds at which a certificate that the exporter presents expires.',
    labels: ['use'],
    notes: 'use server: to scrapers, without crdb_cluster. use client: to a cluster.',
  }),
  verificationDisabled: gauge({
    name: 'crdb_exporter_tls_verification_disabled',
    help: 'Whether insecure_skip_verify disables the verification of server certificates.',
    unit: '0 or 1',
  }),
  logins: counter({
    name: 'crdb_exporter_logins_total',
    help: 'Login attempts.',
  }),
  loginFailures: counter({
    name: 'crdb_exporter_login_failures_total',
    help: 'Failed login attempts by reason.',
    labels: ['reason'],
  }),
  seriesDropped: counter({
    name: 'crdb_exporter_series_dropped_total',
    help: 'Series that are not exported, by family and reason (budget, duplicate).',
    labels: ['family', 'reason'],
    notes:
      'budget: over max_series. duplicate: merged into another one with the same labels. Each poll adds its own.',
  }),
  requests: counter({
    name: 'crdb_exporter_http_requests_total',
    help: 'Requests to the API by operation and HTTP status; error: no response.',
    labels: ['api', 'endpoint', 'code'],
  }),
  /** The buckets reach from a metadata request on a LAN to a page of ranges over a slow link; no integers. */
  requestDuration: histogram({
    name: 'crdb_exporter_http_request_duration_seconds',
    help: 'Duration of requests in seconds, from sending to the end of the response.',
    labels: ['api', 'endpoint'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1.5, 2.5, 5.5, 10.5, 30.5, 60.5],
  }),
  responseBytes: counter({
    name: 'crdb_exporter_http_response_bytes_total',
    help: 'Bytes of response bodies, decompressed.',
    labels: ['api', 'endpoint'],
  }),
  retries: counter({
    name: 'crdb_exporter_http_retries_total',
    help: 'Retried requests by the reason of the failure before.',
    labels: ['api', 'endpoint', 'reason'],
    notes: 'network, http (502, 503, 504) or throttled (429). Timeouts are not retried.',
  }),
  decodeErrors: counter({
    name: 'crdb_exporter_decode_errors_total',
    help: 'Fields or elements of responses that had a wrong shape and were skipped.',
    labels: ['endpoint'],
  }),
};

/** Families of each collector of a cluster, but for those that `exporter/` reads from its poller. */
export const collectorFamilies = {
  limitHit: gauge({
    name: 'crdb_exporter_collector_limit_hit',
    help: 'Whether the last poll reached this limit (pages, bytes, items, duration, series).',
    labels: ['collector', 'shard', 'limit'],
    unit: '0 or 1',
  }),
  scanNodesDone: gauge({
    name: 'crdb_exporter_range_scan_nodes_done',
    help: 'Nodes that the running (or last) range scan has finished.',
    labels: ['shard'],
  }),
  scanNodesPlanned: gauge({
    name: 'crdb_exporter_range_scan_nodes_planned',
    help: 'Nodes that the running (or last) range scan reads.',
    labels: ['shard'],
  }),
  polls: counter({
    name: 'crdb_exporter_polls_total',
    help: 'Finished polls, successful or failed.',
    labels: ['collector', 'shard'],
  }),
  pollFailures: counter({
    name: 'crdb_exporter_poll_failures_total',
    help: 'Failed polls by reason.',
    labels: ['collector', 'shard', 'reason'],
    notes:
      'breaker_open: earlier failures of all URLs, or of the endpoint, blocked the request. Of the collector sql each failed query counts, also in polls that succeed.',
  }),
  pollsSkipped: counter({
    name: 'crdb_exporter_polls_skipped_total',
    help: 'Polls that did not start, by reason.',
    labels: ['collector', 'shard', 'reason'],
    notes:
      'They count neither as polls nor as failures. overrun: the poll before took too long. breaker_open: all URLs fail. shutdown: the exporter or its cluster was stopped.',
  }),
};
