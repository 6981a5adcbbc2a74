import { bytesOf } from '../random.ts';
import { uuidOf } from './assistant.ts';
import { sessionsOfNode } from './session-list.ts';
import { STATEMENTS } from './session-texts.ts';
import type { Session, Transaction } from './sessions.ts';
import { nodeOf, type WorldState } from './state.ts';

/** What a session opened by hand looks like. */
interface SessionWish {
  readonly nodeId: number;
  readonly username?: string;
  readonly applicationName?: string;
  readonly clientAddress?: string;
  readonly state?: 'active' | 'idle_in_transaction' | 'idle';
  readonly implicit?: boolean;
  /** How long ago it was opened. */
  readonly ageMs?: number;
  /** How long ago its transaction, and its query when active, began. */
  readonly transactionAgeMs?: number;
  readonly allocBytes?: number;
  readonly maxAllocBytes?: number;
}

/** What may happen to sessions. */
export interface SessionActions {
  /** Returns the session's id in hexadecimal. */
  openSession(wish: SessionWish): string;
  /** From now on the session is listed as closed. */
  closeSession(id: string): void;
  /** Forgets all sessions that were opened by hand. */
  dropOpenedSessions(): void;
  /** The sessions that a node keeps at this moment. */
  sessionsOf(nodeId: number): readonly Session[];
}

export function createSessionActions(state: WorldState): SessionActions {
  return {
    openSession: (wish) => openSession(state, wish),
    closeSession: (id) => {
      state.closedAtMs.set(id, state.now());
    },
    dropOpenedSessions: () => state.openedSessions.clear(),
    sessionsOf: (nodeId) => sessionsOfNode(state, nodeId),
  };
}

function openSession(state: WorldState, wish: SessionWish): string {
  const { id: nodeId } = nodeOf(state, wish.nodeId);
  state.openedCount++;
  const number = state.openedCount;
  const id = bytesOf(16, 'opened', state.options.seed, number).toString('hex');
  const [statement] = STATEMENTS;
  if (statement === undefined) throw new RangeError('there are no statements');
  const nowMs = state.now();
  const transaction = transactionOf(wish, number, nowMs);
  const allocBytes = wish.allocBytes ?? 10_240;
  state.openedSessions.set(id, {
    id,
    nodeId,
    username: wish.username ?? 'movr',
    applicationName: wish.applicationName ?? 'opened-by-hand',
    clientAddress: wish.clientAddress ?? `10.9.0.1:${50_000 + number}`,
    startMs: nowMs - (wish.ageMs ?? wish.transactionAgeMs ?? 0),
    endMs: undefined,
    queries:
      wish.state === 'active' && transaction !== undefined
        ? [queryOf(statement, number, transaction.startMs)]
        : [],
    transaction,
    lastStatement: statement,
    allocBytes,
    maxAllocBytes: wish.maxAllocBytes ?? allocBytes,
    transactionsExecuted: 1,
    totalActiveMs: 0,
  });
  return id;
}

function queryOf(
  statement: Session['lastStatement'],
  number: number,
  startMs: number,
): Session['queries'][number] {
  return {
    id: bytesOf(16, 'opened query', number).toString('hex'),
    statement,
    startMs,
    phase: 'executing',
    progress: 0,
    fullScan: false,
    distributed: false,
  };
}

function transactionOf(wish: SessionWish, number: number, nowMs: number): Transaction | undefined {
  if ((wish.state ?? 'idle') === 'idle') return undefined;
  return {
    id: uuidOf('opened', number),
    startMs: nowMs - (wish.transactionAgeMs ?? 0),
    implicit: wish.implicit ?? false,
    statements: 1,
    retries: 0,
    autoRetries: 0,
    allocBytes: 10_240,
    maxAllocBytes: 10_240,
    readOnly: false,
  };
}
