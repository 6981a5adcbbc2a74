import type { SimulatorOptions } from '../options.ts';
import { bytesOf, fractionOf, hashOf, pickAt } from '../random.ts';
import { uuidOf } from './assistant.ts';
import {
  INTERNAL_PREFIX,
  UNUSUAL_APPLICATIONS,
  PLAIN_APPLICATIONS,
  STATEMENTS,
  type ActiveQuery,
  type Session,
  type Transaction,
} from './sessions.ts';

/**
 * A client that keeps reconnecting. Its session depends only on the seed, the slot's number and the
 * time, so sessions start and end without state.
 */
export interface Slot {
  readonly number: number;
  readonly nodeId: number;
  readonly behavior: Behavior;
  readonly username: string;
  readonly applicationName: string;
  readonly lifetimeMs: number;
}

/** worker: implicit transactions; trader: explicit ones; analyst: long scans; leaky: never commits. */
type Behavior = 'worker' | 'trader' | 'analyst' | 'idle' | 'leaky' | 'closed' | 'internal';

const HOUR_MS = 3_600_000;
const USERNAMES = ['movr', 'movr', 'movr', 'reporting', 'payments', 'watcher', 'root'];
/** Closed sessions per open one; the server keeps some in a bounded cache. */
const CLOSED_SHARE = 0.15;

/** The slots of a world: open and closed ones, distributed to the nodes, and an internal one for each node. */
export function generateSlots(options: SimulatorOptions, nodeIds: readonly number[]): Slot[] {
  const { seed, sessions, faultyNodes, unusualNames } = options;
  const names = unusualNames
    ? [...PLAIN_APPLICATIONS, ...UNUSUAL_APPLICATIONS]
    : PLAIN_APPLICATIONS;
  const open = Array.from({ length: sessions }, (_, index) =>
    generateSlot(seed, index, nodeIds, pickBehavior(seed, index, faultyNodes), names),
  );
  const closed = Array.from({ length: Math.ceil(sessions * CLOSED_SHARE) }, (_, index) =>
    generateSlot(seed, sessions + index, nodeIds, 'closed', names),
  );
  const internal = nodeIds.map((_, index) =>
    generateSlot(seed, index + 1_000_000 * nodeIds.length, nodeIds, 'internal', names),
  );
  return [...open, ...closed, ...internal];
}

function pickBehavior(seed: number, slot: number, isFaulty: boolean): Behavior {
  const fraction = fractionOf('habit', seed, slot);
  if (isFaulty && fraction > 0.96) return 'leaky';
  if (fraction < 0.35) return 'worker';
  if (fraction < 0.6) return 'trader';
  return fraction < 0.65 ? 'analyst' : 'idle';
}

function generateSlot(
  seed: number,
  number: number,
  nodeIds: readonly number[],
  habit: Behavior,
  names: readonly string[],
): Slot {
  const fraction = (topic: string): number => fractionOf(topic, seed, number);
  return {
    number,
    nodeId: nodeIds[number % nodeIds.length] ?? 1,
    behavior: habit,
    username: habit === 'internal' ? 'node' : pickAt(USERNAMES, fraction('user')),
    applicationName:
      habit === 'internal' ? `${INTERNAL_PREFIX}-jobs` : pickAt(names, fraction('name')),
    lifetimeMs:
      habit === 'closed'
        ? 120_000 + 240_000 * fraction('life')
        : HOUR_MS * (0.5 + 20 * fraction('life')),
  };
}

/** The session of a slot at a time. */
export function sessionOfSlot(seed: number, slot: Slot, nowMs: number): Session {
  const offset = slot.lifetimeMs * fractionOf('offset', seed, slot.number);
  const generation =
    Math.floor((nowMs + offset) / slot.lifetimeMs) - (slot.behavior === 'closed' ? 1 : 0);
  const startMs = Math.floor(generation * slot.lifetimeMs - offset);
  const key = hashOf(seed, slot.number, generation);
  const moment = activityAt(slot, key, startMs, nowMs);
  const allocBytes = moment.queries.length > 0 ? 20_480 + (key % 2_000_000) : 10_240;
  return {
    id: bytesOf(16, 'session', key).toString('hex'),
    nodeId: slot.nodeId,
    username: slot.username,
    clientAddress: `10.1.${slot.number % 4}.${1 + (slot.number % 37)}:${40_000 + (key % 20_000)}`,
    applicationName: slot.applicationName,
    startMs,
    endMs: slot.behavior === 'closed' ? Math.floor(startMs + slot.lifetimeMs) : undefined,
    ...moment,
    lastStatement: pickAt(STATEMENTS, fractionOf('last', key)),
    allocBytes,
    maxAllocBytes: allocBytes + (key % 500_000),
    transactionsExecuted: Math.floor((nowMs - startMs) / 1000),
    totalActiveMs: Math.floor((nowMs - startMs) * 0.3),
  };
}

interface Activity {
  readonly queries: readonly ActiveQuery[];
  readonly transaction: Transaction | undefined;
}

const NO_ACTIVITY: Activity = { queries: [], transaction: undefined };

/** The position in the session's cycle: query, pause in the transaction, idle. */
function activityAt(slot: Slot, key: number, startMs: number, nowMs: number): Activity {
  if (slot.behavior === 'idle' || slot.behavior === 'closed' || slot.behavior === 'internal')
    return NO_ACTIVITY;
  if (slot.behavior === 'leaky') {
    return { queries: [], transaction: transactionAt(key, 0, startMs + 5, false) };
  }
  const period =
    (slot.behavior === 'analyst' ? 120_000 : 2000) * (1 + 4 * fractionOf('period', key));
  const cycle = Math.floor((nowMs - startMs) / period);
  const cycleStartMs = Math.floor(startMs + cycle * period);
  const position = (nowMs - cycleStartMs) / period;
  const transaction = transactionAt(key, cycle, cycleStartMs, slot.behavior !== 'trader');
  if (position < 0.4)
    return { queries: [queryAt(slot, key, cycle, cycleStartMs, position)], transaction };
  return slot.behavior === 'trader' && position < 0.7 ? { queries: [], transaction } : NO_ACTIVITY;
}

function queryAt(
  slot: Slot,
  key: number,
  cycle: number,
  startMs: number,
  position: number,
): ActiveQuery {
  return {
    id: bytesOf(16, 'query', key, cycle).toString('hex'),
    statement: pickAt(STATEMENTS, fractionOf('statement', key, cycle)),
    startMs,
    phase: position < 0.02 ? 'preparing' : 'executing',
    progress: slot.behavior === 'analyst' ? Math.fround(position / 0.4) : 0,
    fullScan: slot.behavior === 'analyst',
    distributed: slot.behavior === 'analyst',
  };
}

function transactionAt(
  key: number,
  cycle: number,
  startMs: number,
  implicit: boolean,
): Transaction {
  const chance = hashOf('transaction', key, cycle);
  const autoRetries = chance % 13 === 0 ? 1 : 0;
  const isAfresh = chance % 39 === 0;
  return {
    id: uuidOf('transaction', key, cycle),
    startMs,
    implicit,
    statements: implicit ? 1 : 1 + (chance % 7),
    retries: isAfresh ? 0 : autoRetries + (chance % 11 === 0 ? 2 : 0),
    autoRetries,
    allocBytes: 10_240 + (chance % 100_000),
    maxAllocBytes: 110_240,
    readOnly: chance % 3 === 0,
  };
}
