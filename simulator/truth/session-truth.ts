import type { ClusterNode } from '../world/nodes.ts';
import { isInternal, sessionsOfNode } from '../world/session-list.ts';
import { stateOfSession, type Session } from '../world/sessions.ts';
import { listedNodes, type WorldState } from '../world/state.ts';

interface SessionSums {
  active: number;
  idleInTransaction: number;
  idle: number;
  allocBytes: number;
  activeQueries: number;
  /** Start times in ms since the epoch; undefined when there is none. */
  oldestTransactionMs: number | undefined;
  oldestIdleTransactionMs: number | undefined;
  oldestQueryMs: number | undefined;
  explicitTransactions: number;
  implicitTransactions: number;
  retries: number;
}

interface NodeSessionTruth extends SessionSums {
  readonly nodeId: number;
  readonly maxAllocBytes: number;
  readonly largestAllocBytes: number;
  readonly preparing: number;
  readonly executing: number;
  readonly clientHosts: number;
}

interface ApplicationTruth extends SessionSums {
  readonly application: string;
  readonly user: string;
}

export interface SessionTruth {
  /** Open sessions of clients, without internal ones. */
  readonly open: number;
  readonly closed: number;
  readonly internal: number;
  /** Nodes with open sessions. */
  readonly byNode: readonly NodeSessionTruth[];
  readonly byApplication: readonly ApplicationTruth[];
  /** Nodes whose sessions are unavailable. */
  readonly failedNodeIds: readonly number[];
  readonly startsMs: readonly number[];
  /** Of running queries. */
  readonly queryStartsMs: readonly number[];
}

/** Counts the sessions on the nodes that can be scanned: those of one user, or all. */
export function sessionTruth(
  state: WorldState,
  scannable: readonly ClusterNode[],
  user?: string,
): SessionTruth {
  const all = scannable
    .flatMap((node) => sessionsOfNode(state, node.id))
    .filter(({ username }) => user === undefined || username === user);
  const clients = all.filter((session) => !isInternal(session));
  const open = clients.filter((session) => session.endMs === undefined);
  const queried = listedNodes(state).filter((node) => node.liveness !== 'decommissioned');
  return {
    open: open.length,
    closed: clients.length - open.length,
    internal: all.length - clients.length,
    byNode: [...Map.groupBy(open, (session) => session.nodeId).values()].map(nodeTruth),
    byApplication: [
      ...Map.groupBy(open, (each) => `${each.applicationName}\0${each.username}`).values(),
    ].map(applicationTruth),
    failedNodeIds: queried.filter((node) => !scannable.includes(node)).map((node) => node.id),
    startsMs: open.map((session) => session.startMs),
    queryStartsMs: open.flatMap(({ queries }) => queries.map((query) => query.startMs)),
  };
}

function nodeTruth(sessions: readonly Session[]): NodeSessionTruth {
  const queries = sessions.flatMap((session) => session.queries);
  return {
    nodeId: sessions[0]?.nodeId ?? 0,
    ...sums(sessions),
    maxAllocBytes: total(sessions.map((session) => session.maxAllocBytes)),
    largestAllocBytes: Math.max(...sessions.map((session) => session.allocBytes)),
    preparing: queries.filter((query) => query.phase === 'preparing').length,
    executing: queries.filter((query) => query.phase === 'executing').length,
    clientHosts: new Set(sessions.map((session) => session.clientAddress.replace(/:\d+$/, '')))
      .size,
  };
}

function applicationTruth(sessions: readonly Session[]): ApplicationTruth {
  const [first] = sessions;
  return {
    application: first?.applicationName ?? '',
    user: first?.username ?? '',
    ...sums(sessions),
  };
}

function sums(sessions: readonly Session[]): SessionSums {
  const inState = (state: string): Session[] =>
    sessions.filter((session) => stateOfSession(session) === state);
  const transactions = sessions.flatMap((session) => session.transaction ?? []);
  const queries = sessions.flatMap((session) => session.queries);
  return {
    active: inState('active').length,
    idleInTransaction: inState('idle_in_transaction').length,
    idle: inState('idle').length,
    allocBytes: total(sessions.map((session) => session.allocBytes)),
    activeQueries: queries.length,
    oldestTransactionMs: oldest(transactions),
    oldestIdleTransactionMs: oldest(
      inState('idle_in_transaction').flatMap((session) => session.transaction ?? []),
    ),
    oldestQueryMs: oldest(queries),
    explicitTransactions: transactions.filter((each) => !each.implicit).length,
    implicitTransactions: transactions.filter((each) => each.implicit).length,
    retries: total(transactions.map((each) => Math.max(each.retries, each.autoRetries))),
  };
}

function oldest(items: readonly { readonly startMs: number }[]): number | undefined {
  return items.length === 0 ? undefined : Math.min(...items.map((item) => item.startMs));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
