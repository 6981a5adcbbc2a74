import { formatTime, toTime } from '#base';
import { type Infer, integer, nameText, object } from '#json';
import { cleanLabelValue } from '#metrics';
import { RequestError } from './http/errors.ts';
import type { PollStats } from './http/poll-stats.ts';
import { isId } from './node.ts';

/** The fields of a node that tell one cluster from another. */
export const nodeIdentity = object({
  node_id: integer(),
  address: object({ address_field: nameText() }),
  started_at: integer(),
  cluster_name: nameText(),
});

/** Who the nodes of a listing are; those of another cluster differ. */
export class ClusterIdentity {
  readonly names = new Set<string>();
  /** Every process with its node id, start and address. */
  readonly processes = new Set<string>();
  /** Elements of the listing with an id. */
  nodes = 0;
  /** The first node: `node 1 at crdb-1:26257`. */
  firstNode = '';
  /** When it started, in ns since the epoch. */
  #firstStart = 0;

  /** Adds a node; elements without an id are none. Texts of servers are cut: they stay in memory, and names are logged. */
  add({
    node_id: id = 0,
    address,
    started_at: start,
    cluster_name: name = '',
  }: Infer<typeof nodeIdentity>): void {
    if (!isId(id)) return;
    this.nodes += 1;
    const host = cleanLabelValue(address.address_field ?? '');
    if (this.firstNode === '') this.#firstStart = start ?? 0;
    this.firstNode ||= `node ${id} at ${host}`;
    this.names.add(cleanLabelValue(name));
    this.processes.add(`${id} ${start} ${host}`);
  }

  /** Whether no name, or no process, is one of the other listing. */
  isOtherThan({ names, processes }: ClusterIdentity): boolean {
    return names.isDisjointFrom(this.names) || processes.isDisjointFrom(this.processes);
  }

  /** Describes it for messages: `node 1 at crdb-1:26257 of the cluster prod`. */
  toString(): string {
    const names = [...this.names].filter((name) => name !== '');
    return names.length === 0
      ? this.firstNode
      : `${this.firstNode} of the cluster ${names.join(', ')}`;
  }

  /** Describes two, where all else is equal by the starts of their nodes. */
  toStringBeside(other: ClusterIdentity): string {
    if (this.toString() !== other.toString()) return `${this.toString()} and ${other.toString()}`;
    const starts = [this, other].map((one) => {
      const start = toTime(one.#firstStart / 1e6);
      return start === undefined ? 'an unknown time' : formatTime(start);
    });
    return `${this.toString()}, one started at ${starts.join(' and one at ')}`;
  }
}

/**
 * A cluster is the only one when this many listings in a row are of it. Where a load balancer sends every other request to
 * another cluster at random, one in a million rows is of one of them alone.
 */
const ONE_CLUSTER_LISTINGS = 20;

/** The names of a cluster, and of the one that answers in its place. */
interface Replacement {
  readonly before: string;
  readonly after: string;
}

/** The earlier listings of the nodes of one cluster show whether another cluster answers now. */
export class NodeListings {
  #onReplaced: ((names: Replacement) => void) | undefined;
  #identity: ClusterIdentity | undefined;
  /** The last listing of the cluster before, until the present one is the only one. */
  #former: ClusterIdentity | undefined;
  /** Listings of the present cluster in a row. */
  #inARow = 0;
  #alternation: RequestError | undefined;
  #noticedBy: symbol | undefined;

  /** Id of the poll that last noticed another cluster. */
  get noticedBy(): symbol | undefined {
    return this.#noticedBy;
  }

  /**
   * The failure of all polls while two clusters answer by turns, as behind a load balancer with servers of both; undefined
   * while one answers. A cluster that was replaced does not come back: its processes have ended.
   */
  get alternation(): RequestError | undefined {
    return this.#alternation;
  }

  /** Continues the listings of the same URLs before a reload, so that a cluster that is replaced at that moment is noticed. */
  follow(previous: NodeListings): void {
    this.#identity = previous.#identity;
  }

  /** Called when the cluster has another name, or none of its processes was there before. Without a listener such a listing fails. */
  onReplaced(listener: (names: Replacement) => void): void {
    this.#onReplaced = listener;
  }

  /**
   * Takes note of a complete listing. Throws when it has no node, as the one that answers is always listed, and when nobody
   * listens to the replacement of the cluster.
   */
  listed({ pollId }: Pick<PollStats, 'pollId'>, identity: ClusterIdentity): void {
    if (identity.processes.size === 0) {
      throw new RequestError('decode', 'nodes: the response lists no node with an id', {
        endpoint: 'nodes',
      });
    }
    const before = this.#identity;
    this.#identity = identity;
    // While nodes are restarted one by one with another name, both names are there for a while.
    this.#inARow += 1;
    if (before === undefined) return;
    if (!identity.isOtherThan(before)) {
      if (this.#inARow >= ONE_CLUSTER_LISTINGS) this.#former = this.#alternation = undefined;
      return;
    }
    const isBack = this.#former !== undefined && !identity.isOtherThan(this.#former);
    this.#former = before;
    this.#inARow = 1;
    this.#noticedBy = pollId;
    const nodes = before.toStringBeside(identity);
    if (this.#onReplaced === undefined) {
      throw unclear(`two clusters answer, or all nodes restarted meanwhile: ${nodes}`);
    }
    // The log has one line for an alternation, not one for each listing.
    if (this.#alternation !== undefined) return;
    if (isBack) {
      const end = `; polls succeed after ${ONE_CLUSTER_LISTINGS} lists in a row of one cluster`;
      this.#alternation = unclear(`two clusters answer by turns: ${nodes}`, end);
    }
    const [from = '', to = ''] = [before, identity].map(({ names }) => [...names].join(', '));
    this.#onReplaced({ before: from, after: to });
  }
}

function unclear(text: string, end = ''): RequestError {
  const remedy = `check where cluster_api.urls lead: a load balancer or DNS name must have the nodes of one cluster${end}`;
  return new RequestError('other', text, { endpoint: 'nodes', remedy });
}
