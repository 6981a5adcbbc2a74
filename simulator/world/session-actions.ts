import { bytesOf } from '../random.ts';
import { uuidOf } from './assistant.ts';
import { sessionsOfNode } from './session-list.ts';
import { STATEMENTS, type Session, type Transaction } from './sessions.ts';
import { nodeOf, type WorldState } from './state.ts';

/** A session to open. */
interface SessionSpec {
  readonly nodeId: number;
  readonly username?: string;
  readonly applicationName?: string;
  readonly clientAddress?: string;
  readonly state?: 'active' | 'idle_in_transaction' | 'idle';
  readonly implicit?: boolean;
  /** Time since it was opened. */
  readonly ageMs?: number;
  /** Time since the start of its transaction and, when active, of its query. */
  readonly transactionAgeMs?: number;
  /** Restarts of its transaction in all, and those that the server made by itself. */
  readonly retries?: number;
  readonly autoRetries?: number;
  readonly allocBytes?: number;
  readonly maxAllocBytes?: number;
}

/** Changes to sessions. */
export interface SessionActions {
  /** Returns the session's id in hexadecimal. */
  openSession(spec: SessionSpec): string;
  /** The session is listed as closed from now on. */
  closeSession(id: string): void;
  /** Removes all sessions opened with openSession. */
  dropOpenedSessions(): void;
  /** The current sessions of a node. */
  sessionsOf(nodeId: number): readonly Session[];
}

export function createSessionActions(state: WorldState): SessionActions {
  return {
    openSession: (spec) => openSession(state, spec),
    closeSession: (id) => {
      state.closedAtMs.set(id, state.now());
    },
    dropOpenedSessions: () => state.openedSessions.clear(),
    sessionsOf: (nodeId) => sessionsOfNode(state, nodeId),
  };
}

function openSession(state: WorldState, spec: SessionSpec): string {
  const { id: nodeId } = nodeOf(state, spec.nodeId);
  state.openedCount++;
  const number = state.openedCount;
  const id = bytesOf(16, 'opened', state.options.seed, number).toString('hex');
  const [statement] = STATEMENTS;
  if (statement === undefined) throw new RangeError('there are no statements');
  const nowMs = state.now();
  const transaction = transactionOf(spec, number, nowMs);
  const allocBytes = spec.allocBytes ?? 10_240;
  state.openedSessions.set(id, {
    id,
    nodeId,
    username: spec.username ?? 'movr',
    applicationName: spec.applicationName ?? 'opened-by-hand',
    clientAddress: spec.clientAddress ?? `10.9.0.1:${50_000 + number}`,
    startMs: nowMs - (spec.ageMs ?? spec.transactionAgeMs ?? 0),
    endMs: undefined,
    queries:
      spec.state === 'active' && transaction !== undefined
        ? [queryOf(statement, number, transaction.startMs)]
        : [],
    transaction,
    lastStatement: statement,
    allocBytes,
    maxAllocBytes: spec.maxAllocBytes ?? allocBytes,
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

function transactionOf(spec: SessionSpec, number: number, nowMs: number): Transaction | undefined {
  if ((spec.state ?? 'idle') === 'idle') return undefined;
  return {
    id: uuidOf('opened', number),
    startMs: nowMs - (spec.transactionAgeMs ?? 0),
    implicit: spec.implicit ?? false,
    statements: 1,
    retries: spec.retries ?? 0,
    autoRetries: spec.autoRetries ?? 0,
    allocBytes: 10_240,
    maxAllocBytes: 10_240,
    readOnly: false,
  };
}
