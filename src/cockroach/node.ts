import type { PollStats } from '../http/request.ts';
import { array, type Infer, integer, nameText, object, type ObjectShape } from '../json/shape.ts';
import { cleanLabelValue } from '../metrics/label-text.ts';
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

/** The records are large and little of them is read, but the server prepares them in full. */
export const PAGE_LIMIT = 200;

/** Tiers of a node that are read: real clusters have two or three, and every range is counted for each. */
export const MAX_TIERS = 16;

/** The locality of a node, as it sends it. */
export const localityShape = object({
  tiers: array(object({ key: nameText(), value: nameText() })),
});

/** Copies the locality of a node; its texts become valid label values. */
export function copyTiers({ tiers }: Infer<typeof localityShape>): readonly Tier[] {
  return tiers.slice(0, MAX_TIERS).map(({ key = '', value = '' }) => ({
    key: cleanLabelValue(key),
    value: cleanLabelValue(value),
  }));
}

const nodeShape = object({
  node_id: integer(),
  liveness_status: integer(),
  locality: localityShape,
});

/**
 * How nodes are listed; `limit` is their number per page, `firstUrl` the index of the URL to begin with, `dateMs` the Date
 * header of the page that holds the node.
 */
export interface NodesRequest<S extends ObjectShape> {
  readonly limit: number;
  readonly firstUrl?: number;
  readonly shape: S;
  readonly onNode: (node: Infer<S>, dateMs: number | undefined) => void;
}

/** The part of the cluster API that lists nodes. */
interface NodesApi {
  nodes<S extends ObjectShape>(stats: PollStats, request: NodesRequest<S>): Promise<unknown>;
}

/**
 * Lists the nodes, by ids, liveness and locality only. A scan passes another `firstUrl` each time, the index of the URL to
 * begin with. Rejects like the API.
 */
export async function listNodes(
  api: NodesApi,
  stats: PollStats,
  { firstUrl = 0 } = {},
): Promise<NodeList> {
  const toScan = new Set<number>();
  const toSkip = new Set<number>();
  const localities = new Map<number, readonly Tier[]>();
  await api.nodes(stats, {
    limit: PAGE_LIMIT,
    firstUrl,
    shape: nodeShape,
    onNode({ node_id: id, liveness_status: livenessCode, locality }) {
      if (!isId(id)) return;
      // A node that moves between two pages is listed twice.
      toScan.delete(id);
      toSkip.delete(id);
      (REACHABLE.has(livenessOf({ livenessCode })) ? toScan : toSkip).add(id);
      localities.set(id, copyTiers(locality));
    },
  });
  return { toScan: ascending(toScan), toSkip: ascending(toSkip), localities };
}

function ascending(ids: ReadonlySet<number>): readonly number[] {
  return [...ids].toSorted((a, b) => a - b);
}

/** The state and age of the record of a node, which decide whether it is fresh. */
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
  return times.findLast((seconds) => seconds <= latest) ?? times[Math.floor(times.length / 2)] ?? 0;
}
