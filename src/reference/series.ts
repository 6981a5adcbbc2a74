import type { Family } from '../metrics/family.ts';

/** A number of label values, or the name of what there is one for. */
export type Factor = number | string;

/**
 * How many series a family has at most, as a product, for one cluster in one exporter. What is named by
 * two labels (a store has its node beside it) counts once.
 */
export function seriesFactors(family: Family): readonly Factor[] {
  const special = BY_FAMILY[family.name];
  if (special !== undefined) return special;
  const counted = family.labels.filter((label) => !isImplied(label, family.labels));
  return counted.map((label) => {
    const factor = BY_LABEL[label];
    if (factor === undefined) {
      throw new Error(
        `family ${family.name}: nothing says how many values the label ${label} has; add it to src/reference/series.ts`,
      );
    }
    return factor;
  });
}

/** As people write a product: `8 × nodes`; `1` for a family without labels. */
export function writeFactors(factors: readonly Factor[]): string {
  return factors.length === 0 ? '1' : factors.join(' × ');
}

/** Labels that follow from another one of the same family. */
const IMPLIED_BY: Readonly<Record<string, readonly string[]>> = {
  node_id: ['store_id'],
  user: ['application'],
  database: ['table'],
  schema: ['table'],
  table_id: ['table'],
  zone_config_level: ['table'],
};

function isImplied(label: string, labels: readonly string[]): boolean {
  // One exporter is one shard.
  return label === 'shard' || (IMPLIED_BY[label] ?? []).some((other) => labels.includes(other));
}

const BY_LABEL: Readonly<Record<string, Factor>> = {
  api: 'APIs',
  application: '(max_applications + 1)',
  certificate: 'certificates',
  collector: 'collectors',
  endpoint: 'endpoints',
  health: 5,
  key: 'chosen keys',
  limit: 5,
  node_id: 'nodes',
  phase: 3,
  privilege: 'privileges',
  problem: 12,
  state: 3,
  status: 8,
  store_id: 'stores',
  table: 'tables',
  target: 'URLs',
  tier: 'locality tiers',
};

const HOT_RANGES: readonly Factor[] = ['hot_ranges'];

const BY_FAMILY: Readonly<Record<string, readonly Factor[]>> = {
  crdb_cloud_migration_assistant_info: [],
  crdb_cloud_migration_assistant_status: [5],
  crdb_exporter_build_info: [],
  crdb_exporter_http_request_duration_seconds: ['endpoints', 14],
  crdb_exporter_http_requests_total: ['endpoints', 'status codes'],
  crdb_exporter_http_response_bytes_total: ['endpoints'],
  crdb_exporter_http_retries_total: ['endpoints', 4],
  crdb_exporter_login_failures_total: [5],
  crdb_exporter_poll_failures_total: ['collectors', 11],
  crdb_exporter_polls_skipped_total: ['collectors', 3],
  crdb_exporter_series_dropped_total: ['families', 2],
  crdb_exporter_tls_certificate_not_after_timestamp_seconds: [2],
  crdb_hot_range_cpu_seconds_per_second: HOT_RANGES,
  crdb_hot_range_queries_per_second: HOT_RANGES,
  crdb_hot_range_writes_per_second: HOT_RANGES,
  crdb_node_info: ['nodes'],
  crdb_node_locality_info: ['nodes', 'locality tiers'],
  crdb_open_transactions: ['nodes', 2],
  crdb_problem_range_first_seen_timestamp_seconds: [12, 'problem_ranges'],
  crdb_ranges_by_lease_kind: [4],
  crdb_ranges_by_queries_per_second: [10],
  crdb_ranges_by_replicas: [8],
  crdb_sessions_by_age: [5],
  crdb_store_slow_requests: ['stores', 3],
};
