import type { Figures } from './figures.ts';

interface SessionsByState {
  readonly active: number;
  readonly idleInTransaction: number;
  readonly idle: number;
}

/** Sessions of one application and user, as their labels on /metrics. */
interface ApplicationStatus extends SessionsByState {
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

type Labels = Readonly<Record<string, string>>;

function readApplications(figures: Figures): readonly ApplicationStatus[] {
  const pairs = Map.groupBy(figures.all('crdb_application_sessions'), (one) => pairOf(one.labels));
  const open = byPair(figures, 'crdb_application_open_transactions');
  const oldest = byPair(figures, 'crdb_application_oldest_transaction_age_seconds');
  const idle = byPair(figures, 'crdb_application_oldest_idle_transaction_age_seconds');
  return Array.from(pairs, ([pair, states]): ApplicationStatus => {
    const { application = '', user = '' } = states[0]?.labels ?? {};
    const counts = states.map(({ labels, value }) => [labels['state'] ?? '', value] as const);
    return {
      application,
      user,
      ...readStates(new Map(counts)),
      openTransactions: open.get(pair) ?? 0,
      oldestTransactionSeconds: oldest.get(pair) ?? 0,
      oldestIdleTransactionSeconds: idle.get(pair) ?? 0,
    };
  }).toSorted((a, b) => b.oldestTransactionSeconds - a.oldestTransactionSeconds);
}

function byPair(figures: Figures, family: string): ReadonlyMap<string, number> {
  return new Map(figures.all(family).map(({ labels, value }) => [pairOf(labels), value]));
}

/** Clean label values hold no newline. */
function pairOf({ application, user }: Labels): string {
  return `${application}\n${user}`;
}
