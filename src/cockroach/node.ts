import { LIVENESS_BY_CODE, type LivenessStatus } from '../vocabulary.ts';

/** Ids of ranges, stores and nodes begin at 1; above 2^53 two of them could look alike. */
export function isId(id: number | undefined): id is number {
  return id !== undefined && id > 0 && Number.isSafeInteger(id);
}

/** A part of the locality of a node. */
export interface Tier {
  readonly key: string;
  readonly value: string;
}

/** Nodes that belong to the cluster, ascending. */
export interface NodeList {
  readonly toScan: readonly number[];
  readonly toSkip: readonly number[];
  /** By node id, from broad to narrow. */
  readonly localities: ReadonlyMap<number, readonly Tier[]>;
}

/** A request to any other node fails after seconds, or never ends. */
export const REACHABLE: ReadonlySet<LivenessStatus> = new Set([
  'live',
  'draining',
  'decommissioning',
]);

/**
 * Nodes that count as dead. A listed node with status `decommissioned` died while it was being decommissioned and may hold
 * replicas. One that has finished is no longer listed.
 */
export const DEAD: ReadonlySet<string> = new Set(['dead', 'decommissioned']);

/** Which of the nodes, by id, a scan reads. */
export function divideNodes(
  statuses: ReadonlyMap<number, LivenessStatus>,
): Pick<NodeList, 'toScan' | 'toSkip'> {
  const toScan: number[] = [];
  const toSkip: number[] = [];
  for (const [nodeId, status] of [...statuses].toSorted(([a], [b]) => a - b)) {
    (REACHABLE.has(status) ? toScan : toSkip).push(nodeId);
  }
  return { toScan, toSkip };
}

/** What decides whether the record of a node is fresh. */
export interface RecordAge {
  /** Undefined when what the server sent is no integer. */
  readonly livenessCode: number | undefined;
  readonly updatedSeconds: number;
}

export function livenessOf({ livenessCode = -1 }: Pick<RecordAge, 'livenessCode'>): LivenessStatus {
  return LIVENESS_BY_CODE[livenessCode] ?? 'other';
}

/** Records are written every 10 s; one that missed five of these is frozen. */
const MAX_LAG_SECONDS = 60;
/** Against the clock of the answering node: when no record is young, their order proves nothing. */
const MAX_AGE_SECONDS = 120;

/** Whether the metrics of a node are current: not those of a record that is no longer updated. */
export function freshnessOf(
  nodes: readonly RecordAge[],
  answeredMs: number | undefined,
): (node: RecordAge) => boolean {
  const newest = nodes.reduce((latest, node) => Math.max(latest, node.updatedSeconds), 0);
  const answered = answeredMs === undefined ? newest : answeredMs / 1000;
  const oldest = Math.max(newest - MAX_LAG_SECONDS, answered - MAX_AGE_SECONDS);
  return (node) =>
    node.updatedSeconds > 0 && node.updatedSeconds >= oldest && !DEAD.has(livenessOf(node));
}
