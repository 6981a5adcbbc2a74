import { isReachable } from './nodes.ts';
import { sessionOfSlot } from './session-plan.ts';
import { INTERNAL_PREFIX, type Session } from './sessions.ts';
import { nodeOf, type WorldState } from './state.ts';

/** All sessions of a node by start, including closed and internal ones; none when it cannot be reached. */
export function sessionsOfNode(state: WorldState, nodeId: number): Session[] {
  const node = nodeOf(state, nodeId);
  if (!isReachable(node)) return [];
  const nowMs = state.now();
  const planned = state.slots
    .filter((slot) => slot.nodeId === nodeId)
    .map((slot) => sessionOfSlot(state.options.seed, slot, nowMs))
    // A restart closes every connection; clients reconnect at once.
    .map((session) =>
      session.startMs >= node.startedAtMs ? session : reconnected(session, node.startedAtMs),
    );
  const opened = [...state.openedSessions.values()].filter((each) => each.nodeId === nodeId);
  return [...planned, ...opened]
    .map((session) => withEnd(session, state.closedAtMs.get(session.id)))
    .toSorted((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
}

export function isInternal(session: Session): boolean {
  return session.applicationName.startsWith(INTERNAL_PREFIX);
}

function reconnected(session: Session, startMs: number): Session {
  const queries = session.queries.filter((query) => query.startMs >= startMs);
  const old = session.transaction !== undefined && session.transaction.startMs < startMs;
  return { ...session, startMs, queries, transaction: old ? undefined : session.transaction };
}

function withEnd(session: Session, endMs: number | undefined): Session {
  if (endMs === undefined) return session;
  return { ...session, endMs, queries: [], transaction: undefined };
}
