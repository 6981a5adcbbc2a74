import { array, integer, nameText, object } from '../json/shape.ts';
import { cleanLabelValue } from '../metrics/sample-text.ts';
import { LIVENESS_BY_CODE, type LivenessStatus } from '../vocabulary.ts';
import type { ClusterApi, PollStats } from './cluster-api.ts';

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

/** The records are large and little of them is read, but the server prepares them in full. */
const PAGE_LIMIT = 200;

/** Real clusters have two or three; every range is counted for each. */
const MAX_TIERS = 8;

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  locality: object({ tiers: array(object({ key: nameText(), value: nameText() })) }),
});

/** Lists the nodes, by ids, liveness and locality only. Rejects like the API. */
export async function listNodes(api: ClusterApi, stats: PollStats): Promise<NodeList> {
  const statuses = new Map<number, LivenessStatus>();
  const localities = new Map<number, readonly Tier[]>();
  await api.nodes(stats, {
    limit: PAGE_LIMIT,
    shape: nodeShape,
    onNode({ node_id, liveness_status: livenessCode, locality: { tiers } }) {
      if (!isId(node_id)) return;
      statuses.set(node_id, livenessOf({ livenessCode }));
      localities.set(
        node_id,
        tiers.slice(0, MAX_TIERS).map(({ key = '', value = '' }) => ({
          key: cleanLabelValue(key),
          value: cleanLabelValue(value),
        })),
      );
    },
  });
  return { ...divideNodes(statuses), localities };
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

/** How far the clocks of the nodes may be ahead of that of the server that answered. */
const MAX_CLOCK_LEAD_SECONDS = 5;

/** Whether the metrics of a node are current: not those of a record that is no longer updated. */
export function freshnessOf(
  nodes: readonly RecordAge[],
  answeredMs: number | undefined,
): (node: RecordAge) => boolean {
  const answered = answeredMs === undefined ? undefined : answeredMs / 1000;
  const newest = newestRecord(nodes, answered);
  const oldest = Math.max(newest - MAX_LAG_SECONDS, (answered ?? newest) - MAX_AGE_SECONDS);
  return (node) =>
    node.updatedSeconds > 0 && node.updatedSeconds >= oldest && !DEAD.has(livenessOf(node));
}

/**
 * Time of the newest record, only of nodes that serve: a dead node may have had a wrong clock. Nor does a record count
 * that lies in the future; if all do, or nobody knows the time, the median of all does. Example: records of 12:00:00,
 * 12:00:08 and 13:30:00 in a response of 12:00:10: the newest is that of 12:00:08.
 */
function newestRecord(nodes: readonly RecordAge[], answered: number | undefined): number {
  const times = nodes
    .filter((node) => node.updatedSeconds > 0 && REACHABLE.has(livenessOf(node)))
    .map(({ updatedSeconds }) => updatedSeconds)
    .toSorted((a, b) => a - b);
  const latest = (answered ?? -Infinity) + MAX_CLOCK_LEAD_SECONDS;
  return times.findLast((seconds) => seconds <= latest) ?? median(times);
}

/** 0 for an empty list, which must be sorted. */
function median(sorted: readonly number[]): number {
  const middle = sorted.length / 2;
  const [low = 0, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}
