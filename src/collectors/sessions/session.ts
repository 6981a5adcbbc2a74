import {
  array,
  boolean,
  type Infer,
  integer,
  nameText,
  number,
  object,
  optional,
  raw,
  string,
  time,
} from '#json';

const transaction = object({
  start: time(),
  implicit: boolean(),
  num_retries: integer(),
  num_auto_retries: integer(),
  elapsed_time: optional(integer()),
});

/** The transaction without its description, which may hold a key. */
const transactionDetails = object({
  id: raw(),
  ...transaction.fields,
  read_only: boolean(),
  num_statements_executed: integer(),
  alloc_bytes: integer(),
  max_alloc_bytes: integer(),
  priority: string(),
});

/** Neither SQL text nor ids: fields that are not listed here never become values. */
export const sessionShape = object({
  node_id: integer(),
  username: nameText(),
  client_address: nameText(),
  application_name: nameText(),
  active_queries: array(
    object({ phase: integer(), start: time(), elapsed_time: optional(integer()) }),
  ),
  active_txn: optional(transaction),
  start: time(),
  alloc_bytes: integer(),
  max_alloc_bytes: integer(),
  status: integer(),
  end: time(),
});

/** A session as the command `sessions` shows it; SQL text becomes values only if it is to be shown, addresses never. */
export function sessionDetails(showSql = false) {
  const { client_address: _address, ...session } = sessionShape.fields;
  const queryText = { sql: string(), sql_no_constants: string() };
  const lastQueryText = { last_active_query: string(), last_active_query_no_constants: string() };
  const query = object({
    id: string(),
    start: time(),
    elapsed_time: optional(integer()),
    phase: integer(),
    progress: number(),
    is_distributed: boolean(),
    is_full_scan: boolean(),
    database: nameText(),
    ...(showSql ? queryText : {}),
  });
  return object({
    ...session,
    id: raw(),
    num_txns_executed: integer(),
    total_active_time: integer(),
    active_queries: array(query),
    active_txn: optional(transactionDetails),
    ...(showSql ? lastQueryText : {}),
  });
}

type SessionElement = Infer<typeof sessionShape>;

/** active: a query is running; idle_in_transaction: an open transaction without a query; idle: neither. */
export const SESSION_STATES = ['active', 'idle_in_transaction', 'idle'] as const;
/** Phases of queries, indexed by the server's number. */
export const QUERY_PHASES = ['preparing', 'executing'] as const;
/** `other` is any number beyond. */
export const PHASES = [...QUERY_PHASES, 'other'] as const;
export const TRANSACTION_KINDS = ['explicit', 'implicit'] as const;

const SUMS = [
  ...SESSION_STATES,
  ...PHASES,
  ...TRANSACTION_KINDS,
  'allocBytes',
  'maxAllocBytes',
  'retries',
] as const;
/** 0 where there is no such transaction or query. */
const MAXIMA = [
  'largestAllocBytes',
  'oldestTransactionSeconds',
  'oldestIdleTransactionSeconds',
  'oldestQuerySeconds',
] as const;

/** Open sessions in numbers: sessions by state, queries by phase, transactions by kind, sums and maxima. */
export type SessionTally = Record<(typeof SUMS)[number] | (typeof MAXIMA)[number], number>;

/** The open sessions of a node. */
export interface NodeTally extends SessionTally {
  /** Distinct hosts of its clients. */
  clientHosts: number;
}

export function createTally(): SessionTally {
  return {
    active: 0,
    idle_in_transaction: 0,
    idle: 0,
    preparing: 0,
    executing: 0,
    other: 0,
    explicit: 0,
    implicit: 0,
    allocBytes: 0,
    maxAllocBytes: 0,
    retries: 0,
    largestAllocBytes: 0,
    oldestTransactionSeconds: 0,
    oldestIdleTransactionSeconds: 0,
    oldestQuerySeconds: 0,
  };
}

export function addTally(into: SessionTally, more: SessionTally): void {
  for (const name of SUMS) into[name] += more[name];
  for (const name of MAXIMA) into[name] = Math.max(into[name], more[name]);
}

/** Number of open sessions in any state. */
export function sizeOf(tally: SessionTally): number {
  return SESSION_STATES.reduce((sum, state) => sum + tally[state], 0);
}

const CLOSED = 1;

/**
 * The figures of one session, which sums add up: one that is not known is NaN, and so are its sums. Undefined for a session that is
 * closed, which old servers list although the request excludes it. `nowMs` is the clock of the server, for starts without elapsed time.
 */
export function readSession(session: Omit<SessionElement, 'client_address'>, nowMs: number) {
  if (session.status === CLOSED || session.end !== undefined) return undefined;
  const {
    active_queries: queries,
    active_txn: txn,
    start,
    alloc_bytes: allocBytes = NaN,
  } = session;
  // Not from `status`: old servers send none, and it does not distinguish these states.
  const idleState = txn === undefined ? 'idle' : 'idle_in_transaction';
  const state: (typeof SESSION_STATES)[number] = queries.length > 0 ? 'active' : idleState;
  const transactionSeconds = txn === undefined ? 0 : ageOf(txn, nowMs);
  const tally: SessionTally = {
    ...createTally(),
    [state]: 1,
    allocBytes,
    maxAllocBytes: session.max_alloc_bytes ?? NaN,
    retries: txn === undefined ? 0 : (retriesOf(txn) ?? NaN),
    largestAllocBytes: allocBytes,
    oldestTransactionSeconds: transactionSeconds,
    oldestIdleTransactionSeconds: state === 'idle_in_transaction' ? transactionSeconds : 0,
    oldestQuerySeconds: queries.reduce((max, query) => Math.max(max, ageOf(query, nowMs)), 0),
  };
  for (const { phase = -1 } of queries) tally[PHASES[phase] ?? 'other'] += 1;
  if (txn !== undefined) tally[txn.implicit === true ? 'implicit' : 'explicit'] = 1;
  return {
    ...tally,
    state,
    /** Infinity when the server did not send the start of the session. */
    ageSeconds: ageOf({ start }, nowMs, Infinity),
    /** Ages of its running queries, as above. */
    queryAges: queries.map((query) => ageOf(query, nowMs, Infinity)),
  };
}

/**
 * How often the transaction was restarted. The first number contains the second, unless the transaction has started
 * afresh after an abort: 3 and 2 are 3 restarts, 0 and 2 are 2. Undefined where one of them is not known.
 */
export function retriesOf({
  num_retries: all,
  num_auto_retries: automatic,
}: Pick<Infer<typeof transaction>, 'num_retries' | 'num_auto_retries'>): number | undefined {
  return all === undefined || automatic === undefined ? undefined : Math.max(all, automatic);
}

/** Seconds; never negative, however the two clocks differ. */
function ageOf(
  { start, elapsed_time: ns }: Partial<SessionElement['active_queries'][number]>,
  nowMs: number,
  unknown = 0,
): number {
  if (ns !== undefined) return Math.max(0, ns / 1e9);
  return start === undefined ? unknown : Math.max(0, (nowMs - start) / 1000);
}

/** The host of `10.0.0.1:5432` or `[::1]:5432`. */
export function hostOf(address: string): string {
  return address.replace(/:\d*$/, '');
}
