import { type OpenSession, SESSION_STATES } from './session.ts';

const SUMS = [
  ...SESSION_STATES,
  'allocBytes',
  'activeQueries',
  'openTransactions',
  'retries',
] as const;
const LARGEST = [
  'oldestTransactionSeconds',
  'oldestIdleTransactionSeconds',
  'oldestQuerySeconds',
] as const;

/** The open sessions of one application and user: numbers by state, sums and ages. */
export type ApplicationTally = Record<(typeof SUMS)[number] | (typeof LARGEST)[number], number>;

export function createApplicationTally(): ApplicationTally {
  return {
    active: 0,
    idle_in_transaction: 0,
    idle: 0,
    allocBytes: 0,
    activeQueries: 0,
    openTransactions: 0,
    retries: 0,
    oldestTransactionSeconds: 0,
    oldestIdleTransactionSeconds: 0,
    oldestQuerySeconds: 0,
  };
}

export function tallyOf(session: OpenSession): ApplicationTally {
  const { state, transaction, transactionAgeSeconds } = session;
  return {
    ...createApplicationTally(),
    [state]: 1,
    allocBytes: session.allocBytes,
    activeQueries: session.phases.length,
    openTransactions: transaction === undefined ? 0 : 1,
    retries: session.retries,
    oldestTransactionSeconds: transactionAgeSeconds,
    oldestIdleTransactionSeconds: state === 'idle_in_transaction' ? transactionAgeSeconds : 0,
    oldestQuerySeconds: session.queryAgeSeconds,
  };
}

/** Adds what another tally counted; ages become the larger of the two. */
export function addTally(into: ApplicationTally, more: ApplicationTally): void {
  for (const name of SUMS) into[name] += more[name];
  for (const name of LARGEST) into[name] = Math.max(into[name], more[name]);
}

/** Open sessions in any state. */
export function sizeOf(tally: ApplicationTally): number {
  return SESSION_STATES.reduce((sum, state) => sum + tally[state], 0);
}
