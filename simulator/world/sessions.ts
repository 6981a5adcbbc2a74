export interface ActiveQuery {
  readonly id: string;
  readonly statement: Statement;
  readonly startMs: number;
  readonly phase: 'preparing' | 'executing';
  readonly progress: number;
  readonly fullScan: boolean;
  readonly distributed: boolean;
}

export interface Transaction {
  readonly id: string;
  readonly startMs: number;
  readonly implicit: boolean;
  readonly statements: number;
  /** Contains the automatic ones, unless the transaction has started afresh after an abort. */
  readonly retries: number;
  readonly autoRetries: number;
  readonly allocBytes: number;
  readonly maxAllocBytes: number;
  readonly readOnly: boolean;
}

/** A client's session at one moment. */
export interface Session {
  /** 16 bytes in hexadecimal. */
  readonly id: string;
  readonly nodeId: number;
  readonly username: string;
  readonly clientAddress: string;
  readonly applicationName: string;
  readonly startMs: number;
  /** Closed sessions only. */
  readonly endMs: number | undefined;
  readonly queries: readonly ActiveQuery[];
  readonly transaction: Transaction | undefined;
  readonly lastStatement: Statement;
  readonly allocBytes: number;
  readonly maxAllocBytes: number;
  readonly transactionsExecuted: number;
  readonly totalActiveMs: number;
}

/** active: a query is running; idle in transaction: an open transaction, but no query. */
export type SessionState = 'active' | 'idle_in_transaction' | 'idle' | 'closed';

export function stateOfSession(session: Session): SessionState {
  if (session.endMs !== undefined) return 'closed';
  if (session.queries.length > 0) return 'active';
  return session.transaction === undefined ? 'idle' : 'idle_in_transaction';
}

/** Part of every SQL text of the world, so that tests can search for it where SQL must not occur. */
export const SQL_MARKER = 'sqlmarker';

/** A statement with its constants, and with `_` instead of them. */
export interface Statement {
  readonly sql: string;
  readonly withoutConstants: string;
  readonly summary: string;
}

export const STATEMENTS: readonly Statement[] = [
  {
    sql: `SELECT city, revenue FROM movr.public.rides WHERE rider = '${SQL_MARKER}-constant' AND ${SQL_MARKER} > 7`,
    withoutConstants: `SELECT city, revenue FROM movr.public.rides WHERE (rider = _) AND (${SQL_MARKER} > _)`,
    summary: 'SELECT city, revenue FROM movr.public.rides',
  },
  {
    sql: `UPDATE bank.public.accounts SET ${SQL_MARKER} = 'a<b & "c"' WHERE id = 41`,
    withoutConstants: `UPDATE bank.public.accounts SET ${SQL_MARKER} = _ WHERE id = _`,
    summary: 'UPDATE bank.public.accounts SET ...',
  },
  {
    sql: `INSERT INTO movr.public.vehicles VALUES ('${SQL_MARKER}-constant', 'two\nlines')`,
    withoutConstants: `INSERT INTO movr.public.vehicles VALUES (_, __more1_10__) -- ${SQL_MARKER}`,
    summary: 'INSERT INTO movr.public.vehicles',
  },
];

/** Names for a demo. */
export const PLAIN_APPLICATIONS: readonly string[] = [
  'movr-api',
  'movr-dispatch',
  'reporting',
  'payments',
  'nightly-batch',
];

/** Names that need escaping or cutting: empty, quotes, line feeds, separators, emoji, backslashes, 10 kB. */
export const UNUSUAL_APPLICATIONS: readonly string[] = [
  '',
  'reporting "daily"',
  'two\nlines',
  'a,b={c}',
  '🚕 dispatch',
  'C:\\Program Files\\psql',
  '<script>&amp;',
  'long-'.padEnd(10_240, 'x'),
];

export const INTERNAL_PREFIX = '$ internal';
