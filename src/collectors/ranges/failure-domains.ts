import type { NodeList, Tier } from '../../cockroach/node.ts';
import { PROBLEMS } from '../../vocabulary.ts';

const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const UNDERREPLICATED = 1 << PROBLEMS.indexOf('underreplicated');
/** With so many holders one may be a non-voter. */
const MIN_UNCERTAIN = 4;

/** Nodes that may stop together, and the ranges that would then be lost to their users. */
export interface FailureDomain {
  /** Ranges that have a quorum and would lose it. */
  quorum: number;
  /** Ranges that would lose their last live replica, whether they have a quorum or not. */
  allReplicas: number;
}

/** A single live node. It may stop only when its three numbers are 0. */
export interface NodeDomain extends FailureDomain {
  /** Ranges that have no quorum now and a live replica on the node. */
  withoutQuorum: number;
}

/** All live nodes of a locality. */
export interface LocalityDomain extends FailureDomain {
  readonly tier: string;
  /** The prefix up to the tier, as names of zones repeat: `region=us-east1,zone=b`. */
  readonly locality: string;
}

/** A live node and its localities, from broad to narrow. */
interface LiveNode extends NodeDomain {
  readonly localities: readonly LocalityDomain[];
}

/** What complete scans showed of a range. */
export interface HolderCounts {
  /** Holders in the last scan. */
  readonly last: number;
  /** Holders when it last had all of them in two scans; 0 while that is not known. */
  readonly intended: number;
  /** Whether it was under-replicated in the last scan. */
  readonly wasMissingSome: boolean;
}

/** The members of a cluster during one complete scan, and what depends on each of them and on each locality. */
export class FailureDomains {
  /** By node id. */
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  /** Ranges whose voters and non-voters cannot be distinguished while replicas are missing. */
  uncertain = 0;
  /** By node id; an array finds them faster than a Map. `undefined`: no member; `null`: not live. */
  readonly #members: (LiveNode | null | undefined)[] = [];
  /** Of the node with most. */
  #tiers = 0;
  readonly #isFirst: boolean;
  /** The holders of a range. */
  readonly #found: (LiveNode | null | undefined)[] = [];

  /** `isFirst`: no scan of this exporter has been complete before. */
  constructor({ toScan, toSkip, localities }: NodeList, isFirst: boolean) {
    this.#isFirst = isFirst;
    const nodes = new Map<number, NodeDomain>();
    const byPrefix = new Map<string, LocalityDomain>();
    for (const nodeId of toScan) {
      const domains = localityDomains(localities.get(nodeId) ?? [], byPrefix);
      const node: LiveNode = { quorum: 0, allReplicas: 0, withoutQuorum: 0, localities: domains };
      nodes.set(nodeId, node);
      this.#tiers = Math.max(this.#tiers, domains.length);
      this.#members[nodeId] = node;
    }
    for (const nodeId of toSkip) this.#members[nodeId] = null;
    this.nodes = nodes;
    this.localities = [...byPrefix.values()];
  }

  isMember(nodeId: number): boolean {
    return this.#members[nodeId] !== undefined;
  }

  isLive(nodeId: number): boolean {
    return this.isMember(nodeId) && this.#members[nodeId] !== null;
  }

  /** Adds a range that the first `count` of `holders` reported; returns what the next scan must know. It creates little. */
  addRange(
    holders: readonly number[],
    count: number,
    problems: number,
    { last, intended, wasMissingSome }: HolderCounts,
  ): HolderCounts {
    const isUnavailable = (problems & UNAVAILABLE) !== 0;
    const isReported = (problems & UNDERREPLICATED) !== 0;
    // One replica reports it for all: when that one moves, no replica does.
    const isMissingSome = isReported || (wasMissingSome && count <= last);
    const hasAll = !isMissingSome && !isUnavailable;
    const live = count + (hasAll && count !== last ? movedReplicas(count, intended) : 0);
    const wanted = isMissingSome ? intendedReplicas(count, intended) : live;
    if (isMissingSome && count >= MIN_UNCERTAIN) this.uncertain += 1;
    // One holder at once: others had been read before the range was split off, or after it was dropped.
    const isPart = count === 1 && last !== 1 && !(last === 0 && this.#isFirst);
    const spare = isUnavailable ? -1 : live - quorumOf(wanted);
    const isReal = !isPart || isUnavailable || (isReported && last > 1);
    if (isReal) this.#add(holders, count, live, spare);
    // One scan shows nothing for sure: a replica may have moved, or the range may have been split off.
    const isSure = !isMissingSome && (count === last || (count === 1 && !isPart));
    return { last: count, intended: isSure ? count : intended, wasMissingSome: isReported };
  }

  /** Of `live` replicas the range can lose `spare`; fewer than 0: it has no quorum. */
  #add(holders: readonly number[], count: number, live: number, spare: number): void {
    if (count <= spare) return;
    const found = this.#found;
    for (let at = 0; at < count; at += 1) {
      found[at] = this.#members[holders[at] ?? 0];
    }
    if (spare <= 0) {
      for (let at = 0; at < count; at += 1) {
        const node = found[at];
        if (!node) continue;
        increase(node, 1, live, spare);
        if (spare < 0) node.withoutQuorum += 1;
      }
    }
    for (let tier = 0; tier < this.#tiers; tier += 1) this.#addTier(tier, count, live, spare);
  }

  #addTier(tier: number, count: number, live: number, spare: number): void {
    const found = this.#found;
    for (let at = 0; at < count; at += 1) {
      const domain = found[at]?.localities[tier];
      if (domain === undefined) continue;
      let inside = 0;
      for (let other = 0; other < count; other += 1) {
        if (found[other]?.localities[tier] !== domain) continue;
        // Added with the first of its holders.
        if (other < at) break;
        inside += 1;
      }
      if (inside > 0) increase(domain, inside, live, spare);
    }
  }
}

/** Replicas that moved during the scan and were not seen: fewer than there were, or an even number, shows them. */
function movedReplicas(count: number, intended: number): number {
  return count < intended ? intended - count : 1 - (count % 2);
}

/** Of an under-replicated range: what it had before, else 3 where 1 or 2 are seen, and 5 where 3 or 4 are. */
function intendedReplicas(count: number, before: number): number {
  const isKnown = before > 1 || (before === 1 && count === 1);
  return Math.max(isKnown ? before : count + 1 + (count % 2), count);
}

/** Replicas that make a majority. */
export function quorumOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

function increase(domain: FailureDomain, inside: number, live: number, spare: number): void {
  if (spare >= 0 && inside > spare) domain.quorum += 1;
  if (inside === live) domain.allReplicas += 1;
}

function localityDomains(
  tiers: readonly Tier[],
  byPrefix: Map<string, LocalityDomain>,
): readonly LocalityDomain[] {
  let prefix = '';
  return tiers.map(({ key, value }) => {
    prefix += `${prefix === '' ? '' : ','}${key}=${value}`;
    const known = byPrefix.get(prefix);
    if (known !== undefined) return known;
    const domain = { tier: key, locality: prefix, quorum: 0, allReplicas: 0 };
    byPrefix.set(prefix, domain);
    return domain;
  });
}
