import type { Statement } from './session-texts.ts';

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
