import { RequestError } from '../http/errors.ts';
import type { PollStats } from '../http/poll-stats.ts';
import type { HttpResponse } from '../http/request.ts';
import { type Infer, integer, nameText, object } from '../json/shape.ts';
import { cleanLabelValue } from '../metrics/sample-text.ts';

/** How old a response may be; also a fast proxy keeps one for a moment. */
const MAX_AGE_SECONDS = 5;

/** A response that a cache has kept: the numbers are those of another time. */
export class CachedResponseError extends RequestError {}

/** The fields of a node that tell one cluster from another. */
export const nodeIdentity = object({
  node_id: integer(),
  address: object({ address_field: nameText() }),
  started_at: integer(),
  cluster_name: nameText(),
});

type ListedNode = Infer<typeof nodeIdentity>;

/** `stats` are those of the poll that noticed it. */
export type ReplacedListener = (
  stats: PollStats,
  names: { readonly before: string; readonly after: string },
) => void;

/** The identity of the nodes of a listing, which differs from that of another cluster. */
export class ClusterIdentity {
  readonly names = new Set<string>();
  nodes = 0;
  /** Every process with its node id, address and start. */
  readonly #processes = new Set<string>();

  /** Elements without an id are no nodes. Texts of servers are cut: they stay in memory, and names are logged. */
  add({ node_id: id = 0, address, started_at: start, cluster_name: name = '' }: ListedNode): void {
    if (id <= 0) return;
    this.nodes += 1;
    this.names.add(cleanLabelValue(name));
    this.#processes.add(`${id} ${start} ${cleanLabelValue(address.address_field ?? '')}`);
  }

  /** While nodes are restarted one by one with another name, both names are there for a while. */
  isSame(other: ClusterIdentity): boolean {
    return (
      !this.names.isDisjointFrom(other.names) && !this.#processes.isDisjointFrom(other.#processes)
    );
  }
}

/** What earlier listings of the nodes of one cluster show about a new one: whether a cache or another cluster answers. */
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

  /** Why a page that arrives now is no answer of a server; undefined for most. */
  checkPage(
    { dateMs, ageSeconds = 0 }: HttpResponse,
    isFirst: boolean,
  ): CachedResponseError | undefined {
    if (ageSeconds > MAX_AGE_SECONDS) {
      return cached(`the response was kept for ${ageSeconds} s (header Age)`);
    }
    if (!isFirst || dateMs === undefined) return undefined;
    const nowMs = this.#monotonicMs();
    if (this.#firstPage?.dateMs !== dateMs) {
      this.#firstPage = { dateMs, arrivedMs: nowMs };
      return undefined;
    }
    const ageMs = nowMs - this.#firstPage.arrivedMs;
    if (ageMs <= MAX_AGE_SECONDS * 1000) return undefined;
    return cached(`the same response as ${Math.round(ageMs / 1000)} s ago (header Date)`);
  }

  /** Takes note of a complete listing. Throws when it has no node: the one that answers is always listed. */
  listed(stats: PollStats, identity: ClusterIdentity): void {
    if (identity.nodes === 0) {
      throw new RequestError('decode', 'nodes: the response lists no node with an id', {
        endpoint: 'nodes',
      });
    }
    const before = this.#identity;
    this.#identity = identity;
    if (before === undefined || identity.isSame(before)) return;
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
