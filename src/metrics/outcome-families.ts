import type { Family } from './family.ts';
import { gauge } from './family.ts';

// Written anew at every scrape from what the pollers and the app know; the counters stand in self-families.ts.

const PER_COLLECTOR = ['collector', 'shard'] as const;

/** Without `crdb_cluster`, as is everything that belongs to the process. */
export const BUILD_INFO = gauge({
  name: 'crdb_exporter_build_info',
  help: 'The running exporter: its version, source revision, Node.js version and platform. Always 1.',
  labels: ['version', 'revision', 'node_version', 'platform'],
});

export const UP = gauge({
  name: 'crdb_up',
  help: 'Whether the last finished poll of the most frequent collector of this API (cluster or cloud) got a good, authenticated answer. Polled; crdb_exporter_collector_last_attempt_timestamp_seconds tells when.',
  labels: ['api'],
});

export const SHARDS = gauge({
  name: 'crdb_exporter_shards',
  help: 'Configured number of exporters that share the range scans of this cluster.',
  labels: [],
});

export const COLLECTOR_SUCCESS = gauge({
  name: 'crdb_exporter_collector_success',
  help: 'Whether the last poll of the collector published data. A partial range scan is a success; crdb_range_scan_nodes counts its failed nodes.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_DURATION = gauge({
  name: 'crdb_exporter_collector_duration_seconds',
  help: 'Duration of the last poll of the collector in seconds.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_LAST_SUCCESS = gauge({
  name: 'crdb_exporter_collector_last_success_timestamp_seconds',
  help: 'Unix time in seconds at which the last poll that published data ended; the age of the data of the collector. Absent before the first one.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_LAST_ATTEMPT = gauge({
  name: 'crdb_exporter_collector_last_attempt_timestamp_seconds',
  help: 'Unix time in seconds at which the last poll of the collector ended, good or bad.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_INTERVAL = gauge({
  name: 'crdb_exporter_collector_interval_seconds',
  help: 'Effective interval between polls in seconds: the configured one, or longer to keep the share of time in which answers are prepared and received (max_duty). Waiting for what gives no answer does not count.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_CONFIGURED_INTERVAL = gauge({
  name: 'crdb_exporter_collector_configured_interval_seconds',
  help: 'Configured interval between polls in seconds.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_ITEMS = gauge({
  name: 'crdb_exporter_collector_items',
  help: 'Elements (nodes, ranges, sessions, users, tables) that the last poll of the collector read.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_PAGES = gauge({
  name: 'crdb_exporter_collector_pages',
  help: 'Answers that the last poll of the collector read.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_RESPONSE_BYTES = gauge({
  name: 'crdb_exporter_collector_response_bytes',
  help: 'Bytes of the answers of the last poll of the collector, after decompression.',
  labels: PER_COLLECTOR,
});

export const COLLECTOR_LIMIT_HIT = gauge({
  name: 'crdb_exporter_collector_limit_hit',
  help: 'Whether the last poll of the collector ran into this limit (pages, bytes, items, duration, series).',
  labels: [...PER_COLLECTOR, 'limit'],
});

export const SERIES = gauge({
  name: 'crdb_exporter_series',
  help: 'Series that the collector has in the exposition at present.',
  labels: PER_COLLECTOR,
});

export const BREAKER_STATE = gauge({
  name: 'crdb_exporter_breaker_state',
  help: 'Circuit breaker of each configured URL: 1 for its present state (closed, open, half_open), 0 for the others. Breakers of single endpoints and nodes are not shown here.',
  labels: ['target', 'state'],
});

export const API_PAUSED = gauge({
  name: 'crdb_exporter_api_paused_seconds',
  help: 'Seconds for which this API (cluster or cloud) has asked to be left alone from now on (Retry-After, at most 15 minutes); 0 when it has not. A reload ends the pause.',
  labels: ['api'],
});

export const RANGE_SCAN_NODES_DONE = gauge({
  name: 'crdb_exporter_range_scan_nodes_done',
  help: 'Nodes that the running range scan has finished, or those of the last one.',
  labels: ['shard'],
});

export const RANGE_SCAN_NODES_PLANNED = gauge({
  name: 'crdb_exporter_range_scan_nodes_planned',
  help: 'Nodes that the running range scan has to ask, or those of the last one.',
  labels: ['shard'],
});

export const TLS_CERTIFICATE_NOT_AFTER = gauge({
  name: 'crdb_exporter_tls_certificate_not_after_timestamp_seconds',
  help: 'Unix time in seconds at which a certificate that the exporter presents expires: use server to its scrapers (without crdb_cluster), use client to a cluster.',
  labels: ['use'],
});

export const TLS_VERIFICATION_DISABLED = gauge({
  name: 'crdb_exporter_tls_verification_disabled',
  help: 'Whether insecure_skip_verify turns off the check of the certificates of the cluster.',
  labels: [],
});

export const CONFIG_LAST_RELOAD_SUCCESSFUL = gauge({
  name: 'crdb_exporter_config_last_reload_successful',
  help: 'Whether the configuration is in force as it is now, web config, certificates and CAs included; 0 means that what was read before is still in force.',
  labels: [],
});

export const CONFIG_LAST_RELOAD_SUCCESS = gauge({
  name: 'crdb_exporter_config_last_reload_success_timestamp_seconds',
  help: 'Unix time in seconds of the last successful load of the configuration.',
  labels: [],
});

/** For the metric reference and the check of names. */
export const OUTCOME_FAMILIES: readonly Family[] = [
  UP,
  BUILD_INFO,
  SHARDS,
  COLLECTOR_SUCCESS,
  COLLECTOR_DURATION,
  COLLECTOR_LAST_SUCCESS,
  COLLECTOR_LAST_ATTEMPT,
  COLLECTOR_INTERVAL,
  COLLECTOR_CONFIGURED_INTERVAL,
  COLLECTOR_ITEMS,
  COLLECTOR_PAGES,
  COLLECTOR_RESPONSE_BYTES,
  COLLECTOR_LIMIT_HIT,
  SERIES,
  BREAKER_STATE,
  API_PAUSED,
  RANGE_SCAN_NODES_DONE,
  RANGE_SCAN_NODES_PLANNED,
  TLS_CERTIFICATE_NOT_AFTER,
  TLS_VERIFICATION_DISABLED,
  CONFIG_LAST_RELOAD_SUCCESSFUL,
  CONFIG_LAST_RELOAD_SUCCESS,
];
