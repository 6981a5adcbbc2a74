import type { Sheet } from '../../metrics/sheet.ts';
import { addTally, type ApplicationTally, createApplicationTally } from './application-tally.ts';
import { type ApplicationTallies, labelsOfPair, type Pair, REST } from './applications.ts';
import * as families from './families.ts';
import type { Membership } from './membership.ts';
import type { ClusterTally, NodeTally } from './node-tally.ts';
import { PHASES, SESSION_STATES, TRANSACTION_KINDS } from './session.ts';

/** Writes what was counted by node and for the whole cluster. */
export function publishTally(sheet: Sheet, { nodes, byAge }: ClusterTally): void {
  for (const [id, node] of [...nodes].toSorted(([a], [b]) => a - b)) {
    publishNode(sheet, { node_id: String(id) }, node);
  }
  for (const [bound, count] of byAge) {
    sheet.set(families.BY_AGE, { upper: bound === Infinity ? '+Inf' : String(bound) }, count);
  }
}

function publishNode(sheet: Sheet, labels: { readonly node_id: string }, node: NodeTally): void {
  for (const state of SESSION_STATES) {
    sheet.set(families.SESSIONS, { ...labels, state }, node.states[state]);
  }
  sheet.set(families.ALLOC, labels, node.allocBytes);
  sheet.set(families.MAX_ALLOC, labels, node.maxAllocBytes);
  sheet.set(families.LARGEST_ALLOC, labels, node.largestAllocBytes);
  for (const phase of PHASES) {
    sheet.set(families.ACTIVE_QUERIES, { ...labels, phase }, node.phases[phase]);
  }
  for (const kind of TRANSACTION_KINDS) {
    sheet.set(families.OPEN_TRANSACTIONS, { ...labels, kind }, node.transactions[kind]);
  }
  sheet.set(families.OLDEST_TRANSACTION, labels, node.oldestTransactionSeconds);
  sheet.set(families.OLDEST_QUERY, labels, node.oldestQuerySeconds);
  sheet.set(families.CLIENT_ADDRESSES, labels, node.clientHosts.size);
}

/** Writes for each node whether its sessions are in the answer. */
export function publishFanout(
  sheet: Sheet,
  answered: ReadonlySet<number>,
  failed: ReadonlySet<number>,
): void {
  const ids = [...new Set([...answered, ...failed])].filter((id) => id > 0);
  for (const id of ids.toSorted((a, b) => a - b)) {
    sheet.set(families.FANOUT_ERRORS, { node_id: String(id) }, failed.has(id) ? 1 : 0);
  }
}

/** Writes the rest and the members; a member without sessions shows zeros. */
export function publishApplications(
  sheet: Sheet,
  { byPair, rest }: ApplicationTallies,
  members: Membership,
): void {
  const others = createApplicationTally();
  addTally(others, rest);
  for (const [pair, tally] of byPair) {
    if (!members.has(pair)) addTally(others, tally);
  }
  publishPair(sheet, REST, others);
  for (const pair of members.keys()) {
    publishPair(sheet, pair, byPair.get(pair) ?? createApplicationTally());
  }
}

function publishPair(sheet: Sheet, pair: Pair, tally: ApplicationTally): void {
  const labels = labelsOfPair(pair);
  for (const state of SESSION_STATES) {
    sheet.set(families.APPLICATION_SESSIONS, { ...labels, state }, tally[state]);
  }
  sheet.set(families.APPLICATION_ALLOC, labels, tally.allocBytes);
  sheet.set(families.APPLICATION_QUERIES, labels, tally.activeQueries);
  sheet.set(families.APPLICATION_TRANSACTIONS, labels, tally.openTransactions);
  sheet.set(families.APPLICATION_RETRIES, labels, tally.retries);
  sheet.set(families.APPLICATION_OLDEST_TRANSACTION, labels, tally.oldestTransactionSeconds);
  sheet.set(
    families.APPLICATION_OLDEST_IDLE_TRANSACTION,
    labels,
    tally.oldestIdleTransactionSeconds,
  );
  sheet.set(families.APPLICATION_OLDEST_QUERY, labels, tally.oldestQuerySeconds);
}
