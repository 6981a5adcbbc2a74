import { fingerprintHost } from './client-host.ts';
import type { OpenSession, Phase, SessionState, TransactionKind } from './session.ts';

/** The open sessions of one node. */
export interface NodeTally {
  readonly states: Record<SessionState, number>;
  allocBytes: number;
  maxAllocBytes: number;
  largestAllocBytes: number;
  readonly phases: Record<Phase, number>;
  readonly transactions: Record<TransactionKind, number>;
  oldestTransactionSeconds: number;
  oldestQuerySeconds: number;
  readonly clientHosts: Set<number>;
}

function createNodeTally(): NodeTally {
  return {
    states: { active: 0, idle_in_transaction: 0, idle: 0 },
    allocBytes: 0,
    maxAllocBytes: 0,
    largestAllocBytes: 0,
    phases: { preparing: 0, executing: 0, other: 0 },
    transactions: { explicit: 0, implicit: 0 },
    oldestTransactionSeconds: 0,
    oldestQuerySeconds: 0,
    clientHosts: new Set(),
  };
}

/** Upper bounds of the ages by which sessions are counted, in seconds; beside them +Inf. */
const AGE_BOUNDS = [60, 600, 3600, 86_400] as const;

/** All that is counted but by application. */
export interface ClusterTally {
  readonly nodes: Map<number, NodeTally>;
  /** Sessions that are at most as old as the bound, by bound; the last one counts all. */
  readonly byAge: Map<number, number>;
}

export function createClusterTally(): ClusterTally {
  return {
    nodes: new Map(),
    byAge: new Map([...AGE_BOUNDS, Infinity].map((bound) => [bound, 0])),
  };
}

export function countSession(tally: ClusterTally, session: OpenSession): void {
  const node = tally.nodes.get(session.nodeId) ?? createNodeTally();
  tally.nodes.set(session.nodeId, node);
  countOnNode(node, session);
  for (const [bound, count] of tally.byAge) {
    if ((session.ageSeconds ?? Infinity) <= bound) tally.byAge.set(bound, count + 1);
  }
}

function countOnNode(node: NodeTally, session: OpenSession): void {
  node.states[session.state] += 1;
  node.allocBytes += session.allocBytes;
  node.maxAllocBytes += session.maxAllocBytes;
  node.largestAllocBytes = Math.max(node.largestAllocBytes, session.allocBytes);
  for (const phase of session.phases) node.phases[phase] += 1;
  if (session.transaction !== undefined) node.transactions[session.transaction] += 1;
  node.oldestTransactionSeconds = Math.max(
    node.oldestTransactionSeconds,
    session.transactionAgeSeconds,
  );
  node.oldestQuerySeconds = Math.max(node.oldestQuerySeconds, session.queryAgeSeconds);
  const host = fingerprintHost(session.clientAddress);
  if (host !== undefined) node.clientHosts.add(host);
}
