import { BATCH_APPLICATIONS, type Thresholds } from '#alerts';
import {
  capitalize,
  formatCount,
  formatDuration,
  formatNodes,
  plural,
  quoteArgument,
  sum,
  toTime,
} from '#base';
import { grantee } from '#cockroach';
import { type NodesResult, SESSION_STATES, type SessionsResult } from '#collectors';
import type { ClusterConfig } from '#config';
import type { NodesStatus } from './node-status.ts';
import type { ApplicationStatus, Problem, SessionCounts, SessionsStatus } from './status.ts';

/** The sessions of the cluster by state. */
export function countSessions({ nodes }: Pick<SessionsResult, 'nodes'>): SessionCounts {
  const total = (state: 'active' | 'idle_in_transaction' | 'idle') =>
    sum([...nodes.values()].map((tally) => tally[state]));
  return {
    active: total('active'),
    idleInTransaction: total('idle_in_transaction'),
    idle: total('idle'),
  };
}

export function readSessions({ nodes, failedNodes, applications }: SessionsResult): SessionsStatus {
  return {
    ...countSessions({ nodes }),
    missingNodes: [...failedNodes].toSorted((a, b) => a - b),
    applications: applications
      .map((tally) => ({
        application: tally.application,
        user: tally.user,
        active: tally.active,
        idleInTransaction: tally.idle_in_transaction,
        idle: tally.idle,
        openTransactions: tally.explicit + tally.implicit,
        oldestTransactionSeconds: tally.oldestTransactionSeconds,
        oldestIdleTransactionSeconds: tally.oldestIdleTransactionSeconds,
      }))
      .toSorted((a, b) => b.oldestTransactionSeconds - a.oldestTransactionSeconds),
  };
}

/** Problems of open transactions; `polledAt` is when their ages were measured. */
export function sessionProblems(
  { applications }: SessionsStatus,
  cluster: string,
  polledAt: string | undefined,
  thresholds: Thresholds,
): readonly Problem[] {
  const [oldest, ...others] = applications
    .flatMap((application) => {
      const found = findOld(application, thresholds);
      return found === undefined ? [] : [{ ...application, ...found }];
    })
    .toSorted((a, b) => b.age - a.age);
  if (oldest === undefined) return [];
  const { application, user, age, limit, oldestIdleTransactionSeconds } = oldest;
  const isIdle = age === oldestIdleTransactionSeconds;
  const more = others.length > 0 ? ` ${others.length} more have an old one.` : '';
  return [
    {
      key: 'old transactions',
      about: 'sessions',
      alert: 'CrdbTransactionTooOld',
      text: `Application ${application} of user ${user} has kept a transaction open${isIdle ? ' without a query' : ''} for more than ${formatDuration(limit)}.${more}`,
      next: `It holds its locks. \`crdb-exporter sessions --cluster ${quoteArgument(cluster)} --older-than 5m\` lists the sessions.`,
      since: polledAt && toTime(Date.parse(polledAt) - (age - limit) * 1000),
    },
  ];
}

/**
 * Nodes whose sessions are missing. Of a node that is live by `list` it is the first sign that it has gone down: a node that
 * has crashed counts as live for up to 30 s, also in a list that is later than the sessions.
 */
export function missingSessions(
  { missingNodes }: SessionsStatus,
  list: NodesStatus['list'] = [],
): readonly Problem[] {
  if (missingNodes.length === 0) return [];
  const live = list.filter(({ id, status }) => status === 'live' && missingNodes.includes(id));
  const nodes = capitalize(formatNodes(live.map(({ id }) => id)));
  const are = plural(live.length, 'it is up and does', 'they are up and do');
  const gone = `${nodes} may have just gone down: stop no other node in the first minute. If a later list of nodes still has ${plural(live.length, 'it', 'them')} as live, ${are} not respond: check for overload there.`;
  return [
    {
      key: 'missing sessions',
      about: 'sessions',
      text: `The sessions of ${formatNodes(missingNodes)} are missing: the responding node could not read them.`,
      next: live.length === 0 ? 'Expected while a node is down.' : gone,
    },
  ];
}

/** The age of a transaction that is too old, and its limit; undefined without one. Transactions of batch jobs may be long. */
function findOld(
  { application, oldestTransactionSeconds, oldestIdleTransactionSeconds }: ApplicationStatus,
  thresholds: Thresholds,
): { readonly age: number; readonly limit: number } | undefined {
  const isBatch = BATCH_APPLICATIONS.test(application);
  if (!isBatch && oldestIdleTransactionSeconds > thresholds.idle_transaction_age)
    return { age: oldestIdleTransactionSeconds, limit: thresholds.idle_transaction_age };
  const limit = isBatch ? thresholds.batch_transaction_age : thresholds.transaction_age;
  return oldestTransactionSeconds > limit ? { age: oldestTransactionSeconds, limit } : undefined;
}

/** Seen sessions are few when they are fewer than this share of the connections, as in CrdbSessionsHidden. */
const FEW_SESSIONS = 0.2;

/**
 * The problem that the user sees no sessions of others although clients are connected: only its own, without an error.
 * Without the name of the user few sessions of one user show it: 2 of `monitoring`, and 450 connections.
 */
export function findHiddenSessions(
  { cluster_api: login }: ClusterConfig,
  listed: SessionsResult,
  known: NodesResult,
): Problem | undefined {
  const read = known.nodes.filter(({ id, isFresh }) => isFresh && !listed.failedNodes.has(id));
  const connections = sum(read.map(({ metrics }) => metrics.get('sql.conns') ?? 0));
  if (connections === 0) return undefined;
  const counts = new Map<string, number>();
  for (const application of listed.applications) {
    const sessions = sum(SESSION_STATES.map((state) => application[state]));
    if (sessions === 0) continue;
    counts.set(application.user, (counts.get(application.user) ?? 0) + sessions);
  }
  const text = describeSeen(login?.username?.toLowerCase(), counts, connections);
  if (text === undefined) return undefined;
  return {
    key: 'own sessions',
    about: 'exporter',
    alert: 'CrdbSessionsHidden',
    text: `${text}, although the nodes count ${formatCount(connections)} connections.`,
    next: `Run ${grantOfSessions(login)}`,
    affects: ['sessions'],
  };
}

/** The statement after which the user of the API sees the sessions of others. */
export function grantOfSessions(login: ClusterConfig['cluster_api']): string {
  return `GRANT SYSTEM VIEWACTIVITYREDACTED TO ${grantee(login)};`;
}

/** What is seen instead of all sessions; undefined where those of others are seen. `counts` is by user. */
function describeSeen(
  user: string | undefined,
  counts: ReadonlyMap<string, number>,
  connections: number,
): string | undefined {
  const [first, ...others] = counts;
  if (user !== undefined) {
    const isOwn = [...counts.keys()].every((name) => name === user);
    return isOwn ? `The user ${user} sees only its own sessions` : undefined;
  }
  if (first === undefined) return 'The list of sessions is empty';
  const [name, sessions] = first;
  const isFew = others.length === 0 && sessions < FEW_SESSIONS * connections;
  return isFew
    ? `The list of sessions has only the ${formatCount(sessions)} of the user ${name}`
    : undefined;
}
