import * as rule from './rule.ts';

const { ADDRESS, alert, fold, last, list, listNodes, present, record } = rule;
const LIVENESS = 'crdb_cluster_node_status:crdb_node_liveness:max';
const INFO = 'crdb_cluster_node:crdb_node_info:first';
const LIVE = `${LIVENESS}{status="live"} == 1`;
const DOWN = 'crdb_cluster_node:crdb_node_down';
const UNHEALTHY = 'crdb_node_rpc_connections{state="unhealthy"}';
const NODE = 'Node n{{ $labels.node_id }} of {{ $labels.crdb_cluster }}';

/** Rules on whether nodes are there, and of which build. */
export function nodeRules(set: rule.Values): readonly rule.Rule[] {
  return [...records(), ...alertsOnAbsence(set), ...alertsOnNodes(set), ...alertsOnChange(set)];
}

function records(): readonly rule.Rule[] {
  const info = (value: string): string =>
    `topk by (crdb_cluster, node_id) (1, ${fold('node_id, address, locality, build_tag', value)})`;
  const started = 'crdb_node_started_timestamp_seconds';
  return [
    record(
      INFO,
      `${info('crdb_node_info')}\nor on (crdb_cluster, node_id)\n${info(last('crdb_node_info'))}`,
      {
        comment:
          'Rules that feed alerts take the last value of 10 minutes: a failed poll or a restart of the exporter ends no alert.',
      },
    ),
    record(LIVENESS, fold('node_id, status', last('crdb_node_liveness'))),
    record(`${DOWN}:max`, fold('node_id', `${LIVENESS}{status=~"dead|unavailable"}`)),
    record(
      `${DOWN}:recent`,
      `${DOWN}:max
* on (crdb_cluster, node_id)
${fold('node_id', `max_over_time(${LIVENESS}{status=~"live|draining"}[1h])`)}`,
      { comment: 'Down, but live within the last hour.' },
    ),
    record(
      'crdb_cluster:crdb_nodes:count',
      `count by (crdb_cluster) (${fold('node_id', `${LIVENESS}{status!="decommissioned"}`)} == 1)`,
    ),
    rule.byLocality('crdb_nodes:count', `${DOWN}:max`, 'count'),
    rule.byLocality('crdb_nodes_down:sum', `${DOWN}:max`),
    rule.byLocality('crdb_nodes_down_recently:sum', `${DOWN}:recent`),
    record(
      'crdb_cluster_node:crdb_node_record_age_seconds:min',
      `max by (crdb_cluster) (crdb_exporter_collector_last_success_timestamp_seconds{collector="nodes"})
- on (crdb_cluster) group_right ()
${fold('node_id', 'crdb_node_updated_timestamp_seconds')}`,
    ),
    record(`crdb_cluster_node:${started}:max`, fold('node_id', started)),
    record('crdb_cluster_build:crdb_nodes:count', `count by (crdb_cluster, build_tag) (${INFO})`),
    record(
      'crdb_cluster_node:crdb_node_clock_offset_seconds:max',
      fold('node_id', 'abs(crdb_node_clock_offset_seconds)'),
    ),
  ];
}

function alertsOnAbsence({ nodes_down: share }: rule.Values): readonly rule.Rule[] {
  const dead = present('node_id', `${LIVENESS}{status="dead"} == 1`);
  const members = 'crdb_cluster:crdb_nodes:count';
  const recent = `sum by (crdb_cluster) (${DOWN}:recent)`;
  const deadText = {
    summary: `${NODE} is dead.`,
    description: `${ADDRESS} has been without liveness for longer than server.time_until_store_dead. Its replicas are rebuilt on other nodes if at least three are left; until then the next failure can make ranges unavailable. ${rule.LAST_KNOWN} Restart it, or decommission it if it will not return.`,
  };
  return [
    alert('CrdbNodeDead', 'warning', 'node', { expr: dead, for: '2m', ...deadText }),
    alert('CrdbNodeDead', 'critical', 'node', {
      expr: `${dead}
and on (crdb_cluster)
${members} >= 3
and on (crdb_cluster)
count by (crdb_cluster) (${LIVE}) < 3`,
      for: '2m',
      summary: deadText.summary,
      description: `Fewer than three nodes are live, so lost replicas cannot be rebuilt: the next failure makes ranges unavailable. ${deadText.description}`,
    }),
    alert('CrdbMultipleNodesDown', 'critical', 'node', {
      expr: `sum by (crdb_cluster) (${DOWN}:max) >= 2
and
(
  (${recent} >= 2 and ${recent} >= ${share} * ${members})
  or
  group by (crdb_cluster) (
    (crdb_cluster_tier_value:crdb_nodes_down_recently:sum >= 2)
    == crdb_cluster_tier_value:crdb_nodes:count
  )
  or
  ${present('', 'ALERTS{alertname="CrdbMultipleNodesDown",alertstate="firing"}')}
)`,
      for: '1m',
      summary: '{{ $value }} nodes of {{ $labels.crdb_cluster }} are down at once.',
      description: `${rule.NODES_DOWN}. Localities without a live node: ${rule.LOCALITIES_DOWN}. Ranges without quorum: ${rule.figure(
        'crdb_cluster_problem:crdb_range_problem_ranges:sum{crdb_cluster="%s",problem="unavailable"}',
        'printf "%.0f"',
      )}; without a live replica: ${rule.figure(
        'max(crdb_ranges_without_live_replica{crdb_cluster="%s"})',
        'printf "%.0f"',
      )}. Start the most recently lost node first; do not decommission nodes and do not wipe disks.`,
    }),
  ];
}

function alertsOnNodes({ record_age: limit }: rule.Values): readonly rule.Rule[] {
  return [
    alert('CrdbNodeUnavailable', 'warning', 'node', {
      expr: present('node_id', `${LIVENESS}{status="unavailable"} == 1`),
      for: '3m',
      summary: `${NODE} misses its liveness heartbeats.`,
      description: `${ADDRESS} has not renewed its liveness for 3 minutes; it counts as dead after server.time_until_store_dead (5 minutes by default). ${rule.LAST_KNOWN} Check its process, disk and network.`,
    }),
    alert('CrdbNodeRecordStale', 'warning', 'node', {
      expr: `crdb_cluster_node:crdb_node_record_age_seconds:min > ${limit}
and on (crdb_cluster, node_id)
${LIVE}`,
      for: '3m',
      summary: `${NODE} is live but has not written its status for {{ $value | humanizeDuration }}.`,
      description:
        'Nodes write their record every 10 seconds; a late record means overload, a stalled disk or unavailable system ranges. Its metrics are not exported meanwhile.',
    }),
    alert('CrdbPartitionSuspected', 'warning', 'node', {
      expr: `(
  ${present('', `${UNHEALTHY} > 0`)}
  and
  min by (crdb_cluster) (max by (crdb_cluster, node_id) (${UNHEALTHY})) == 0
)
unless
${present('', 'crdb_nodes{status!="live"} > 0')}`,
      for: '5m',
      summary:
        'Some nodes of {{ $labels.crdb_cluster }} do not reach all others, although all are live.',
      description: `Some nodes have unhealthy RPC connections and others none: a part of the network between them fails. Requests between the two sides wait, leases move. Nodes with unhealthy connections: ${listNodes(
        'max by (node_id) (crdb_node_rpc_connections{crdb_cluster="%s",state="unhealthy"}) > 0',
      )}.`,
    }),
    alert('CrdbNodeStuckLeaving', 'warning', 'node', {
      expr: `${LIVENESS}{status="draining"} == 1
or
(
  ${LIVENESS}{status="decommissioning"} == 1
  and on (crdb_cluster, node_id)
  (
    crdb_cluster_node:crdb_range_replicas:sum > 0
    and
    crdb_cluster_node:crdb_range_replicas:sum >= crdb_cluster_node:crdb_range_replicas:sum offset 1h
  )
)`,
      for: '1h',
      summary: `${NODE} is {{ $labels.status }} and makes no progress.`,
      description:
        'draining: for an hour the node has neither stopped nor returned. decommissioning: the number of its replicas has not fallen for two hours; look for zone constraints that no other node satisfies and for full stores.',
    }),
  ];
}

function alertsOnChange({ restarts, finalize_days: days }: rule.Values): readonly rule.Rule[] {
  const started = 'crdb_cluster_node:crdb_node_started_timestamp_seconds:max';
  const builds = `count by (crdb_cluster, node_id) (
    ${present('node_id, build_tag', `last_over_time(${INFO}[6h])`)}
  )`;
  return [
    alert('CrdbNodeFlapping', 'warning', 'node', {
      expr: `changes(${started}[30m]) >= 2
or
(
  changes(${started}[6h]) + 1
  - on (crdb_cluster, node_id)
  ${builds}
) >= ${restarts}`,
      summary: `${NODE} restarts again and again ({{ $value }} times).`,
      description: `At least twice in 30 minutes, or ${restarts} times in 6 hours, not counting restarts with a new build. ${ADDRESS}. First check for out-of-memory kills, disk stalls and clock offset.`,
    }),
    alert('CrdbVersionSkew', 'warning', 'node', {
      expr: `max by (crdb_cluster) (${last('crdb_build_tags')}) > 1
unless on (crdb_cluster)
${present('', 'changes(crdb_cluster_build:crdb_nodes:count[6h]) > 0')}`,
      for: '6h',
      summary:
        'The upgrade of {{ $labels.crdb_cluster }} does not go on: {{ $value }} different builds.',
      description: `No node has changed its build for 12 hours. Builds: ${list(
        'crdb_cluster_build:crdb_nodes:count{crdb_cluster="%s"}',
        '{{ $row.Labels.build_tag }} on {{ $row.Value }} node(s)',
        { sortBy: 'build_tag' },
      )}. The upgrade cannot be finalized while old builds run.`,
    }),
    alert('CrdbUpgradeNotFinalized', 'warning', 'node', {
      expr: `time() - ${fold('', last('crdb_preserve_downgrade_option_updated_timestamp_seconds'))} > ${days} * 86400`,
      for: '1h',
      summary:
        'The upgrade of {{ $labels.crdb_cluster }} has not been finalized for {{ $value | humanizeDuration }}.',
      description:
        'cluster.preserve_downgrade_option is set: new features stay off, and the next upgrade is not possible. When the new version works, RESET CLUSTER SETTING cluster.preserve_downgrade_option.',
    }),
  ];
}
