import { FAILURE_REASONS, LIMITS } from '../vocabulary.ts';
import { counter, type Family, gauge } from './family.ts';

// What the exporter exports about each collector. Gauges are written at every scrape, prom-client keeps the counters.

export const POLL_SKIP_REASONS = ['overrun', 'breaker_open', 'shutdown'] as const;
export type PollSkipReason = (typeof POLL_SKIP_REASONS)[number];

const PER_COLLECTOR = { labels: ['collector', 'shard'], series: ['collectors'] } as const;

export const COLLECTOR_SUCCESS = gauge({
  name: 'crdb_exporter_collector_success',
  help: 'Whether the last poll of the collector published data.',
  ...PER_COLLECTOR,
  unit: '0 or 1',
  notes: 'A partial range scan is a success; crdb_range_scan_nodes counts its failed nodes.',
});

export const COLLECTOR_DURATION = gauge({
  name: 'crdb_exporter_collector_duration_seconds',
  help: 'Duration of the last poll of the collector in seconds.',
  ...PER_COLLECTOR,
  unit: 'seconds',
});

export const COLLECTOR_LAST_SUCCESS = gauge({
  name: 'crdb_exporter_collector_last_success_timestamp_seconds',
  help: 'Unix time in seconds at which the last successful poll of the collector ended.',
  ...PER_COLLECTOR,
  unit: 'Unix time in seconds',
  notes: 'Shows the age of the data of the collector. Absent before the first success.',
});

export const COLLECTOR_LAST_ATTEMPT = gauge({
  name: 'crdb_exporter_collector_last_attempt_timestamp_seconds',
  help: 'Unix time in seconds at which the last poll of the collector ended.',
  ...PER_COLLECTOR,
  unit: 'Unix time in seconds',
});

export const COLLECTOR_INTERVAL = gauge({
  name: 'crdb_exporter_collector_interval_seconds',
  help: 'Effective interval between polls in seconds.',
  ...PER_COLLECTOR,
  unit: 'seconds',
  notes:
    'Longer than configured when responses would take more than their share of the time (max_duty). Waiting without a response does not count.',
});

export const COLLECTOR_CONFIGURED_INTERVAL = gauge({
  name: 'crdb_exporter_collector_configured_interval_seconds',
  help: 'Configured interval between polls in seconds.',
  ...PER_COLLECTOR,
  unit: 'seconds',
});

export const COLLECTOR_ITEMS = gauge({
  name: 'crdb_exporter_collector_items',
  help: 'Elements (nodes, ranges, sessions, users, tables) that the last poll read.',
  ...PER_COLLECTOR,
});

export const COLLECTOR_PAGES = gauge({
  name: 'crdb_exporter_collector_pages',
  help: 'Responses that the last poll read.',
  ...PER_COLLECTOR,
});

export const COLLECTOR_RESPONSE_BYTES = gauge({
  name: 'crdb_exporter_collector_response_bytes',
  help: 'Bytes of the responses of the last poll, decompressed.',
  ...PER_COLLECTOR,
  unit: 'bytes',
});

export const COLLECTOR_LIMIT_HIT = gauge({
  name: 'crdb_exporter_collector_limit_hit',
  help: 'Whether the last poll reached this limit (pages, bytes, items, duration, series).',
  labels: ['collector', 'shard', 'limit'],
  unit: '0 or 1',
  series: ['collectors', LIMITS.length],
});

export const SERIES = gauge({
  name: 'crdb_exporter_series',
  help: 'Number of series that the collector exports now.',
  ...PER_COLLECTOR,
});

export const RANGE_SCAN_NODES_DONE = gauge({
  name: 'crdb_exporter_range_scan_nodes_done',
  help: 'Nodes that the running (or last) range scan has finished.',
  labels: ['shard'],
});

export const RANGE_SCAN_NODES_PLANNED = gauge({
  name: 'crdb_exporter_range_scan_nodes_planned',
  help: 'Nodes that the running (or last) range scan reads.',
  labels: ['shard'],
});

export const POLLS = counter({
  name: 'crdb_exporter_polls_total',
  help: 'Finished polls, successful or failed.',
  ...PER_COLLECTOR,
});

export const POLL_FAILURES = counter({
  name: 'crdb_exporter_poll_failures_total',
  help: 'Failed polls by reason.',
  labels: ['collector', 'shard', 'reason'],
  series: ['collectors', FAILURE_REASONS.length],
  notes: 'breaker_open: earlier failures of all URLs, or of the endpoint, blocked the request.',
});

export const POLLS_SKIPPED = counter({
  name: 'crdb_exporter_polls_skipped_total',
  help: 'Polls that did not start, by reason.',
  labels: ['collector', 'shard', 'reason'],
  series: ['collectors', POLL_SKIP_REASONS.length],
  notes: 'They count neither as polls nor as failures.',
});

export const COLLECTOR_FAMILIES: readonly Family[] = [
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
  RANGE_SCAN_NODES_DONE,
  RANGE_SCAN_NODES_PLANNED,
  POLLS,
  POLL_FAILURES,
  POLLS_SKIPPED,
];
