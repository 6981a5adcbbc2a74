import type { NodeList, Tier } from '#cockroach';
import { countPlaces, keepsMajority, type RangeReplicas } from './majority.ts';
import type { Dependence, LocalityDomain, NodeDomain } from './scan-result.ts';

interface CountedLocality extends LocalityDomain {
  /** The places of the range that is being added which are inside. */
  inside: number;
}

/** A live node and its localities, from broad to narrow. */
interface LiveNode extends NodeDomain {
  readonly localities: readonly CountedLocality[];
}

/** A range whose replicas are verified. */
export interface VerifiedRange extends RangeReplicas {
  /** Ids of the nodes by place. */
  readonly nodes: readonly number[];
  /** Bit mask of the places whose nodes have the replica, also a stuck one: its data is there. */
  readonly held: number;
  /** It has replicas without a place, so that a last one cannot be told. */
  readonly hasUnplaced: boolean;
  /** A replica reports it as unavailable. */
  readonly isUnavailable: boolean;
}

/**
 * Sums up by node and by locality what depends on them. Example: a range has 3 voters on the nodes 1, 2 and 3, and node 3 is
 * down. 2 serve, the quorum is 2, so there is none to spare: it counts for node 1, for node 2, and for each locality of these.
 */
export class DependenceCounter implements Dependence {
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  readonly downReplicas: Map<number, number>;
  mostVoters = 0;
  /** The live nodes by id; an array finds them faster than a Map. */
  readonly #live: LiveNode[] = [];
  /** Scratch space for the localities of the range that is being added. */
  readonly #touched: CountedLocality[] = [];

  constructor({ toScan, toSkip, localities }: NodeList) {
    const nodes = new Map<number, NodeDomain>();
    const byPrefix = new Map<string, CountedLocality>();
    for (const nodeId of toScan) {
      const domains = localityDomains(localities.get(nodeId) ?? [], byPrefix);
      const node: LiveNode = {
        quorum: 0,
        allReplicas: 0,
        withoutQuorum: 0,
        named: 0,
        missing: 0,
        localities: domains,
      };
      nodes.set(nodeId, node);
      this.#live[nodeId] = node;
    }
    this.nodes = nodes;
    this.localities = [...byPrefix.values()];
    this.downReplicas = new Map(toSkip.map((nodeId) => [nodeId, 0]));
  }

  /** Counts a replica on a member, unless that is live, of a range with these voters. Returns whether the list of nodes has the node. */
  addDown(nodeId: number, voters: number): boolean {
    const count = this.downReplicas.get(nodeId);
    if (count === undefined) return this.#live[nodeId] !== undefined;
    this.downReplicas.set(nodeId, count + 1);
    this.mostVoters = Math.max(this.mostVoters, countPlaces(voters));
    return true;
  }

  /** Adds a range. Returns whether it has a majority. */
  add(range: VerifiedRange): boolean {
    const hasQuorum = keepsMajority(range, 0);
    const isWithout = !hasQuorum || range.isUnavailable;
    let touched = 0;
    let seen = 0;
    for (let place = 0; place < range.nodes.length; place += 1) {
      const bit = 1 << place;
      const node = this.#live[range.nodes[place] ?? 0];
      if (node === undefined) continue;
      if ((seen & bit) === 0) {
        const mask = placesOf(range.nodes, place);
        seen |= mask;
        node.named += 1;
        if ((range.voters & mask & ~range.held) !== 0) node.missing += 1;
        if (isWithout) node.withoutQuorum += 1;
        if (hasQuorum && !keepsMajority(range, mask)) node.quorum += 1;
        if (losesAll(range, mask)) node.allReplicas += 1;
      }
      for (const locality of node.localities) {
        if (locality.inside === 0) {
          this.#touched[touched] = locality;
          touched += 1;
        }
        locality.inside |= bit;
      }
    }
    for (let index = 0; index < touched; index += 1) {
      const locality = this.#touched[index];
      if (locality === undefined) continue;
      if (hasQuorum && !keepsMajority(range, locality.inside)) locality.quorum += 1;
      if (losesAll(range, locality.inside)) locality.allReplicas += 1;
      locality.inside = 0;
    }
    return hasQuorum;
  }
}

/** Whether no live replica is left without these places. */
function losesAll({ held, hasUnplaced }: VerifiedRange, stopped: number): boolean {
  return !hasUnplaced && (held & ~stopped) === 0;
}

/** The places of the node in this place: two while a replica moves between two of its stores. */
function placesOf(nodes: readonly number[], place: number): number {
  let mask = 0;
  for (let other = 0; other < nodes.length; other += 1) {
    if (nodes[other] === nodes[place]) mask |= 1 << other;
  }
  return mask;
}

function localityDomains(
  tiers: readonly Tier[],
  byPrefix: Map<string, CountedLocality>,
): readonly CountedLocality[] {
  const domains: CountedLocality[] = [];
  let prefix = '';
  for (const { key, value } of tiers) {
    prefix += `${prefix === '' ? '' : ','}${key}=${value}`;
    const known = byPrefix.get(prefix);
    const domain = known ?? { tier: key, locality: prefix, quorum: 0, allReplicas: 0, inside: 0 };
    if (known === undefined) byPrefix.set(prefix, domain);
    domains.push(domain);
  }
  return domains;
}
