import { readSession } from '../../collectors/sessions/session.ts';
import {
  array,
  boolean,
  bytes,
  type Infer,
  integer,
  number,
  object,
  optional,
  raw,
  string,
  time,
} from '../../json/shape.ts';

const TEXT = { sql: string(), sql_no_constants: string() };
const LAST_TEXT = { last_active_query: string(), last_active_query_no_constants: string() };
const CLIENT = { client_address: string() };

/** But for its description, in which a key may stand. */
const TRANSACTION = object({
  id: raw(),
  start: time(),
  elapsed_time: optional(integer()),
  implicit: boolean(),
  read_only: boolean(),
  num_statements_executed: integer(),
  num_retries: integer(),
  num_auto_retries: integer(),
  alloc_bytes: integer(),
  max_alloc_bytes: integer(),
  priority: string(),
});

export interface Shown {
  /** Text of statements. */
  readonly sql: boolean;
  /** Addresses of clients. */
  readonly clients: boolean;
}

/** One element of GET /sessions/; text and addresses become values only where they are to be shown. */
export function sessionShape(shown: Shown) {
  const query = object({
    id: string(),
    start: time(),
    elapsed_time: optional(integer()),
    phase: integer(),
    progress: number(),
    is_distributed: boolean(),
    is_full_scan: boolean(),
    database: string(),
    ...(shown.sql ? TEXT : {}),
  });
  return object({
    id: bytes(),
    node_id: integer(),
    username: string(),
    application_name: string(),
    start: time(),
    end: time(),
    status: integer(),
    alloc_bytes: integer(),
    max_alloc_bytes: integer(),
    num_txns_executed: integer(),
    total_active_time: integer(),
    active_queries: array(query),
    active_txn: optional(TRANSACTION),
    ...(shown.clients ? CLIENT : {}),
    ...(shown.sql ? LAST_TEXT : {}),
  });
}

type Element = Infer<ReturnType<typeof sessionShape>>;
type Query = Element['active_queries'][number];

export type Session = ReturnType<typeof toSession>;

const PHASES = ['preparing', 'executing'];

/** A session as JSON: names of the API, ages as the metrics count them. `nowMs` is for servers that send none. */
export function toSession(element: Element, shown: Shown, nowMs: number) {
  const { client_address = '', active_queries: queries, active_txn: transaction } = element;
  const open = readSession({ ...element, client_address }, nowMs);
  return {
    id: element.id,
    node_id: element.node_id,
    username: element.username,
    application_name: element.application_name,
    ...(shown.clients && { client_address }),
    state: open.state,
    start: toTime(element.start),
    age_seconds: open.ageSeconds ?? null,
    transaction_age_seconds: transaction === undefined ? null : open.transactionAgeSeconds,
    query_age_seconds: queries.length === 0 ? null : open.queryAgeSeconds,
    alloc_bytes: element.alloc_bytes,
    max_alloc_bytes: element.max_alloc_bytes,
    num_txns_executed: element.num_txns_executed,
    total_active_seconds: (element.total_active_time ?? 0) / 1e9,
    active_txn:
      transaction === undefined
        ? null
        : { ...transaction, start: toTime(transaction.start), elapsed_time: undefined },
    active_queries: queries.map((query) => toQuery(query, shown)),
    ...(shown.sql && {
      last_active_query: element.last_active_query,
      last_active_query_no_constants: element.last_active_query_no_constants,
    }),
  };
}

function toQuery(query: Query, shown: Shown) {
  return {
    id: query.id,
    start: toTime(query.start),
    phase: PHASES[query.phase ?? -1] ?? `unknown(${query.phase})`,
    progress: query.progress,
    is_distributed: query.is_distributed,
    is_full_scan: query.is_full_scan,
    database: query.database,
    ...(shown.sql && { sql: query.sql, sql_no_constants: query.sql_no_constants }),
  };
}

function toTime(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : new Date(milliseconds).toISOString();
}
