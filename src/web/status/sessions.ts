import type { Figures } from './figures.ts';

interface SessionsByState {
  readonly active: number;
  readonly idleInTransaction: number;
  readonly idle: number;
}

/** Sessions of one application and user, as their labels on /metrics. */
export interface ApplicationStatus extends SessionsByState {
  readonly application: string;
  readonly user: string;
  readonly openTransactions: number;
  /** 0 when there is none, at the time of the poll. */
  readonly oldestTransactionSeconds: number;
  /** Of transactions in which no query is running. */
  readonly oldestIdleTransactionSeconds: number;
}

export interface SessionsStatus extends SessionsByState {
  readonly oldestTransactionSeconds: number;
  readonly oldestQuerySeconds: number;
  /** Nodes whose sessions the answering node did not get. */
  readonly missingNodes: readonly number[];
  /** The one with the oldest transaction first. */
  readonly applications: readonly ApplicationStatus[];
}

/** Undefined while there is no present data of the sessions. */
export function readSessions(figures: Figures): SessionsStatus | undefined {
  if (figures.all('crdb_sessions_by_age').length === 0) return undefined;
  const missing = figures.all('crdb_session_fanout_errors').filter(({ value }) => value > 0);
  return {
    ...readStates(figures.by('state', 'crdb_sessions')),
    oldestTransactionSeconds: readLargest(figures, 'crdb_oldest_transaction_age_seconds'),
    oldestQuerySeconds: readLargest(figures, 'crdb_oldest_query_age_seconds'),
    missingNodes: missing.map(({ labels }) => Number(labels['node_id'])),
    applications: readApplications(figures),
  };
}

function readStates(counts: ReadonlyMap<string, number>): SessionsByState {
  return {
    active: counts.get('active') ?? 0,
    idleInTransaction: counts.get('idle_in_transaction') ?? 0,
    idle: counts.get('idle') ?? 0,
  };
}

function readLargest(figures: Figures, family: string): number {
  return figures.all(family).reduce((largest, { value }) => Math.max(largest, value), 0);
}

function readApplications(figures: Figures): readonly ApplicationStatus[] {
  const pairs = new Map<string, Map<string, number>>();
  for (const { labels, value } of figures.all('crdb_application_sessions')) {
    const pair = JSON.stringify([labels['application'], labels['user']]);
    const states = pairs.get(pair) ?? new Map<string, number>();
    pairs.set(pair, states.set(labels['state'] ?? '', value));
  }
  return Array.from(pairs, ([pair, states]): ApplicationStatus => {
    const [application = '', user = '']: readonly string[] = JSON.parse(pair);
    const valueOf = (family: string): number => figures.value(family, { application, user }) ?? 0;
    return {
      application,
      user,
      ...readStates(states),
      openTransactions: valueOf('crdb_application_open_transactions'),
      oldestTransactionSeconds: valueOf('crdb_application_oldest_transaction_age_seconds'),
      oldestIdleTransactionSeconds: valueOf('crdb_application_oldest_idle_transaction_age_seconds'),
    };
  }).toSorted((a, b) => b.oldestTransactionSeconds - a.oldestTransactionSeconds);
}
