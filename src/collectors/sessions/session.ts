import {
  array,
  boolean,
  type Infer,
  integer,
  object,
  optional,
  string,
  time,
} from '../../json/shape.ts';

const transaction = object({
  start: time(),
  implicit: boolean(),
  num_retries: integer(),
  num_auto_retries: integer(),
  elapsed_time: optional(integer()),
});

/** Neither SQL text nor ids: what is not named here never becomes a value. */
export const sessionShape = object({
  node_id: integer(),
  username: string(),
  client_address: string(),
  application_name: string(),
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

type SessionElement = Infer<typeof sessionShape>;

/** active: a query is running; idle_in_transaction: none, but an open transaction; idle: neither. */
export const SESSION_STATES = ['active', 'idle_in_transaction', 'idle'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** Indexed by the phase that the server sends; `other` is any number that is not known here. */
export const PHASES = ['preparing', 'executing', 'other'] as const;
export type Phase = (typeof PHASES)[number];

export const TRANSACTION_KINDS = ['explicit', 'implicit'] as const;
export type TransactionKind = (typeof TRANSACTION_KINDS)[number];

/** What an open session adds to the counts. */
export interface OpenSession {
  readonly nodeId: number;
  readonly clientAddress: string;
  readonly state: SessionState;
  readonly allocBytes: number;
  readonly maxAllocBytes: number;
  readonly phases: readonly Phase[];
  readonly transaction: TransactionKind | undefined;
  readonly retries: number;
  /** Undefined when the server did not say when the session began. */
  readonly ageSeconds: number | undefined;
  /** 0 without a transaction. */
  readonly transactionAgeSeconds: number;
  /** Of the oldest running query; 0 without one. */
  readonly queryAgeSeconds: number;
}

const CLOSED = 1;

/** Servers list recently closed sessions, too; those that know how are asked not to. */
export function isClosed({ status, end }: SessionElement): boolean {
  return status === CLOSED || end !== undefined;
}

/** `nowMs` is the wall clock, for servers that send no elapsed time. */
export function readSession(session: SessionElement, nowMs: number): OpenSession {
  const { active_queries: queries, active_txn: txn } = session;
  return {
    nodeId: session.node_id ?? 0,
    clientAddress: session.client_address ?? '',
    state: stateOf(session),
    allocBytes: session.alloc_bytes ?? 0,
    maxAllocBytes: session.max_alloc_bytes ?? 0,
    phases: queries.map(({ phase = -1 }) => (phase === 0 || phase === 1 ? PHASES[phase] : 'other')),
    transaction: txn && (txn.implicit === true ? 'implicit' : 'explicit'),
    retries: (txn?.num_retries ?? 0) + (txn?.num_auto_retries ?? 0),
    ageSeconds: session.start === undefined ? undefined : ageOf({ start: session.start }, nowMs),
    transactionAgeSeconds: txn === undefined ? 0 : ageOf(txn, nowMs),
    queryAgeSeconds: queries.reduce((oldest, query) => Math.max(oldest, ageOf(query, nowMs)), 0),
  };
}

/** From what is going on, not from `status`: old servers have none, and it does not tell these states apart. */
function stateOf(session: SessionElement): SessionState {
  if (session.active_queries.length > 0) return 'active';
  return session.active_txn === undefined ? 'idle' : 'idle_in_transaction';
}

/** Seconds; never negative, whatever the two clocks say. */
function ageOf(
  thing: { readonly elapsed_time?: number | undefined; readonly start: number | undefined },
  nowMs: number,
): number {
  const { elapsed_time: elapsedNs, start = nowMs } = thing;
  return Math.max(0, elapsedNs === undefined ? (nowMs - start) / 1000 : elapsedNs / 1e9);
}
