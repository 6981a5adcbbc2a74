// The sessions of a cluster as page and JSON show them; docs/api-status.schema.json describes every member.

/** Sessions by state. */
type SessionCounts = Readonly<Record<'active' | 'idleInTransaction' | 'idle', number>>;

/** The sessions of a cluster. */
export interface SessionsStatus extends SessionCounts {
  readonly missingNodes: readonly number[];
  /** The applications by name and user, as on /metrics; oldest transaction first. */
  readonly applications: readonly ApplicationStatus[];
}

export interface ApplicationStatus extends SessionCounts {
  readonly application: string;
  readonly user: string;
  readonly openTransactions: number;
  /** At the time of the poll; 0 without open transactions. */
  readonly oldestTransactionSeconds: number;
  readonly oldestIdleTransactionSeconds: number;
}
