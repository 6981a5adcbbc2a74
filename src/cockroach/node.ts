import { RequestError } from '../http/errors.ts';
import type { HttpResponse, PollStats } from '../http/request.ts';
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

/** How nodes are listed; `limit` is their number per page, `dateMs` the Date header of the page that holds the node. */
export interface NodesRequest<S extends ObjectShape> {
  readonly limit: number;
  readonly shape: S;
  readonly onNode: (node: Infer<S>, dateMs: number | undefined) => void;
}

/** The part of the cluster API that lists nodes. */
interface NodesApi {
  nodes<S extends ObjectShape>(stats: PollStats, request: NodesRequest<S>): Promise<unknown>;
}

/** Lists the nodes, by ids, liveness and locality only. Rejects like the API. */
export async function listNodes(api: NodesApi, stats: PollStats): Promise<NodeList> {
  const toScan = new Set<number>();
  const toSkip = new Set<number>();
  const localities = new Map<number, readonly Tier[]>();
  await api.nodes(stats, {
    limit: PAGE_LIMIT,
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

/** How old a response may be; also a fast proxy keeps one for a moment. */
const MAX_RESPONSE_AGE_SECONDS = 5;

/** A response that a cache has kept: the numbers are those of another time. */
export class CachedResponseError extends RequestError {}

/** The fields of a node that tell one cluster from another. */
export const nodeIdentity = object({
  node_id: integer(),
  address: object({ address_field: nameText() }),
  started_at: integer(),
  cluster_name: nameText(),
});

/** `stats` are those of the poll that noticed it. */
export type ReplacedListener = (
  stats: PollStats,
  names: { readonly before: string; readonly after: string },
) => void;

/** Who the nodes of a listing are; those of another cluster differ. */
export class ClusterIdentity {
  readonly names = new Set<string>();
  /** Every process with its node id, address and start. */
  readonly processes = new Set<string>();

  /** Adds a node; elements without an id are none. Texts of servers are cut: they stay in memory, and names are logged. */
  add({
    node_id: id = 0,
    address,
    started_at: start,
    cluster_name: name = '',
  }: Infer<typeof nodeIdentity>): void {
    if (id <= 0) return;
    this.names.add(cleanLabelValue(name));
    this.processes.add(`${id} ${start} ${cleanLabelValue(address.address_field ?? '')}`);
  }

  /** Whether no name, or no process, is one of the other listing. */
  isOtherThan({ names, processes }: ClusterIdentity): boolean {
    return names.isDisjointFrom(this.names) || processes.isDisjointFrom(this.processes);
  }
}

/** The earlier listings of the nodes of one cluster show whether a cache or another cluster answers now. */
export class NodeListings {
  readonly #monotonicMs: () => number;
  #replaced: ReplacedListener = () => undefined;
  /** The newest first page, by its Date. */
  #firstPage: { readonly dateMs: number; readonly arrivedMs: number } | undefined;
  #identity: ClusterIdentity | undefined;

  constructor(monotonicMs = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Called when the cluster has another name, or none of its processes was there before. */
  onReplaced(listener: ReplacedListener): void {
    this.#replaced = listener;
  }

  /** Throws when a page that arrives now is no answer of a server. */
  checkPage({ dateMs, ageSeconds = 0 }: HttpResponse, isFirst: boolean): void {
    if (ageSeconds > MAX_RESPONSE_AGE_SECONDS) {
      throw cached(`the response was kept for ${ageSeconds} s (header Age)`);
    }
    if (!isFirst || dateMs === undefined) return;
    const nowMs = this.#monotonicMs();
    if (this.#firstPage?.dateMs !== dateMs) {
      this.#firstPage = { dateMs, arrivedMs: nowMs };
      return;
    }
    const ageMs = nowMs - this.#firstPage.arrivedMs;
    if (ageMs <= MAX_RESPONSE_AGE_SECONDS * 1000) return;
    throw cached(`the same response as ${Math.round(ageMs / 1000)} s ago (header Date)`);
  }

  /** Takes note of a complete listing. Throws when it has no node: the one that answers is always listed. */
  listed(stats: PollStats, identity: ClusterIdentity): void {
    if (identity.processes.size === 0) {
      throw new RequestError('decode', 'nodes: the response lists no node with an id', {
        endpoint: 'nodes',
      });
    }
    const before = this.#identity;
    this.#identity = identity;
    // While nodes are restarted one by one with another name, both names are there for a while.
    if (before === undefined) return;
    if (!identity.isOtherThan(before)) return;
    const [from = '', to = ''] = [before, identity].map(({ names }) => [...names].join(', '));
    this.#replaced(stats, { before: from, after: to });
  }
}

function cached(what: string): CachedResponseError {
  return new CachedResponseError(
    'decode',
    `nodes: ${what}: a cache in front of the cluster answered`,
    { endpoint: 'nodes' },
  );
}
