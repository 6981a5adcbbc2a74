import { array, integer, object, string } from '../json/shape.ts';
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

/** Which of the nodes, by id, a scan reads; decommissioned ones are in neither list. */
export function divideNodes(
  statuses: ReadonlyMap<number, LivenessStatus>,
): Pick<NodeList, 'toScan' | 'toSkip'> {
  const toScan: number[] = [];
  const toSkip: number[] = [];
  for (const [nodeId, status] of [...statuses].toSorted(([a], [b]) => a - b)) {
    if (status === 'decommissioned') continue;
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
  locality: object({ tiers: array(object({ key: string(), value: string() })) }),
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
        tiers.slice(0, MAX_TIERS).map(({ key = '', value = '' }) => ({ key, value })),
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

/** Whether the metrics of a node are current: not those of a record that nobody updates any more. */
export function freshnessOf(
  nodes: readonly RecordAge[],
  answeredMs: number | undefined,
): (node: RecordAge) => boolean {
  const newest = nodes.reduce((latest, node) => Math.max(latest, node.updatedSeconds), 0);
  const answered = answeredMs === undefined ? newest : answeredMs / 1000;
  const oldest = Math.max(newest - MAX_LAG_SECONDS, answered - MAX_AGE_SECONDS);
  return (node) =>
    node.updatedSeconds > 0 && node.updatedSeconds >= oldest && livenessOf(node) !== 'dead';
}
