import {
  alert,
  fold,
  last,
  list,
  listNodes,
  present,
  LOCALITIES_DOWN,
  NODES_DOWN,
  record,
  type Rule,
  type Values,
} from './rule.ts';

const PROBLEM = 'crdb_cluster_problem:crdb_range_problem_ranges:sum';
const LEASES = 'crdb_cluster_node:crdb_range_leases:sum';
const MEMBERS = 'crdb_cluster:crdb_nodes:count';

/** Adds the node of a range, from an info series. */
function at(info: string): string {
  return `on (range_id) group_left (node_id) topk by (range_id) (1, max by (range_id, node_id) (${info}{crdb_cluster="%s"}))`;
}

/** The table of a row: by name where the tables collector knows it, else by id. */
const OF_TABLE =
  '{{ with $row.Labels.table_id }} of {{ range printf "max by (database, schema, table) (crdb_table_info{crdb_cluster=\\"%s\\",table_id=\\"%s\\"})" $labels.crdb_cluster . | query }}{{ .Labels.database }}.{{ .Labels.schema }}.{{ .Labels.table }}{{ else }}table {{ . }}{{ end }}{{ end }}';

/** The ranges that have had a problem for longest, with table and reporter. */
function longest(problem: string, place = 'reported by'): string {
  return list(
    `topk(5, (time() - min by (range_id, table_id) (crdb_problem_range_first_seen_timestamp_seconds{crdb_cluster="%s",problem="${problem}"})) * ${at('crdb_problem_range_reporter_info')})`,
    `r{{ $row.Labels.range_id }}${OF_TABLE} (${place} n{{ $row.Labels.node_id }})`,
    { none: 'not listed' },
  );
}

/** Rules on ranges. */
export function rangeRules(set: Values): readonly Rule[] {
  return [...records(), ...problems(set), ...risk(set), ...others(set)];
}

function records(): readonly Rule[] {
  return [
    record(
      PROBLEM,
      `sum by (crdb_cluster, problem) (${fold('problem, shard', last('crdb_range_problem_ranges'))})`,
    ),
    ...['crdb_range_replicas', 'crdb_range_leases', 'crdb_store_queries_per_second'].map((family) =>
      record(
        `crdb_cluster_node:${family}:sum`,
        `sum by (crdb_cluster, node_id) (${fold('node_id, store_id', last(family))})`,
      ),
    ),
  ];
}

function problems(set: Values): readonly Rule[] {
  const under = `${PROBLEM}{problem="underreplicated"}`;
  const smaller = `unless on (crdb_cluster)\n${MEMBERS} < 3`;
  const exempt = 'Clusters of one or two nodes, which are always under-replicated, are excluded.';
  return [
    alert('CrdbRangesUnavailable', 'critical', 'range', {
      expr: `${PROBLEM}{problem="unavailable"} > 0`,
      for: '5m',
      summary: '{{ $value }} range(s) of {{ $labels.crdb_cluster }} without quorum.',
      description: `Reads and writes of these keys hang or fail. Longest: ${longest('unavailable')}. Nodes: ${NODES_DOWN}. Start the nodes that are down; do not decommission them and do not wipe their disks.`,
    }),
    alert('CrdbRangesLost', 'critical', 'range', {
      expr: `${fold('', last('crdb_ranges_without_live_replica'))} > 0`,
      for: '5m',
      summary: '{{ $value }} range(s) of {{ $labels.crdb_cluster }} have no live replica.',
      description: `All nodes that held these ranges are down, so no node reports them as unavailable; reads and writes of these keys hang or fail. Ranges: ${longest('no_live_replica', 'was on')}. Nodes: ${NODES_DOWN}. Localities without a live node: ${LOCALITIES_DOWN}. Start these nodes; do not decommission them and do not wipe their disks.`,
    }),
    alert('CrdbRangesWithoutLease', 'critical', 'range', {
      expr: `${PROBLEM}{problem=~"no_lease|no_raft_leader|circuit_breaker_error"} > 0`,
      for: '10m',
      summary:
        '{{ $value }} range(s) of {{ $labels.crdb_cluster }} serve no requests ({{ $labels.problem }}).',
      description: `Requests hang until a leader and a lease exist (no_raft_leader, no_lease), or fail at once (circuit_breaker_error); short times are normal, 10 minutes are not. Longest: ${longest('%s')}. Look for nodes that miss heartbeats, stalled disks and partitions.`,
    }),
    alert('CrdbRangesUnderreplicated', 'warning', 'range', {
      expr: `${under} > 0\n${smaller}`,
      for: '1h',
      summary: '{{ $value }} range(s) of {{ $labels.crdb_cluster }} under-replicated for an hour.',
      description: `The next failure may make them unavailable. Check dead or full nodes and zone constraints that cannot be satisfied. ${exempt}`,
    }),
    alert('CrdbRangesUnderreplicated', 'critical', 'range', {
      expr: `${under} > on (crdb_cluster) group_left () ${set.underreplicated} * sum by (crdb_cluster) (${LEASES})
${smaller}`,
      for: '2h',
      summary:
        '{{ $value }} range(s) of {{ $labels.crdb_cluster }} under-replicated for two hours, and they do not heal.',
      description: `That is more than {{ ${set.underreplicated} | humanizePercentage }} of all ranges: the next failure may make many unavailable. Look for full stores, constraints that cannot be satisfied, and a rebalance rate that is too low. ${exempt}`,
    }),
    alert('CrdbRangeProblemPersistent', 'warning', 'range', {
      expr: `${PROBLEM}{problem!~"unavailable|no_lease|no_raft_leader|circuit_breaker_error|underreplicated"} > 0`,
      for: '1h',
      summary:
        '{{ $value }} range(s) of {{ $labels.crdb_cluster }} in state {{ $labels.problem }} for an hour.',
      description:
        'Such states are normal for short times, not for an hour. raft_log_too_large and paused_followers: a slow or unreachable follower; leader_not_lease_holder: extra hop for each write; range_too_large: splits are blocked.',
    }),
  ];
}

/** The hottest ranges above a limit, with their leaseholders. */
function hot(family: string, limit: string): string {
  return `sort_desc(topk(3, (max by (range_id, table_id, index_id) (crdb_hot_range_${family}{crdb_cluster="%s"}) > ${limit}) * ${at('crdb_hot_range_leaseholder_info')}))`;
}

function risk(set: Values): readonly Rule[] {
  return [
    alert('CrdbQuorumAtRisk', 'warning', 'range', {
      expr: `(${fold('tier, locality', last('crdb_locality_dependent_ranges{effect="quorum"}'))} > 0)
< on (crdb_cluster) group_left ()
(${set.quorum_risk} * ${fold('', last('crdb_ranges'))})
and on (crdb_cluster, tier)
topk by (crdb_cluster) (1,
  count by (crdb_cluster, tier) (
    ${present('tier, locality', last(`crdb_locality_dependent_ranges{tier=~${set.quorum_tier}}`))}
  ) >= 3
)`,
      for: '30m',
      summary:
        '{{ $value }} range(s) of {{ $labels.crdb_cluster }} would lose their quorum with {{ $labels.locality }}.',
      description: `If all nodes of {{ $labels.locality }} stopped now, these ranges would be unavailable, although most ranges would survive it. Common reasons: replicas that are still missing after a node failed, too little space or too few nodes in the other localities, or a zone configuration that the allocator cannot satisfy. Do not stop nodes of {{ $labels.locality }} until this is gone. Nodes that may not stop either: ${listNodes(
        'max by (node_id) (crdb_node_dependent_ranges{crdb_cluster="%s",effect="quorum"}) > 0',
      )}.`,
    }),
  ];
}

function others(set: Values): readonly Rule[] {
  const cpu = 'crdb_range_max_cpu_seconds_per_second';
  const queries = 'crdb_range_max_queries_per_second';
  const place = `${OF_TABLE}{{ with $row.Labels.index_id }} index {{ . }}{{ end }} on n{{ $row.Labels.node_id }}`;
  return [
    alert('CrdbRangeScanIncomplete', 'warning', 'range', {
      expr: `count by (crdb_cluster) (${fold('node_id', last('crdb_range_scan_node_success'))} == 0)`,
      for: '30m',
      summary: 'The ranges of {{ $value }} node(s) of {{ $labels.crdb_cluster }} cannot be read.',
      description: `For 30 minutes no exporter has been able to read the ranges of ${listNodes(
        'max by (node_id) (crdb_range_scan_node_success{crdb_cluster="%s"}) == 0',
      )} although they are up: range counts, leases and problems are lower bounds.`,
    }),
    alert('CrdbHotRange', 'warning', 'range', {
      expr: `${fold('', cpu)} > ${set.hot_range_cpu}
or
(
  ${fold('', queries)} > ${set.hot_range_queries}
  unless
  ${present('', cpu)}
)`,
      for: '30m',
      summary: 'A range of {{ $labels.crdb_cluster }} is hot and does not split.',
      description: `For 30 minutes the load has been above ${set.hot_range_cpu} CPU seconds per second (where CPU is not reported, ${set.hot_range_queries} queries per second); probably one key or an ascending key. Above the limit now: ${list(
        hot('cpu_seconds_per_second', set.hot_range_cpu),
        `r{{ $row.Labels.range_id }}${place} {{ printf "%.2f" $row.Value }} CPU s/s`,
        {
          none: list(
            `${hot('queries_per_second', set.hot_range_queries)} unless on () ${cpu}{crdb_cluster="%s"}`,
            `r{{ $row.Labels.range_id }}${place} {{ printf "%.0f" $row.Value }} queries/s`,
            {
              none: 'none of the listed ranges',
            },
          ),
        },
      )}.`,
    }),
  ];
}
