import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { assistantRow } from './assistant.ts';
import { dataAge } from './data-age.ts';
import { firingAlerts } from './firing-alerts.ts';
import { jobsRow } from './jobs.ts';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { NODE_OF_ROW, NODE_OF_SERIES, toBoard } from './lib/links.ts';
import { note, stat, timeline } from './lib/panels.ts';
import {
  coloured,
  diskSteps,
  expires,
  DOWN,
  HEALTH,
  type Limit,
  LIVENESS,
  LIVENESS_SEVERITY,
  livenessOf,
  nodesDown,
  UNKNOWN_LIVENESS,
} from './lib/style.ts';
import { table } from './lib/table.ts';
import { R, S } from './lib/variables.ts';
import { problemRanges } from './problem-ranges.ts';
import { userImpact } from './user-impact.ts';

const PROBLEMS = `crdb_range_problem_ranges{${S}`;
/** Eight in a line. */
const SMALL = 3;
const ANY_IS_CRITICAL = ['green', [1, 'red']] as const;
const ANY_IS_DEGRADED = ['green', [1, 'orange']] as const;

const now = (limit: Limit, runbooks: string): Row => ({
  title: 'Now',
  panels: [
    firingAlerts(runbooks),
    stat('Reasons', {
      about:
        'The reasons for DEGRADED, CRITICAL or UNKNOWN (recorded by rules.yml). ranges_unavailable: without quorum; ranges_without_lease: without lease or raft leader; ranges_lost: without a live replica.',
      queries: `crdb_cluster_reason:crdb_health:code{${R}} > 0`,
      unit: 'none',
      legend: '{{reason}}',
      names: true,
      states: HEALTH,
      empty: 'nothing wrong',
      evidence: [`crdb_cluster_reason:crdb_health:code{${R}}`, 'reason'],
      width: 8,
      height: 8,
    }),
    stat('Live nodes', {
      about:
        'Live nodes, those that are down, drain or are decommissioned, and those whose state is not known (recorded by rules.yml from crdb_node_liveness): the worst that an exporter sees. Orange: CrdbNodeDead, CrdbNodeUnavailable; red: CrdbMultipleNodesDown.',
      queries: [
        { expr: `count(${livenessOf(R)} == 0)`, legend: 'live' },
        ...nodesDown(R, 'down'),
        {
          expr: `count(${livenessOf(R)} > 0 < ${UNKNOWN_LIVENESS})`,
          legend: 'leaving',
        },
        {
          expr: `count(${livenessOf(R)} >= ${UNKNOWN_LIVENESS} < ${DOWN})`,
          legend: 'not known',
        },
      ],
      unit: 'short',
      links: [toBoard('Nodes', 'crdb-nodes')],
      width: 6,
      height: 8,
    })
      .overrideByQuery('B', coloured(['orange']))
      .overrideByQuery('C', coloured(['red']))
      .overrideByQuery('D', coloured(['blue']))
      .overrideByQuery('E', coloured(['#808080'])),
    stat('Ranges serving nothing', {
      about:
        'Ranges that serve nothing now, confirmed by a second question (crdb_ranges_serving_nothing); else those that report no lease or no raft leader (crdb_range_problem_ranges). Seconds are normal; red for ten minutes: CrdbRangesWithoutLease.',
      queries: `max(crdb_ranges_serving_nothing{${S}}) or max(sum by (problem) (max by (problem, shard) (${PROBLEMS}, problem=~"no_lease|no_raft_leader"})))`,
      width: SMALL,
      unit: 'short',
      steps: ANY_IS_CRITICAL,
      links: [toBoard('Ranges', 'crdb-ranges')],
    }),
    stat('Under-replicated', {
      about:
        'Ranges with fewer replicas than configured (crdb_range_problem_ranges): the next failure may make them unavailable. Orange for an hour: CrdbRangesUnderreplicated.',
      queries: `sum(max by (shard) (${PROBLEMS}, problem="underreplicated"}))`,
      width: SMALL,
      unit: 'short',
      steps: ANY_IS_DEGRADED,
      links: [toBoard('Ranges', 'crdb-ranges', 'var-problem=underreplicated')],
    }),
    stat('Lost ranges', {
      about:
        'Ranges known from earlier scans that no live node holds (crdb_ranges_without_live_replica). Red: see the runbook of CrdbRangesLost. No data: sharded, or a node could not be read.',
      queries: `max(crdb_ranges_without_live_replica{${S}})`,
      width: 2,
      unit: 'short',
      steps: ANY_IS_CRITICAL,
      links: [toBoard('Ranges', 'crdb-ranges')],
    }),
    stat('Least free disk', {
      about:
        'Free share of the fullest store (crdb_store_available_bytes). Orange or red: CrdbStoreDiskLow.',
      queries: `min(max by (node_id, store_id) (crdb_store_available_bytes{${S}}) / max by (node_id, store_id) (crdb_store_capacity_bytes{${S}}))`,
      width: SMALL,
      unit: 'percentunit',
      steps: diskSteps(limit),
      links: [toBoard('Nodes', 'crdb-nodes')],
    }),
    stat('License ends in', {
      about:
        'Time until the license expires (crdb_node_license_expiry_timestamp_seconds); 0 for a cluster of several nodes that has none and needs one (crdb_node_license_installed). Orange: CrdbLicenseExpiring, CrdbLicenseMissing.',
      queries: `min(crdb_node_license_expiry_timestamp_seconds{${S}}) - time() or min(crdb_node_license_installed{${S}} == 0) and count(group by (node_id) (crdb_node_license_installed{${S}})) > 1`,
      width: SMALL,
      unit: 's',
      steps: expires(limit, 'license'),
      empty: 'no license',
      evidence: [`crdb_nodes{${S}}`, 'license'],
    }),
    stat('CPUs', {
      about:
        'CPUs of all nodes (crdb_node_cpus), which newer licenses count as vCPUs; how many a license allows is in no metric.',
      queries: `sum(max by (node_id) (crdb_node_cpus{${S}}))`,
      width: 2,
      unit: 'short',
      links: [toBoard('Nodes', 'crdb-nodes')],
    }),
    stat('Oldest transaction', {
      about:
        'Age of the oldest open transaction (crdb_oldest_transaction_age_seconds). Orange: CrdbTransactionTooOld; it holds locks, find its application.',
      queries: `max(crdb_oldest_transaction_age_seconds{${S}})`,
      width: SMALL,
      unit: 's',
      steps: ['green', [limit('transaction_age'), 'orange']],
      links: [toBoard('SQL sessions', 'crdb-sql')],
    }),
    stat('Data age / max_age', {
      about:
        'Age of the oldest data as a share of the age at which it is no longer exported (recorded by rules.yml from crdb_exporter_collector_last_success_timestamp_seconds). Orange: CrdbDataStale; find the cause before you use this dashboard.',
      queries: dataAge(R),
      width: SMALL,
      unit: 'percentunit',
      steps: ['green', [1, 'orange']],
      links: [toBoard('Exporter', 'crdb-exporter')],
    }),
    stat('Last known health', {
      about:
        'The last health of the last 6 hours that was not unknown (recorded by rules.yml): what was seen before the exporters lost sight of the cluster.',
      queries: `max(crdb_cluster:crdb_health:code{${R}} < 3 or last_over_time((crdb_cluster:crdb_health:code{${R}} < 3)[6h:1m]))`,
      unit: 'none',
      empty: 'not known',
      states: HEALTH,
      width: 2,
    }),
    note(
      'What health means',
      '0 **OK**: none of the reasons below. 1 **DEGRADED**: a node is down, ranges are under-replicated, or a disk is filling. 2 **CRITICAL**: ranges without quorum or lease, lost ranges, several nodes down, or a disk that is almost full. 3 **UNKNOWN**: no exporter gets answers, or the data is too old; the database may work, so first run a SQL query. Of several reasons critical wins, then unknown. Other alerts may fire beside OK.',
      3,
    ),
  ],
});

const lastHours: Row = {
  title: 'Last hours',
  panels: [
    timeline('Node liveness', {
      about:
        'State of each node as the cluster sees it (recorded by rules.yml from crdb_node_liveness); the worst, where exporters differ.',
      queries: `${LIVENESS_SEVERITY}{${R}}`,
      unit: 'none',
      legend: 'n{{node_id}}',
      states: LIVENESS,
      width: 12,
      links: [toBoard('Node', 'crdb-nodes', NODE_OF_SERIES)],
    }),
    graph('Range problems', {
      about: 'Ranges by problem, only problems in the time range (crdb_range_problem_ranges).',
      queries: `sum by (problem) (max by (problem, shard) (${PROBLEMS}})) and on (problem) max by (problem) (max_over_time(${PROBLEMS}}[$__range])) > 0`,
      unit: 'short',
      legend: '{{problem}}',
      draw: 'bars',
      stacked: true,
      empty: 'no problems',
      evidence: [`${PROBLEMS}}`, 'problem'],
      width: 12,
      links: [toBoard('Ranges', 'crdb-ranges', 'var-problem=${__field.labels.problem}')],
    }),
    graph('Load by node', {
      about: 'Queries per second of the stores of each node (crdb_store_queries_per_second).',
      queries: `sum by (node_id) (max by (node_id, store_id) (crdb_store_queries_per_second{${S}}))`,
      unit: 'reqps',
      legend: 'n{{node_id}}',
      links: [toBoard('Load', 'crdb-load')],
    }),
    graph('Sessions by state', {
      about: 'Open SQL sessions (crdb_sessions). Idle in transaction holds locks.',
      queries: `max by (state) (sum without (node_id) (crdb_sessions{${S}}))`,
      unit: 'short',
      legend: '{{state}}',
      stacked: true,
      width: 12,
      links: [toBoard('SQL sessions', 'crdb-sql')],
    }),
  ],
};

const causes = (limit: Limit): Row => ({
  title: 'Likely causes',
  panels: [
    table('Nodes not live', {
      about:
        'Nodes that are not live, with the worst state that an exporter sees (recorded by rules.yml from crdb_node_liveness). See CrdbNodeDead, CrdbNodeUnavailable.',
      labels: {
        node_id: { title: 'node', links: [toBoard('Nodes', 'crdb-nodes', NODE_OF_ROW)] },
      },
      values: [
        {
          title: 'status',
          unit: 'none',
          states: LIVENESS,
          expr: `${livenessOf(R)} > 0`,
        },
      ],
      sortBy: 'status',
      empty: 'all live',
      evidence: [`${LIVENESS_SEVERITY}{${R}}`, 'node_id'],
      width: 5,
    }),
    problemRanges('Worst problem ranges', { top: 10, width: 12 }),
    table('Applications with the oldest transaction', {
      about:
        'Applications with the oldest open transaction (crdb_application_oldest_transaction_age_seconds). Orange: CrdbTransactionTooOld; batch jobs have a longer limit.',
      labels: {
        application: {
          title: 'application',
          links: [
            toBoard(
              'SQL sessions',
              'crdb-sql',
              'var-application=${__data.fields.application:percentencode}',
            ),
          ],
        },
        user: 'user',
      },
      values: [
        {
          title: 'age',
          unit: 's',
          steps: ['text', [limit('transaction_age'), 'orange']],
          expr: `topk(10, max by (application, user) (crdb_application_oldest_transaction_age_seconds{${S}}))`,
        },
      ],
      sortBy: 'age',
      width: 7,
    }),
  ],
});

/** `runbooks` is the address of the folder of runbooks, or empty. */
export function overview(limit: Limit, runbooks: string): Dashboard {
  return buildBoard({
    uid: 'crdb-overview',
    title: 'Overview',
    question: 'Is the cluster healthy, and where do I look next?',
    variables: [],
    rows: [
      userImpact(limit),
      now(limit, runbooks),
      lastHours,
      causes(limit),
      jobsRow(limit),
      assistantRow,
    ],
  });
}
