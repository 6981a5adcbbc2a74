import type { Account, SimulatorOptions } from '../options.ts';
import { createAccounts } from './accounts.ts';
import { createAssistant, type AssistantState } from './assistant.ts';
import { type Lease, leasesKnownTo } from './leases.ts';
import { generateNodes, generateRelics, type ClusterNode, clientNodeIds } from './nodes.ts';
import { generateRanges, type HeldReplica, type Range, type Replica } from './ranges.ts';
import { generateSlots, type Slot } from './session-plan.ts';
import type { Session } from './sessions.ts';
import { createExtraTables, createTables, type Table } from './tables.ts';

/** A job that failed for good. */
interface FailedJob {
  /** As in the keys of metrics: `schema_change`. */
  readonly job: string;
  /** The node that ran it, and counts the failure until it restarts. */
  readonly nodeId: number;
  readonly error: string;
  readonly failedAtMs: number;
}

/** `unreported`: a server before 24.3, which has only the key of the enterprise license. */
export type License = 'installed' | 'none' | 'expired' | 'unreported';

export type ReplicationKind = 'physical' | 'logical';

/** The state of the simulated world, from which responses and the truth are computed. */
export interface WorldState {
  readonly options: SimulatorOptions;
  /** World time in milliseconds; constant in a frozen world. */
  readonly now: () => number;
  readonly startMs: number;
  readonly nodes: Map<number, ClusterNode>;
  /** Pairs of nodes that do not reach each other (`pairKey`), although both are up. */
  readonly cutPairs: Set<string>;
  /** By id, ascending. */
  readonly ranges: Map<number, Range>;
  /** The id of the next range to be split off; ids of merged ranges are not used again. */
  nextRangeId: number;
  /**
   * Replicas that their ranges no longer name, on nodes that were cut off then, with the range as they know it; and those that
   * merges left behind.
   */
  removed: HeldReplica[];
  readonly tables: Table[];
  readonly accounts: Account[];
  /** The clients that reconnect automatically. */
  readonly slots: readonly Slot[];
  /** Sessions opened with openSession, by id in hexadecimal. */
  readonly openedSessions: Map<string, Session>;
  /** The number of sessions opened so far, including removed ones. */
  openedCount: number;
  /** End of sessions closed with closeSession, by id in hexadecimal. */
  readonly closedAtMs: Map<string, number>;
  readonly assistant: AssistantState;
  /** Since when a job of a type is paused. */
  readonly pausedJobs: Map<string, number>;
  /** The jobs that failed for good, in their order. */
  readonly failedJobs: FailedJob[];
  /** The node that was chosen to run poll_jobs_stats; 0 for the first live one. */
  statisticsNodeId: number;
  /** Nodes report whether they run poll_jobs_stats. */
  hasStatisticsJob: boolean;
  /** The jobs that replicate from another cluster. */
  readonly replications: Map<ReplicationKind, { readonly nodeId: number; readonly lagMs: number }>;
  license: License;
  /** The node of which a changefeed scans whole tables. */
  backfillNodeId: number | undefined;
  /** What a changefeed cannot do now, and since when it only retries. */
  changefeedError: { readonly text: string; readonly sinceMs: number } | undefined;
  /** Retries of changefeeds before. */
  pastRetries: number;
  /** Since when no backup ran; undefined while they run. */
  backupsStoppedAtMs: number | undefined;
}

/** A new world without faults. */
export function createState(options: SimulatorOptions): WorldState {
  const startMs = options.now();
  const nodes = generateNodes(options, startMs);
  const tables = createTables();
  const extraTables = createExtraTables(options.extraTables);
  const ranges = generateRanges(options, nodes, tables, startMs);
  return {
    options,
    now: options.frozen ? () => startMs : options.now,
    startMs,
    nodes: new Map(
      [...nodes, ...generateRelics(options, nodes, startMs)].map((node) => [node.id, node]),
    ),
    ranges,
    nextRangeId: ranges.size + 1,
    removed: [],
    cutPairs: new Set(),
    tables: [...tables, ...extraTables],
    accounts: createAccounts(options),
    slots: generateSlots(options, clientNodeIds(options)),
    openedSessions: new Map(),
    openedCount: 0,
    closedAtMs: new Map(),
    assistant: createAssistant(options.seed),
    pausedJobs: new Map(),
    failedJobs: [],
    statisticsNodeId: 0,
    hasStatisticsJob: true,
    replications: new Map(),
    license: 'installed',
    backfillNodeId: undefined,
    changefeedError: undefined,
    pastRetries: 0,
    backupsStoppedAtMs: undefined,
  };
}

/** The node with that id. Throws RangeError. */
export function nodeOf(state: WorldState, id: number): ClusterNode {
  const node = state.nodes.get(id);
  if (node === undefined) throw new RangeError(`node ${id} is not in this world`);
  return node;
}

/** The ids of the nodes, without members that died before the world began. */
export function nodeIdsOf(state: WorldState): number[] {
  return [...state.nodes.values()].filter(({ isRelic }) => !isRelic).map(({ id }) => id);
}

/** The nodes with a status record, by id. */
export function listedNodes(state: WorldState): ClusterNode[] {
  return [...state.nodes.values()].filter(({ hasRecord }) => hasRecord);
}

/** The range with that id. Throws RangeError. */
export function rangeOf(state: WorldState, id: number): Range {
  const range = state.ranges.get(id);
  if (range === undefined) throw new RangeError(`range ${id} is not in this world`);
  return range;
}

/** The leases that a replica knows, the last one at the end. */
export function leasesOf(state: WorldState, range: Range, replica: Replica): readonly Lease[] {
  const { startedAtMs } = nodeOf(state, replica.nodeId);
  const sinceMs = state.options.keepsLeaseHistory ? 0 : startedAtMs;
  return leasesKnownTo(range.leases, replica.lag, sinceMs);
}
