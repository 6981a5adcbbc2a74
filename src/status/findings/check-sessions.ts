import { formatCount, formatList, formatPercent, ratio, sum } from '#base';
import { atNodes, type Check } from './check.ts';
import type { Evidence } from './evidence.ts';
import { MAX_NAMED } from './problem.ts';
import { countSessions } from './session-problems.ts';

/** The checks of sessions against the memory of their nodes, and against the requests that wait for locks. */
export const SESSION_CHECKS: readonly Check[] = [
  {
    about: 'nodes',
    alert: 'CrdbSessionMemoryHigh',
    find: atNodes(
      'nodes',
      ({ id, memoryBytes }, { sessions }) =>
        ratio(sessions?.nodes.get(id)?.allocBytes, memoryBytes),
      (share, { session_memory }) => share > session_memory,
      (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    ),
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  },
  {
    about: 'sessions',
    alert: 'CrdbIdleTransactions',
    find: findIdleTransactions,
    next: 'Usually a call to another service within a transaction, or a transaction that an error leaves open. `crdb-exporter sessions --sort txn-age` lists the oldest first.',
  },
];

/** Sessions that wait for their clients within a transaction, while requests wait for locks. */
function findIdleTransactions({ sessions, fresh, thresholds }: Evidence): string | undefined {
  if (sessions === undefined) return undefined;
  const counts = countSessions(sessions);
  const share = ratio(counts.idleInTransaction, sum(Object.values(counts))) ?? 0;
  const stores = fresh.flatMap((node) => [...node.stores.values()]);
  const waiters = sum(
    stores.map((store) => store.get('kv.concurrency.lock_wait_queue_waiters') ?? 0),
  );
  if (share <= thresholds.idle_transactions || waiters <= thresholds.lock_waiters) return undefined;
  const most = sessions.applications
    .filter(({ idle_in_transaction: count }) => count > 0)
    .toSorted((a, b) => b.idle_in_transaction - a.idle_in_transaction)
    .slice(0, MAX_NAMED)
    .map((one) => `${one.application} (${one.user}) ${formatCount(one.idle_in_transaction)}`);
  const names = most.length === 0 ? '' : ` Most: ${formatList(most)}.`;
  return `${formatPercent(share)} of the sessions are idle in a transaction, and ${formatCount(waiters)} requests wait for locks.${names}`;
}
