import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { toConsole } from './lib/links.ts';
import { heatmap, stat } from './lib/panels.ts';
import { coloured, type Limit } from './lib/style.ts';
import { table } from './lib/table.ts';
import { many, nodeVariable, S } from './lib/variables.ts';

const OF_NODES = `${S}, node_id=~"$node"`;
const OF_APPS = `${S}, application=~"$application", user=~"$user"`;
const ALL_SESSIONS = `max(sum without (node_id, state) (crdb_sessions{${OF_NODES}}))`;

const IDLE = `max(sum without (node_id, state) (crdb_sessions{${OF_NODES}, state="idle_in_transaction"}))`;

const now = (limit: Limit): Row => ({
  title: 'Now',
  panels: [
    stat('Sessions', {
      about: 'Open SQL sessions (crdb_sessions).',
      queries: ALL_SESSIONS,
      unit: 'short',
      width: 3,
    }),
    stat('Idle in transaction', {
      about:
        'Sessions that hold a transaction open and run nothing, and their share of all sessions (crdb_sessions). Orange, and many requests wait for locks: CrdbIdleTransactions.',
      queries: [
        { expr: IDLE, legend: 'sessions' },
        { expr: `${IDLE} / (${ALL_SESSIONS} > 0)`, legend: 'of all' },
      ],
      unit: 'short',
      width: 3,
    }).overrideByQuery('B', [
      { id: 'unit', value: 'percentunit' },
      ...coloured(['text', [limit('idle_transactions'), 'orange']]),
    ]),
    stat('Oldest idle transaction', {
      about:
        'Selected applications (crdb_application_oldest_idle_transaction_age_seconds). Orange: CrdbTransactionTooOld.',
      queries: `max(crdb_application_oldest_idle_transaction_age_seconds{${OF_APPS}})`,
      unit: 's',
      steps: ['green', [limit('idle_transaction_age'), 'orange']],
      width: 3,
    }),
    stat('Oldest statement', {
      about: 'Selected applications (crdb_application_oldest_query_age_seconds).',
      queries: `max(crdb_application_oldest_query_age_seconds{${OF_APPS}})`,
      unit: 's',
      width: 3,
    }),
    stat('Session memory', {
      about: 'Memory of all sessions (crdb_session_alloc_bytes).',
      queries: `sum(max by (node_id) (crdb_session_alloc_bytes{${OF_NODES}}))`,
      unit: 'bytes',
      width: 3,
    }),
    stat('Largest session', {
      about: 'Memory of the largest session (crdb_session_largest_alloc_bytes).',
      queries: `max(crdb_session_largest_alloc_bytes{${OF_NODES}})`,
      unit: 'bytes',
      width: 3,
    }),
    stat('Nodes not responding', {
      about: 'Nodes whose sessions are missing from the list (crdb_session_fanout_errors).',
      queries: `sum(max by (node_id) (crdb_session_fanout_errors{${S}}))`,
      unit: 'short',
      width: 3,
    }),
    stat('Connections / sessions seen', {
      about:
        'Connections that the nodes count, and sessions that the exporter can see (crdb_node_sql_connections, crdb_sessions). Connections but no sessions: the user lacks VIEWACTIVITY.',
      queries: [
        {
          expr: `sum(max by (node_id) (crdb_node_sql_connections{${OF_NODES}}))`,
          legend: 'connections',
        },
        { expr: ALL_SESSIONS, legend: 'sessions' },
      ],
      unit: 'short',
      width: 3,
    }),
  ],
});

/** One value for each application and user. */
function ofPair(family: string): string {
  return `max by (application, user) (${family}{${OF_APPS}})`;
}

const applications = (limit: Limit): Row => ({
  title: 'By application',
  panels: [
    table('Applications', {
      about:
        'Sessions, transactions and memory (crdb_application_…) of the pairs with most sessions; the others are summed as "other". Orange: CrdbTransactionTooOld.',
      labels: { application: 'application', user: 'user' },
      values: [
        {
          title: 'sessions',
          unit: 'short',
          expr: `max by (application, user) (sum without (state) (crdb_application_sessions{${OF_APPS}}))`,
          links: [toConsole('sessions', 'sql-activity?tab=Sessions')],
        },
        { title: 'running', unit: 'short', expr: ofPair('crdb_application_active_queries') },
        { title: 'open tx', unit: 'short', expr: ofPair('crdb_application_open_transactions') },
        {
          title: 'oldest tx',
          unit: 's',
          steps: ['text', [limit('transaction_age'), 'orange']],
          expr: ofPair('crdb_application_oldest_transaction_age_seconds'),
        },
        {
          title: 'oldest idle tx',
          unit: 's',
          steps: ['text', [limit('idle_transaction_age'), 'orange']],
          expr: ofPair('crdb_application_oldest_idle_transaction_age_seconds'),
        },
        {
          title: 'tx retries',
          unit: 'short',
          expr: ofPair('crdb_application_open_transaction_retries'),
        },
        { title: 'memory', unit: 'bytes', expr: ofPair('crdb_application_session_alloc_bytes') },
      ],
      sortBy: 'sessions',
      width: 24,
      height: 9,
    }),
    graph('Sessions by application', {
      about: 'Open sessions (crdb_application_sessions). A steady increase is a leak.',
      queries: `max by (application) (sum without (user, state) (crdb_application_sessions{${OF_APPS}}))`,
      unit: 'short',
      legend: '{{application}}',
      stacked: true,
    }),
    graph('Oldest transaction by application', {
      about:
        'Age of the oldest open transaction (crdb_application_oldest_transaction_age_seconds). Above the dashed line: CrdbTransactionTooOld; batch jobs have a longer limit.',
      queries: ofPair('crdb_application_oldest_transaction_age_seconds'),
      unit: 's',
      legend: '{{application}} ({{user}})',
      steps: ['green', [limit('transaction_age'), 'orange']],
    }),
    graph('Session memory by application', {
      about: 'Memory of open sessions (crdb_application_session_alloc_bytes).',
      queries: `max by (application) (sum without (user) (crdb_application_session_alloc_bytes{${OF_APPS}}))`,
      unit: 'bytes',
      legend: '{{application}}',
    }),
  ],
});

const nodes = (limit: Limit): Row => ({
  title: 'By node',
  panels: [
    graph('Sessions by state', {
      about: 'Open sessions (crdb_sessions). Idle in transaction holds locks.',
      queries: `max by (state) (sum without (node_id) (crdb_sessions{${OF_NODES}}))`,
      unit: 'short',
      legend: '{{state}}',
      stacked: true,
    }),
    graph('Sessions by node', {
      about: 'Where clients are connected (crdb_sessions). Uneven: check the load balancer.',
      queries: `max by (node_id) (sum without (state) (crdb_sessions{${OF_NODES}}))`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Statements per CPU', {
      about:
        'Concurrently executing statements per CPU (crdb_active_queries, crdb_node_cpus). Above about 4, more concurrency only adds latency.',
      queries: `max by (node_id) (crdb_active_queries{${S}, phase="executing", node_id=~"$node"}) / on (node_id) (max by (node_id) (crdb_node_cpus{${S}}) > 0)`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
    graph('Session memory / node memory', {
      about:
        'Share of the memory of the node (crdb_session_alloc_bytes). The default budget is 25 %; above the dashed line: CrdbSessionMemoryHigh.',
      queries: `max by (node_id) (crdb_session_alloc_bytes{${OF_NODES}}) / on (node_id) (max by (node_id) (crdb_node_memory_bytes{${S}}) > 0)`,
      unit: 'percentunit',
      legend: 'n{{node_id}}',
      steps: ['green', [limit('session_memory'), 'orange']],
    }),
    heatmap('Session age', {
      about: 'Sessions by age in seconds (crdb_sessions_by_age_seconds_bucket).',
      queries: `max by (le) (crdb_sessions_by_age_seconds_bucket{${S}})`,
      unit: 'short',
    }),
    heatmap('Statement age', {
      about: 'Running statements by age in seconds (crdb_active_queries_by_age_seconds_bucket).',
      queries: `max by (le) (crdb_active_queries_by_age_seconds_bucket{${S}})`,
      unit: 'short',
    }),
    graph('Sessions by user', {
      about: 'The users with most sessions; the others are summed as other (crdb_user_sessions).',
      queries: `max by (user) (sum without (state) (crdb_user_sessions{${S}, user=~"$user"}))`,
      unit: 'short',
      legend: '{{user}}',
      stacked: true,
    }),
    graph('Client addresses by node', {
      about: 'Distinct client hosts (crdb_session_client_addresses).',
      queries: `max by (node_id) (crdb_session_client_addresses{${OF_NODES}})`,
      unit: 'short',
      legend: 'n{{node_id}}',
    }),
  ],
});

const statements: Row = {
  title: 'Statements and transactions by node',
  collapsed: true,
  panels: [
    graph('Oldest statement by node', {
      about: 'Age of the oldest running statement (crdb_oldest_query_age_seconds).',
      queries: `max by (node_id) (crdb_oldest_query_age_seconds{${OF_NODES}})`,
      unit: 's',
      legend: 'n{{node_id}}',
    }),
    graph('Open transactions', {
      about:
        'Explicit (BEGIN) and implicit (a single statement) transactions (crdb_open_transactions).',
      queries: `max by (kind) (sum without (node_id) (crdb_open_transactions{${OF_NODES}}))`,
      unit: 'short',
      legend: '{{kind}}',
      stacked: true,
    }),
    graph('Peak memory of sessions', {
      about:
        'Sum of the highest memory that each open session has had (crdb_session_max_alloc_bytes). Far above session memory: a few large statements.',
      queries: `max by (node_id) (crdb_session_max_alloc_bytes{${OF_NODES}})`,
      unit: 'bytes',
      legend: 'n{{node_id}}',
    }),
  ],
};

function valuesOf(label: string): string {
  return `label_values(crdb_application_sessions{${S}}, ${label})`;
}

export function sql(limit: Limit): Dashboard {
  return buildBoard({
    uid: 'crdb-sql',
    title: 'SQL sessions',
    question: 'Which application holds sessions, memory and transactions?',
    variables: [
      nodeVariable(),
      many('application', 'Application', valuesOf('application')),
      many('user', 'User', valuesOf('user')),
    ],
    rows: [now(limit), applications(limit), nodes(limit), statements],
  });
}
