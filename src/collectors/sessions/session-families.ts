import { type Family, gauge, gaugeHistogram } from '#metrics';
import { gaugeOf } from '../collector.ts';
import {
  type NodeTally,
  PHASES,
  SESSION_STATES,
  type SessionTally,
  TRANSACTION_KINDS,
} from './session.ts';

const NODE = { labels: ['node_id'] } as const;

const nodeGauge = gaugeOf(NODE)<NodeTally>;

const AT_POLL = 'The age at the time of the poll.';

/** One series for each node with sessions. */
export const NODE_FAMILIES = [
  nodeGauge(({ allocBytes }) => allocBytes, {
    name: 'crdb_session_alloc_bytes',
    help: 'Memory that the open sessions of the node hold in bytes.',
    field: 'alloc_bytes',
  }),
  nodeGauge(({ maxAllocBytes }) => maxAllocBytes, {
    name: 'crdb_session_max_alloc_bytes',
    help: 'Sum of the peak memory of each open session of the node in bytes.',
    field: 'max_alloc_bytes',
    notes: 'The sessions need not have had their peaks at the same time.',
  }),
  nodeGauge(({ largestAllocBytes }) => largestAllocBytes, {
    name: 'crdb_session_largest_alloc_bytes',
    help: 'Memory of the open session that holds most on the node, in bytes.',
    field: 'alloc_bytes',
  }),
  nodeGauge(({ oldestTransactionSeconds }) => oldestTransactionSeconds, {
    name: 'crdb_oldest_transaction_age_seconds',
    help: 'Age of the oldest open transaction of the node in seconds; 0 without one.',
    field: 'active_txn',
    notes: AT_POLL,
  }),
  nodeGauge(({ oldestQuerySeconds }) => oldestQuerySeconds, {
    name: 'crdb_oldest_query_age_seconds',
    help: 'Age of the oldest running query of the node in seconds; 0 without one.',
    field: 'active_queries',
    notes: AT_POLL,
  }),
  nodeGauge(({ clientHosts }) => clientHosts, {
    name: 'crdb_session_client_addresses',
    help: 'Distinct client hosts of the open sessions of the node.',
    field: 'client_address',
    notes: 'Addresses are counted without their ports.',
  }),
];

const LISTED =
  'For the max_applications pairs with most sessions, the oldest transactions and most memory. The others are summed as application "other" by user, those of users without series of their own as user "other". An empty name is "unset".';
const PAIR = {
  labels: ['application', 'user'],
  list: { name: 'applications', entry: ['application', 'user'] },
} as const;

export const families = {
  sessions: gauge({
    name: 'crdb_sessions',
    help: 'Open SQL sessions of the node by state: active, idle_in_transaction or idle.',
    labels: ['node_id', 'state'],
    notes: 'active: a query is running; idle_in_transaction: an open transaction without a query.',
  }),
  activeQueries: gauge({
    name: 'crdb_active_queries',
    help: 'Running queries of the node by phase: preparing, executing or other.',
    labels: ['node_id', 'phase'],
    field: 'active_queries',
  }),
  openTransactions: gauge({
    name: 'crdb_open_transactions',
    help: 'Open transactions of the node: explicit (BEGIN) or implicit (a single statement).',
    labels: ['node_id', 'kind'],
    field: 'active_txn',
  }),
  byAge: gaugeHistogram({
    name: 'crdb_sessions_by_age_seconds_bucket',
    help: 'Open sessions that are at most this many seconds old; cumulative, +Inf counts all.',
    labels: ['le'],
    field: 'start',
  }),
  queriesByAge: gaugeHistogram({
    name: 'crdb_active_queries_by_age_seconds_bucket',
    help: 'Running queries that are at most this many seconds old; cumulative, +Inf counts all.',
    labels: ['le'],
    field: 'active_queries',
  }),
  userSessions: gauge({
    name: 'crdb_user_sessions',
    help: 'Open sessions of a SQL user by state, as in crdb_sessions.',
    labels: ['user', 'state'],
    field: 'username',
    notes: 'For the max_users users with most sessions; the sum of all others is user "other".',
    list: { name: 'users', entry: ['user'] },
  }),
  fanoutErrors: gauge({
    name: 'crdb_session_fanout_errors',
    help: 'Whether the answering node failed to get the sessions of this node.',
    ...NODE,
    unit: '0 or 1',
    field: 'errors',
    notes: '1 for nodes named in errors, 0 for other nodes with sessions in the response.',
  }),
  applicationSessions: gauge({
    name: 'crdb_application_sessions',
    help: 'Open sessions of an application and user by state, as in crdb_sessions.',
    labels: ['application', 'user', 'state'],
    field: 'application_name and username',
    notes: LISTED,
    list: PAIR.list,
  }),
};

/** Families of a node with one series for each kind: the label of the kind, and its values, which name the figures. */
export const NODE_KINDS: readonly (readonly [Family, string, readonly (keyof SessionTally)[]])[] = [
  [families.sessions, 'state', SESSION_STATES],
  [families.activeQueries, 'phase', PHASES],
  [families.openTransactions, 'kind', TRANSACTION_KINDS],
];

const pairGauge = gaugeOf({ ...PAIR, notes: LISTED })<SessionTally>;

/** One series for each listed pair of application and user. */
export const APPLICATION_FAMILIES = [
  pairGauge(({ allocBytes }) => allocBytes, {
    name: 'crdb_application_session_alloc_bytes',
    help: 'Memory that the open sessions of an application and user hold in bytes.',
    field: 'alloc_bytes',
  }),
  pairGauge(({ preparing, executing, other }) => preparing + executing + other, {
    name: 'crdb_application_active_queries',
    help: 'Running queries of an application and user.',
    field: 'active_queries',
  }),
  pairGauge(({ explicit, implicit }) => explicit + implicit, {
    name: 'crdb_application_open_transactions',
    help: 'Open transactions of an application and user.',
    field: 'active_txn',
  }),
  pairGauge(({ retries }) => retries, {
    name: 'crdb_application_open_transaction_retries',
    help: 'Retries of the open transactions of an application and user, by client or server.',
    field: 'num_retries and num_auto_retries of active_txn',
  }),
  pairGauge(({ oldestTransactionSeconds }) => oldestTransactionSeconds, {
    name: 'crdb_application_oldest_transaction_age_seconds',
    help: 'Age of the oldest open transaction of an application and user in seconds; 0 without one.',
    field: 'active_txn',
    notes: AT_POLL,
  }),
  pairGauge(({ oldestIdleTransactionSeconds }) => oldestIdleTransactionSeconds, {
    name: 'crdb_application_oldest_idle_transaction_age_seconds',
    help: 'Age in seconds of the oldest open transaction without a running query, by application and user.',
    field: 'active_txn',
    notes: `0 when there is none. ${AT_POLL}`,
  }),
  pairGauge(({ oldestQuerySeconds }) => oldestQuerySeconds, {
    name: 'crdb_application_oldest_query_age_seconds',
    help: 'Age of the oldest running query of an application and user in seconds; 0 without one.',
    field: 'active_queries',
    notes: AT_POLL,
  }),
];

export const SESSION_FAMILIES: readonly Family[] = [
  ...Object.values(families),
  ...[...NODE_FAMILIES, ...APPLICATION_FAMILIES].map(({ family }) => family),
];
