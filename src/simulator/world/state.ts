import type { Account, SimulatorOptions } from '../options.ts';
import { growAccounts } from './accounts.ts';
import { createAssistant, type AssistantState } from './assistant.ts';
import { growNodes, type ClusterNode } from './nodes.ts';
import { growRanges, type Range } from './ranges.ts';
import { growSlots, type Slot } from './session-plan.ts';
import type { Session } from './sessions.ts';
import { growTables, type Table } from './tables.ts';
import { clientNodeIds } from './troubled-nodes.ts';

/** Everything that is true in the simulated world; answers and truth are both read from it. */
export interface WorldState {
  readonly options: SimulatorOptions;
  /** World time in milliseconds; stands still in a frozen world. */
  readonly now: () => number;
  readonly startMs: number;
  readonly nodes: Map<number, ClusterNode>;
  /** By id, ascending. */
  readonly ranges: Map<number, Range>;
  readonly tables: Table[];
  readonly accounts: Account[];
  /** The clients that come and go by themselves. */
  readonly slots: readonly Slot[];
  /** Sessions opened by hand, by id in hexadecimal. */
  readonly openedSessions: Map<string, Session>;
  /** How many were opened by hand so far, dropped ones included. */
  openedCount: number;
  /** When sessions were closed by hand, by id in hexadecimal. */
  readonly closedAtMs: Map<string, number>;
  readonly assistant: AssistantState;
}

/** A new world, grown from the seed; nothing is wrong in it yet. */
export function growWorld(options: SimulatorOptions): WorldState {
  const startMs = options.now();
  const nodes = growNodes(options, startMs);
  const tables = growTables();
  return {
    options,
    now: options.frozen ? () => startMs : options.now,
    startMs,
    nodes: new Map(nodes.map((node) => [node.id, node])),
    ranges: growRanges(options, nodes, tables, startMs),
    tables,
    accounts: growAccounts(options),
    slots: growSlots(options.seed, options.sessions, clientNodeIds(options), options.troubledNodes),
    openedSessions: new Map(),
    openedCount: 0,
    closedAtMs: new Map(),
    assistant: createAssistant(options.seed),
  };
}

/** The node of that id; an unknown one is a mistake of the caller. */
export function nodeOf(state: WorldState, id: number): ClusterNode {
  const node = state.nodes.get(id);
  if (node === undefined) throw new RangeError(`node ${id} is not in this world`);
  return node;
}

/** The range of that id; an unknown one is a mistake of the caller. */
export function rangeOf(state: WorldState, id: number): Range {
  const range = state.ranges.get(id);
  if (range === undefined) throw new RangeError(`range ${id} is not in this world`);
  return range;
}
