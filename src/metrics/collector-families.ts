import { FAILURE_REASONS, LIMITS } from '../vocabulary.ts';
import { counter, type Family, gauge } from './family.ts';

// What the exporter exports about each collector. Gauges are written at every scrape, prom-client keeps the counters.

export const POLL_SKIP_REASONS = ['overrun', 'breaker_open', 'shutdown'] as const;

const PER_COLLECTOR = { labels: ['collector', 'shard'], series: ['collectors'] } as const;

export const collectorFamilies = {
  success: gauge({
    name: 'crdb_exporter_collector_success',
    help: 'Whether the last poll of the collector published data.',
    ...PER_COLLECTOR,
    unit: '0 or 1',
    notes: 'A partial range scan is a success; crdb_range_scan_nodes counts its failed nodes.',
  }),
  duration: gauge({
    name: 'crdb_exporter_collector_duration_seconds',
    help: 'Duration of the last poll of the collector in seconds.',
    ...PER_COLLECTOR,
  }),
  lastSuccess: gauge({
    name: 'crdb_exporter_collector_last_success_timestamp_seconds',
    help: 'Unix time in seconds at which the last successful poll of the collector ended.',
    ...PER_COLLECTOR,
    notes: 'Shows the age of the data of the collector. Absent before the first success.',
  }),
  lastAttempt: gauge({
    name: 'crdb_exporter_collector_last_attempt_timestamp_seconds',
    help: 'Unix time in seconds at which the last poll of the collector ended.',
    ...PER_COLLECTOR,
  }),
  interval: gauge({
    name: 'crdb_exporter_collector_interval_seconds',
    help: 'Effective interval between polls in seconds.',
    ...PER_COLLECTOR,
    notes:
      'Longer than configured when responses would take more than their share of the time (max_duty). Waiting without a response does not count.',
  }),
  configuredInterval: gauge({
    name: 'crdb_exporter_collector_configured_interval_seconds',
    help: 'Configured interval between polls in seconds.',
    ...PER_COLLECTOR,
  }),
  items: gauge({
    name: 'crdb_exporter_collector_items',
    help: 'Elements (nodes, ranges, sessions, users, tables) that the last poll read.',
    ...PER_COLLECTOR,
  }),
  pages: gauge({
    name: 'crdb_exporter_collector_pages',
    help: 'Responses that the last poll read.',
    ...PER_COLLECTOR,
  }),
  responseBytes: gauge({
    name: 'crdb_exporter_collector_response_bytes',
    help: 'Bytes of the responses of the last poll, decompressed.',
    ...PER_COLLECTOR,
  }),
  limitHit: gauge({
    name: 'crdb_exporter_collector_limit_hit',
    help: 'Whether the last poll reached this limit (pages, bytes, items, duration, series).',
    labels: ['collector', 'shard', 'limit'],
    unit: '0 or 1',
    series: ['collectors', LIMITS.length],
  }),
  series: gauge({
    name: 'crdb_exporter_series',
    help: 'Number of series that the collector exports now.',
    ...PER_COLLECTOR,
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
    ...PER_COLLECTOR,
  }),
  pollFailures: counter({
    name: 'crdb_exporter_poll_failures_total',
    help: 'Failed polls by reason.',
    labels: ['collector', 'shard', 'reason'],
    series: ['collectors', FAILURE_REASONS.length],
    notes: 'breaker_open: earlier failures of all URLs, or of the endpoint, blocked the request.',
  }),
  pollsSkipped: counter({
    name: 'crdb_exporter_polls_skipped_total',
    help: 'Polls that did not start, by reason.',
    labels: ['collector', 'shard', 'reason'],
    series: ['collectors', POLL_SKIP_REASONS.length],
    notes: 'They count neither as polls nor as failures.',
  }),
};

export const COLLECTOR_FAMILIES: readonly Family[] = Object.values(collectorFamilies);
