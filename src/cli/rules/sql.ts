import { alert, figure, fold, list, present, record, type Rule, type Values } from './rule.ts';

const PER_CPU = 'crdb_cluster_node:executing_queries_per_cpu:ratio';
const MEMORY = 'crdb_cluster_node:crdb_session_alloc:ratio';
const SESSIONS = 'crdb_cluster:crdb_sessions:sum';
const USERS = 'max by (user) (sum without (state) (crdb_user_sessions{crdb_cluster="%s"}))';
const USERS_BEFORE = USERS.replace('})', '} offset 30m)');
const PAIR = 'application, user';

/** Rules on SQL sessions. */
export function sqlRules(set: Values): readonly Rule[] {
  return [...records(), ...transactions(set), ...load(set), ...sessions(set)];
}

function records(): readonly Rule[] {
  return [
    record(
      PER_CPU,
      `${fold('node_id', 'crdb_active_queries{phase="executing"}')}
/ on (crdb_cluster, node_id)
(${fold('node_id', 'crdb_node_cpus')} > 0)`,
    ),
    record(
      MEMORY,
      `${fold('node_id', 'crdb_session_alloc_bytes')}
/ on (crdb_cluster, node_id)
(${fold('node_id', 'crdb_node_memory_bytes')} > 0)`,
    ),
    record(SESSIONS, fold('', 'sum without (node_id, state) (crdb_sessions)')),
  ];
}

function transactions(set: Values): readonly Rule[] {
  const oldest = (kind: string, batch: string): string =>
    fold(
      PAIR,
      `crdb_application_oldest_${kind}_age_seconds{application${batch}${set.batch_applications},application!~${set.excluded_applications}}`,
    );
  return [
    alert('CrdbTransactionTooOld', 'warning', 'sql', {
      expr: `${oldest('idle_transaction', '!~')} > ${set.idle_transaction_age}
or
${oldest('transaction', '!~')} > ${set.transaction_age}
or
${oldest('transaction', '=~')} > ${set.batch_transaction_age}`,
      for: '5m',
      summary:
        '{{ $labels.application }} ({{ $labels.user }}) in {{ $labels.crdb_cluster }} keeps a transaction open for {{ $value | humanizeDuration }}.',
      description: `Long transactions hold locks and keep old row versions. Limits: ${set.transaction_age} s, ${set.idle_transaction_age} s without running a statement (usually a bug in connection pool or error handling; idle_in_transaction_session_timeout ends such sessions), ${set.batch_transaction_age} s for batch jobs. crdb-exporter sessions --sort txn-age lists the oldest first; CANCEL SESSION ends one.`,
    }),
  ];
}

function load(set: Values): readonly Rule[] {
  return [
    alert('CrdbStatementConcurrencyHigh', 'warning', 'sql', {
      expr: `${PER_CPU} > ${set.statements_per_cpu}
and
${fold('node_id', 'crdb_active_queries{phase="executing"}')} > ${set.statements}`,
      for: '15m',
      summary:
        'n{{ $labels.node_id }} of {{ $labels.crdb_cluster }} executes {{ $value | humanize }} statements per CPU.',
      description: `Above about ${set.statements_per_cpu} active statements per CPU more concurrency only adds latency. Limit the connection pools.`,
    }),
    alert('CrdbSessionMemoryHigh', 'warning', 'sql', {
      expr: `${MEMORY} > ${set.session_memory}`,
      for: '10m',
      summary:
        'SQL sessions use {{ $value | humanizePercentage }} of the memory of n{{ $labels.node_id }} of {{ $labels.crdb_cluster }}.',
      description: `The default budget (--max-sql-memory) is 25 percent; above it statements fail with "memory budget exceeded". Largest in the cluster: ${list(
        'topk(3, max by (application, user) (crdb_application_session_alloc_bytes{crdb_cluster="%s"}))',
        '{{ $row.Labels.application }} ({{ $row.Labels.user }}) {{ $row.Value | humanize1024 }}B',
        { none: 'not listed' },
      )}.`,
    }),
  ];
}

function sessions(set: Values): readonly Rule[] {
  return [
    alert('CrdbSessionStorm', 'warning', 'sql', {
      expr: `${SESSIONS} > ${set.session_storm}
and
${SESSIONS} > ${set.session_storm_growth} * avg_over_time(${SESSIONS}[6h] offset 10m)`,
      for: '5m',
      summary: `{{ $labels.crdb_cluster }} has {{ $value }} sessions, more than ${set.session_storm_growth} times as many as usual.`,
      description: `Usual (the mean of 6 hours): ${figure(
        `avg_over_time(${SESSIONS}{crdb_cluster="%s"}[6h] offset 10m)`,
        'printf "%.0f"',
      )}. Growth in 30 minutes: ${list(
        `topk(3, ${USERS} - ${USERS_BEFORE} or ${USERS})`,
        'user {{ $row.Labels.user }} {{ printf "%+.0f" $row.Value }}',
        { none: 'not listed' },
      )}. Typical causes: a deployment with larger pools, a connection leak, functions without a pool, retries without backoff. Limit the connections of the user (ALTER USER … CONNECTION LIMIT) or stop its deployment.`,
    }),
    alert('CrdbSessionsHidden', 'warning', 'api', {
      expr: `${fold('', 'crdb_node_sql_connections')} > 0
unless on (crdb_cluster)
${present('', 'crdb_sessions > 0')}
and on (crdb_cluster)
${present('', 'crdb_exporter_collector_success{collector="sessions"} == 1')}`,
      for: '1h',
      summary:
        'The exporter sees no SQL sessions of {{ $labels.crdb_cluster }} although clients are connected.',
      description:
        'For an hour nodes have counted up to {{ $value }} connections each, but the list of sessions is empty: the user probably lacks VIEWACTIVITY (or VIEWACTIVITYREDACTED). Alerts on sessions and transactions cannot fire. crdb-exporter diagnose prints the GRANT.',
    }),
  ];
}
