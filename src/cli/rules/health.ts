import { fold, present, record, type Rule, type Values } from './rule.ts';

const HEALTH = 'crdb_cluster_reason:crdb_health:code';
const KNOWN = 'crdb_cluster:crdb_up:known';

/** The clusters whose collector is enabled, or was before its exporter went down. */
function expected(collector: string): string {
  return `${present('', `present_over_time(crdb_exporter_collector_interval_seconds{collector="${collector}"}[6h])`)}
  and ${KNOWN}`;
}

/** A code by cluster; unknown where a cluster should have data and has none. */
function reason(name: string, expr: string, clusters: string): Rule {
  return record(
    HEALTH,
    `${expr}
or
3 * (
  ${clusters}
)`,
    { labels: { reason: name } },
  );
}

/** Whether a cluster has ranges with these problems. */
function problems(kinds: string): string {
  return `${fold('', `crdb_range_problem_ranges{problem=~"${kinds}"}`)} > bool 0`;
}

/** The number of nodes with these states. */
function nodes(status: string): string {
  return `count by (crdb_cluster) (${fold('node_id', `crdb_node_liveness{${status}}`)} == 1)`;
}

/** The health of each cluster, for dashboards. */
export function healthRules(set: Values): readonly Rule[] {
  const down = `sum by (crdb_cluster) (${fold('node_id', 'crdb_node_liveness{status=~"dead|unavailable"}')})`;
  const free = `min by (crdb_cluster) (
  ${fold('node_id, store_id', 'crdb_store_available_bytes')} / (${fold('node_id, store_id', 'crdb_store_capacity_bytes')} > 0)
)`;
  return [
    {
      ...reason(
        'ranges_unavailable',
        `2 * (${problems('unavailable|no_lease|no_raft_leader')})`,
        expected('ranges'),
      ),
      comment:
        'One code per reason: 0 healthy, 1 degraded, 2 critical, 3 unknown (no current data where there should be some).\nHere no last value bridges a gap: old data is not health.',
    },
    record(HEALTH, `2 * (${fold('', 'crdb_ranges_without_live_replica')} > bool 0)`, {
      labels: { reason: 'ranges_lost' },
    }),
    reason(
      'ranges_degraded',
      `(${problems('underreplicated|raft_log_too_large|circuit_breaker_error')})
* on (crdb_cluster)
(${nodes('status!="decommissioned"')} > bool 2)`,
      expected('ranges'),
    ),
    reason(
      'nodes_down',
      `(${down} > bool 0)
+
(
  (${down} >= bool 2)
  * on (crdb_cluster)
  (${down} >= bool ${set.nodes_down} * ${nodes('status!="decommissioned"')})
)`,
      expected('nodes'),
    ),
    reason(
      'disk_low',
      `(${free} < bool ${set.disk})
+
(${free} < bool ${set.disk_critical})`,
      expected('nodes'),
    ),
    reason('api_down', `2 * (${fold('', 'crdb_up{api="cluster"}')} == bool 0)`, present('', KNOWN)),
    reason(
      'data_stale',
      `max by (crdb_cluster) (
  crdb_cluster_collector_shard:data_age_seconds:min > bool crdb_cluster_collector_shard:max_age_seconds:max
)`,
      present('', KNOWN),
    ),
    record(
      'crdb_cluster:crdb_health:code',
      `max by (crdb_cluster) (${HEALTH} == 2) or max by (crdb_cluster) (${HEALTH})`,
      { comment: 'The worst reason: critical, unknown, degraded, healthy.' },
    ),
  ];
}
