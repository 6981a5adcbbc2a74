import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { dataAge } from './data-age.ts';
import { buildBoard, type Row } from './lib/board.ts';
import { toCluster } from './lib/links.ts';
import { timeline } from './lib/panels.ts';
import {
  diskSteps,
  DOWN,
  HEALTH,
  type Limit,
  livenessOf,
  RETIRED,
  unavailableRanges,
} from './lib/style.ts';
import { table } from './lib/table.ts';
import { R_MANY as OF, S_MANY } from './lib/variables.ts';

const CODE = `max by (crdb_cluster) (crdb_cluster:crdb_health:code{${OF}})`;
const NODES = livenessOf(OF, 'crdb_cluster, node_id');
const CLUSTER = {
  title: 'cluster',
  links: [toCluster('Overview', 'crdb-overview'), toCluster('Nodes', 'crdb-nodes')],
};

const UNDERREPLICATED = `sum by (crdb_cluster) (max by (crdb_cluster, shard) (crdb_range_problem_ranges{${S_MANY}, problem="underreplicated"}))`;

const clusters = (limit: Limit): Row => ({
  title: 'All clusters',
  panels: [
    table('Clusters', {
      about:
        'One row per cluster; the name leads to its dashboards. Health is recorded by rules.yml: unknown means that no exporter sees the cluster, or that there is no current data: first run a SQL query, the database may still work. Colours: CrdbNodeDead, CrdbRangesUnavailable, CrdbRangesUnderreplicated, CrdbStoreDiskLow, CrdbDataStale, CrdbBackupTooOld. At risk: ranges that would lose their quorum with the worst node (crdb_node_dependent_ranges), a lower bound while ranges are not verified (crdb_ranges_unverified).',
      labels: { crdb_cluster: CLUSTER },
      values: [
        { title: 'health', unit: 'none', states: HEALTH, expr: CODE },
        {
          title: 'last known health',
          unit: 'none',
          states: HEALTH,
          expr: `max by (crdb_cluster) (${CODE} < 3 or on (crdb_cluster) last_over_time((crdb_cluster:crdb_health:code{${OF}} < 3)[6h:1m]))`,
        },
        {
          title: 'critical alerts',
          unit: 'short',
          steps: ['text', [1, 'red']],
          expr: `count by (crdb_cluster) (ALERTS{alertname=~"Crdb.+", alertstate="firing", severity="critical", ${OF}}) or 0 * ${CODE}`,
        },
        {
          title: 'nodes',
          unit: 'short',
          expr: `count by (crdb_cluster) (${NODES})`,
        },
        {
          title: 'down',
          unit: 'short',
          steps: ['text', [1, 'orange']],
          expr: `sum by (crdb_cluster) (${NODES} >= bool ${DOWN} unless on (crdb_cluster, node_id) ${RETIRED}{${OF}})`,
        },
        {
          title: 'unavailable ranges',
          unit: 'short',
          steps: ['text', [1, 'red']],
          expr: unavailableRanges(S_MANY, 'crdb_cluster'),
        },
        {
          title: 'under-replicated',
          unit: 'short',
          steps: ['text', [1, 'orange']],
          expr: UNDERREPLICATED,
        },
        {
          title: 'at risk with one node',
          unit: 'short',
          expr: `max by (crdb_cluster) (crdb_node_dependent_ranges{${S_MANY}, effect="quorum"})`,
        },
        {
          title: 'least free disk',
          unit: 'percentunit',
          steps: diskSteps(limit),
          expr: `min by (crdb_cluster) (max by (crdb_cluster, node_id, store_id) (crdb_store_available_bytes{${S_MANY}}) / max by (crdb_cluster, node_id, store_id) (crdb_store_capacity_bytes{${S_MANY}}))`,
        },
        {
          title: 'data age / max_age',
          unit: 'percentunit',
          steps: ['green', [1, 'orange']],
          expr: dataAge(OF, 'crdb_cluster'),
        },
        {
          title: 'last backup',
          unit: 's',
          steps: ['text', [limit('backup_hours') * 3600, 'orange']],
          expr: `time() - max by (crdb_cluster) (crdb_backup_last_completed_timestamp_seconds{${S_MANY}})`,
        },
      ],
      join: 'crdb_cluster',
      sortBy: 'health',
      width: 24,
      height: 12,
    }),
    table('Reasons', {
      about: 'Why a cluster is not healthy, or what is unknown (recorded by rules.yml).',
      labels: { crdb_cluster: CLUSTER, reason: 'reason' },
      values: [
        {
          title: 'health',
          unit: 'none',
          states: HEALTH,
          expr: `max by (crdb_cluster, reason) (crdb_cluster_reason:crdb_health:code{${OF}}) > 0`,
        },
      ],
      sortBy: 'health',
      empty: 'nothing wrong',
      evidence: [`crdb_cluster_reason:crdb_health:code{${OF}}`, 'reason'],
      width: 10,
    }),
    timeline('Health over time', {
      about:
        'Health of each cluster (recorded by rules.yml). A gap: no exporter reported for hours.',
      queries: CODE,
      unit: 'none',
      legend: '{{crdb_cluster}}',
      states: HEALTH,
      width: 14,
    }),
  ],
});

function byLocality(metric: string): string {
  return `max by (crdb_cluster, tier, value) (crdb_cluster_tier_value:${metric}{${OF}})`;
}

const localities: Row = {
  title: 'Regions and zones',
  panels: [
    table('Localities', {
      about:
        'Nodes, leases, load and disk space by region, zone and other tiers of --locality (recorded by rules.yml). Nodes that are down have no leases, load and space; see CrdbNodeDead.',
      labels: { crdb_cluster: CLUSTER, tier: 'tier', value: 'locality' },
      values: [
        { title: 'nodes', unit: 'short', expr: byLocality('crdb_nodes:count') },
        {
          title: 'down',
          unit: 'short',
          steps: ['text', [1, 'orange']],
          expr: byLocality('crdb_nodes_down:sum'),
        },
        { title: 'leases', unit: 'short', expr: byLocality('crdb_range_leases:sum') },
        {
          title: 'queries/s',
          unit: 'reqps',
          expr: byLocality('crdb_store_queries_per_second:sum'),
        },
        { title: 'free', unit: 'bytes', expr: byLocality('crdb_store_available_bytes:sum') },
      ],
      width: 24,
    }),
  ],
};

export function fleet(limit: Limit): Dashboard {
  return buildBoard({
    uid: 'crdb-fleet',
    title: 'Fleet',
    question: 'Which cluster needs me?',
    showsMany: true,
    variables: [],
    rows: [clusters(limit), localities],
  });
}
