import { writeAge, writeBytes, writeCount } from '../human.ts';
import type { Column } from '../listing.ts';
import type { Session } from './session.ts';

/** Old enough for a transaction without a running statement to be a mistake of its application. */
const OLD_SECONDS = 60;

export const COLUMNS: readonly Column<Session>[] = [
  { title: 'ID', value: (session) => session.id },
  { title: 'NODE', value: (session) => session.node_id, write: String },
  { title: 'USER', value: (session) => session.username, shrinks: true },
  { title: 'APPLICATION', value: (session) => session.application_name, shrinks: true },
  {
    title: 'STATE',
    value: (session) => session.state.replaceAll('_', ' '),
    style: (state) =>
      state === 'active' ? 'green' : state === 'idle in transaction' ? 'yellow' : undefined,
  },
  {
    title: 'AGE',
    value: (session) => session.age_seconds ?? undefined,
    write: writeAge,
    order: 'descending',
  },
  {
    title: 'TXN AGE',
    value: (session) => session.transaction_age_seconds ?? undefined,
    write: writeAge,
    order: 'descending',
    style: (age) => (typeof age === 'number' && age > OLD_SECONDS ? 'red' : undefined),
  },
  {
    title: 'QUERY AGE',
    value: (session) => session.query_age_seconds ?? undefined,
    write: writeAge,
    order: 'descending',
  },
  {
    title: 'RETRIES',
    value: ({ active_txn: txn }) =>
      txn === null ? undefined : (txn.num_retries ?? 0) + (txn.num_auto_retries ?? 0),
    write: writeCount,
    order: 'descending',
  },
  {
    title: 'MEMORY',
    value: (session) => session.alloc_bytes,
    write: writeBytes,
    order: 'descending',
  },
];

export const CLIENT_COLUMNS: readonly Column<Session>[] = [
  { title: 'CLIENT', value: (session) => session.client_address },
];

/** What runs now, else what ran last. */
export const SQL_COLUMNS: readonly Column<Session>[] = [
  {
    title: 'SQL',
    value: (session) => session.active_queries[0]?.sql ?? session.last_active_query,
    shrinks: true,
  },
];
