import { gauge } from '../../metrics/family.ts';

const NODE = ['node_id'] as const;

export const SESSIONS = gauge({
  name: 'crdb_sessions',
  help: 'Open SQL sessions of the node: active (a query is running), idle_in_transaction (an open transaction, no query) or idle (GET /sessions/). Polled; crdb_exporter_collector_last_success_timestamp_seconds{collector="sessions"} tells when.',
  labels: ['node_id', 'state'],
});

export const ALLOC = gauge({
  name: 'crdb_session_alloc_bytes',
  help: 'Memory that the open sessions of the node hold in bytes (GET /sessions/, alloc_bytes).',
  labels: NODE,
});

export const MAX_ALLOC = gauge({
  name: 'crdb_session_max_alloc_bytes',
  help: 'Sum of the most memory that each open session of the node ever held in bytes; not at the same time (GET /sessions/, max_alloc_bytes).',
  labels: NODE,
});

export const LARGEST_ALLOC = gauge({
  name: 'crdb_session_largest_alloc_bytes',
  help: 'Memory of the open session of the node that holds most, in bytes (GET /sessions/, alloc_bytes).',
  labels: NODE,
});

export const ACTIVE_QUERIES = gauge({
  name: 'crdb_active_queries',
  help: 'Running queries of the node by phase: preparing, executing or other (GET /sessions/, active_queries).',
  labels: ['node_id', 'phase'],
});

export const OPEN_TRANSACTIONS = gauge({
  name: 'crdb_open_transactions',
  help: 'Open transactions of the node: explicit (begun by the client) or implicit (of a single statement) (GET /sessions/, active_txn).',
  labels: ['node_id', 'kind'],
});

export const OLDEST_TRANSACTION = gauge({
  name: 'crdb_oldest_transaction_age_seconds',
  help: 'Age of the oldest open transaction of the node in seconds, at the time of the poll; 0 when there is none (GET /sessions/, active_txn).',
  labels: NODE,
});

export const OLDEST_QUERY = gauge({
  name: 'crdb_oldest_query_age_seconds',
  help: 'Age of the oldest running query of the node in seconds, at the time of the poll; 0 when there is none (GET /sessions/, active_queries).',
  labels: NODE,
});

export const BY_AGE = gauge({
  name: 'crdb_sessions_by_age',
  help: 'Open sessions that began at most so many seconds ago; cumulative, +Inf counts all (GET /sessions/, start).',
  labels: ['upper'],
});

export const CLIENT_ADDRESSES = gauge({
  name: 'crdb_session_client_addresses',
  help: 'Distinct hosts from which the open sessions of the node come (GET /sessions/, client_address without its port).',
  labels: NODE,
});

export const FANOUT_ERRORS = gauge({
  name: 'crdb_session_fanout_errors',
  help: 'Whether the answering node failed to get the sessions of this node: 1 for nodes named in errors, 0 for nodes with sessions in the answer (GET /sessions/, errors).',
  labels: NODE,
});

const PAIR = ['application', 'user'] as const;
const BOUNDED =
  'For the pairs with most sessions; the others, summed, are application "other" of user "other", and an empty name is "unset".';
const APPLICATIONS = { name: 'applications', entry: PAIR } as const;

function ofPair(name: string, what: string) {
  return gauge({ name, help: `${what} ${BOUNDED}`, labels: PAIR, list: APPLICATIONS });
}

export const APPLICATION_SESSIONS = gauge({
  name: 'crdb_application_sessions',
  help: `Open sessions of an application and user by state, as crdb_sessions (GET /sessions/, application_name and username). ${BOUNDED}`,
  labels: ['application', 'user', 'state'],
  list: APPLICATIONS,
});

export const APPLICATION_ALLOC = ofPair(
  'crdb_application_session_alloc_bytes',
  'Memory that the open sessions of an application and user hold in bytes (GET /sessions/, alloc_bytes).',
);

export const APPLICATION_QUERIES = ofPair(
  'crdb_application_active_queries',
  'Running queries of an application and user (GET /sessions/, active_queries).',
);

export const APPLICATION_TRANSACTIONS = ofPair(
  'crdb_application_open_transactions',
  'Open transactions of an application and user (GET /sessions/, active_txn).',
);

export const APPLICATION_RETRIES = ofPair(
  'crdb_application_open_transaction_retries',
  'How often the transactions of an application and user that are open now were retried, by client or server (GET /sessions/, num_retries and num_auto_retries of active_txn).',
);

export const APPLICATION_OLDEST_TRANSACTION = ofPair(
  'crdb_application_oldest_transaction_age_seconds',
  'Age of the oldest open transaction of an application and user in seconds, at the time of the poll; 0 when there is none (GET /sessions/, active_txn).',
);

export const APPLICATION_OLDEST_IDLE_TRANSACTION = ofPair(
  'crdb_application_oldest_idle_transaction_age_seconds',
  'Age in seconds of the oldest open transaction of an application and user in which no query is running, at the time of the poll; 0 when there is none (GET /sessions/, active_txn).',
);

export const APPLICATION_OLDEST_QUERY = ofPair(
  'crdb_application_oldest_query_age_seconds',
  'Age of the oldest running query of an application and user in seconds, at the time of the poll; 0 when there is none (GET /sessions/, active_queries).',
);
