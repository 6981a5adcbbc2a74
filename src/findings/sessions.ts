import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { SessionsResult } from '../collectors/sessions/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatList, formatNumber, formatPercent, quoteArgument } from '../format.ts';
import { findNodes, type NodeCondition, ratio } from './load-problems.ts';
import { type Problem, toTime } from './problem.ts';

/** The sessions of a cluster. */
export interface SessionsStatus extends SessionCounts {
  readonly oldestTransactionSeconds: number;
  readonly oldestQuerySeconds: number;
  /** Nodes whose sessions the responding node could not read. */
  readonly missingNodes: readonly number[];
  /** The applications by name and user, as on /metrics; oldest transaction first. */
  readonly applications: readonly ApplicationStatus[];
}

interface SessionCounts {
  readonly active: number;
  readonly idleInTransaction: number;
  readonly idle: number;
}

interface ApplicationStatus extends SessionCounts {
  readonly application: string;
  readonly user: string;
  readonly openTransactions: number;
  /** At the time of the poll; 0 without open transactions. */
  readonly oldestTransactionSeconds: number;
  /** The oldest transaction in which no query is running. */
  readonly oldestIdleTransactionSeconds: number;
}

/** Applications whose transactions may take long, as the setting batch_applications of the rules. */
export const BATCH_APPLICATIONS = /backup|restore|dump|import|export|migrat|etl|batch|report/i;

export function readSessions({ nodes, failedNodes, applications }: SessionsResult): SessionsStatus {
  const tallies = [...nodes.values()];
  return {
    ...countStates(tallies),
    oldestTransactionSeconds: largestOf(tallies, (node) => node.oldestTransactionSeconds),
    oldestQuerySeconds: largestOf(tallies, (node) => node.oldestQuerySeconds),
    missingNodes: [...failedNodes].filter((id) => id > 0).toSorted((a, b) => a - b),
    applications: applications
      .map((one) => ({
        application: one.application,
        user: one.user,
        ...countStates([one]),
        openTransactions: one.openTransactions,
        oldestTransactionSeconds: one.oldestTransactionSeconds,
        oldestIdleTransactionSeconds: one.oldestIdleTransactionSeconds,
      }))
      .toSorted((a, b) => b.oldestTransactionSeconds - a.oldestTransactionSeconds),
  };
}

/** 0 without any. */
function largestOf<Tally>(tallies: readonly Tally[], read: (tally: Tally) => number): number {
  return tallies.reduce((most, tally) => Math.max(most, read(tally)), 0);
}

function countStates(
  counts: readonly Readonly<Record<'active' | 'idle_in_transaction' | 'idle', number>>[],
): SessionCounts {
  const total = { active: 0, idleInTransaction: 0, idle: 0 };
  for (const { active, idle_in_transaction, idle } of counts) {
    total.active += active;
    total.idleInTransaction += idle_in_transaction;
    total.idle += idle;
  }
  return total;
}

export function sessionProblems(
  { applications, missingNodes }: SessionsStatus,
  cluster: string,
  polledAt: string | undefined,
  thresholds: Thresholds,
): readonly Problem[] {
  const issues: Problem[] = [];
  const oldSeconds = (one: ApplicationStatus) => findOldSeconds(one, thresholds);
  const [oldest, ...others] = applications
    .filter((one) => oldSeconds(one) !== undefined)
    .toSorted((a, b) => (oldSeconds(b) ?? 0) - (oldSeconds(a) ?? 0));
  const ageSeconds = oldest && oldSeconds(oldest);
  if (oldest !== undefined && ageSeconds !== undefined) {
    const isIdle = ageSeconds === oldest.oldestIdleTransactionSeconds;
    const more = others.length > 0 ? ` ${others.length} more have an old one.` : '';
    issues.push({
      key: 'old transactions',
      about: 'sessions',
      alert: 'CrdbTransactionTooOld',
      text: `Application ${oldest.application} of user ${oldest.user} keeps a transaction open${isIdle ? ' without a query' : ''}.${more}`,
      next: `It holds its locks. \`crdb-exporter sessions --cluster ${quoteArgument(cluster)} --older-than 5m\` lists the sessions.`,
      since: polledAt && toTime(Date.parse(polledAt) - ageSeconds * 1000),
    });
  }
  if (missingNodes.length > 0) {
    issues.push({
      key: 'missing sessions',
      about: 'sessions',
      text: `The sessions of ${missingNodes.length === 1 ? 'node' : 'nodes'} ${formatList(missingNodes)} are missing: the responding node could not read them.`,
      next: 'Expected while a node is down.',
    });
  }
  return issues;
}

/** The age of a transaction that is too old; undefined without one. Transactions of batch jobs may be long. */
function findOldSeconds(
  {
    application,
    oldestTransactionSeconds: any,
    oldestIdleTransactionSeconds: idle,
  }: ApplicationStatus,
  thresholds: Thresholds,
): number | undefined {
  if (BATCH_APPLICATIONS.test(application)) {
    return any > thresholds.batch_transaction_age ? any : undefined;
  }
  if (idle > thresholds.idle_transaction_age) return idle;
  return any > thresholds.transaction_age ? any : undefined;
}

/** Statements and memory of sessions by node, against its CPUs and its memory. */
export function sessionLoadProblems(
  { nodes: tallies }: SessionsResult,
  listed: NodesResult,
  thresholds: Thresholds,
): readonly Problem[] {
  const tallyOf = (id: number) => tallies.get(id);
  const statements: NodeCondition = {
    alert: 'CrdbStatementConcurrencyHigh',
    normalSeconds: 900,
    read(node) {
      const executing = tallyOf(node.id)?.executing ?? 0;
      return executing > thresholds.statements ? ratio(executing, node.cpus) : undefined;
    },
    isOver: (share) => share > thresholds.statements_per_cpu,
    text: (share) => `up to ${formatNumber(share)} statements per CPU are executing`,
    next: 'Limit the connection pools: more concurrency only adds latency.',
  };
  const memory: NodeCondition = {
    alert: 'CrdbSessionMemoryHigh',
    normalSeconds: 600,
    read: ({ id, memoryBytes }) => ratio(tallyOf(id)?.allocBytes, memoryBytes),
    isOver: (share) => share > thresholds.session_memory,
    text: (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  };
  return [statements, memory].flatMap((condition) =>
    findNodes(condition, listed.nodes, thresholds),
  );
}
