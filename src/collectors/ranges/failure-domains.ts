import type { NodeList, Tier } from '../../cockroach/node.ts';
import { PROBLEMS } from '../../vocabulary.ts';

const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const UNDERREPLICATED = 1 << PROBLEMS.indexOf('underreplicated');
/** A range with so many intended replicas may have non-voters. */
export const MIN_WITH_NON_VOTERS = 4;

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

/** A range with at least one live replica, as a complete scan saw it. */
interface SeenRange extends HolderCounts {
  /** Node ids; the first `placed` are those that reported the range. */
  readonly holders: readonly number[];
  readonly placed: number;
  /** Replicas on nodes that have no column. */
  readonly unplaced: number;
  /** Former holders that are not live. */
  readonly down: number;
  /** A bit for each of PROBLEMS. */
  readonly problems: number;
  /** Number of its place. */
  readonly place: number;
}

/** What is known of voters: those of a range at a place, with so many intended replicas. */
export interface VoterCounts {
  readonly votersOf: (place: number, intended: number) => number | undefined;
}

/** The members of a cluster during one complete scan, and what depends on each of them and on each locality. */
export class FailureDomains {
  /** By node id. */
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  /**
   * Ranges whose voters are not known, or that have a holder without a column, where the figures are lower bounds for
   * that: of nodes while a replica is missing, of localities where one holds two or more replicas, but not all.
   */
  readonly unknownVoters = { node: 0, locality: 0 };
  readonly #voters: VoterCounts | undefined;
  /** By node id; an array finds them faster than a Map. `undefined`: no member; `null`: not live. */
  readonly #members: (LiveNode | null | undefined)[] = [];
  /** Of the node with most. */
  #tiers = 0;
  readonly #isFirst: boolean;
  /** The holders of a range. */
  readonly #found: (LiveNode | null | undefined)[] = [];

  /** `isFirst`: no scan of this exporter has been complete before. */
  constructor({ toScan, toSkip, localities }: NodeList, isFirst: boolean, voters?: VoterCounts) {
    this.#isFirst = isFirst;
    this.#voters = voters;
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

  /** Adds a range; returns what the next scan must know. It creates little. */
  addRange(range: SeenRange): HolderCounts {
    const { holders, placed, unplaced, down, problems, place, last, intended: before } = range;
    const count = placed + unplaced;
    const { live, intended, isMissingSome } = countReplicas(count, problems, range);
    const isUnavailable = (problems & UNAVAILABLE) !== 0;
    const isReported = (problems & UNDERREPLICATED) !== 0;
    // One holder at once: others had been read before the range was split off, or after it was dropped.
    const isPart = count === 1 && last !== 1 && !(last === 0 && this.#isFirst);
    if (!isPart || isUnavailable || (isReported && last > 1)) {
      const voters = this.#voters?.votersOf(place, intended);
      // Until a new replica has caught up, it is a holder, but no voter, and the range is under-replicated. Example: of
      // nodes 1, 2, 3 the last is down and 4 gets a replica: three holders, and yet one of three voters is missing.
      const missing = Math.max(0, intended - live, isMissingSome ? down : 0);
      const spare = isUnavailable ? -1 : spareReplicas(live, missing, voters ?? intended);
      const isUncertain = unplaced > 0 || (voters === undefined && intended >= MIN_WITH_NON_VOTERS);
      // A node without a column cannot say that it holds one of the last that are needed.
      const isMissed = missing > 0 || (unplaced > 0 && spare <= 0);
      if (isUncertain && isMissed) this.unknownVoters.node += 1;
      const isSplit = this.#add(holders, placed, live, spare);
      if (isUncertain && isSplit) this.unknownVoters.locality += 1;
    }
    // One scan shows nothing for sure: a replica may have moved, or the range may have been split off.
    const isSure = !isMissingSome && (count === last || (count === 1 && !isPart));
    return { last: count, intended: isSure ? count : before, wasMissingSome: isReported };
  }

  /**
   * Adds a range that has a column for `placed` of its `live` replicas and can lose `spare` of them; fewer than 0: it has
   * no quorum. Returns whether a locality holds two or more replicas of it, but not all.
   */
  #add(holders: readonly number[], placed: number, live: number, spare: number): boolean {
    const found = this.#found;
    for (let at = 0; at < placed; at += 1) {
      found[at] = this.#members[holders[at] ?? 0];
    }
    if (spare <= 0) {
      for (let at = 0; at < placed; at += 1) {
        const node = found[at];
        if (!node) continue;
        increase(node, 1, live, spare);
        if (spare < 0) node.withoutQuorum += 1;
      }
    }
    let isSplit = false;
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      if (this.#addTier(tier, placed, live, spare)) isSplit = true;
    }
    return isSplit;
  }

  #addTier(tier: number, placed: number, live: number, spare: number): boolean {
    const found = this.#found;
    let isSplit = false;
    for (let at = 0; at < placed; at += 1) {
      const domain = found[at]?.localities[tier];
      if (domain === undefined) continue;
      let inside = 0;
      for (let other = 0; other < placed; other += 1) {
        if (found[other]?.localities[tier] !== domain) continue;
        // Added with the first of its holders.
        if (other < at) break;
        inside += 1;
      }
      if (inside === 0) continue;
      increase(domain, inside, live, spare);
      if (inside > 1 && inside < live) isSplit = true;
    }
    return isSplit;
  }
}

/** How many replicas of a range are live, and how many it should have. */
interface ReplicaCount {
  readonly live: number;
  readonly intended: number;
  /** Whether it is under-replicated, or was in the last scan and has got no more since. */
  readonly isMissingSome: boolean;
}

/** Of a range of which `count` replicas were reported. */
export function countReplicas(
  count: number,
  problems: number,
  { last, intended, wasMissingSome }: HolderCounts,
): ReplicaCount {
  // One replica reports it for all: when that one moves, no replica does.
  const isReported = (problems & UNDERREPLICATED) !== 0;
  const isMissingSome = isReported || (wasMissingSome && count <= last);
  if (isMissingSome) {
    return { live: count, intended: intendedReplicas(count, intended), isMissingSome };
  }
  if ((problems & UNAVAILABLE) !== 0) {
    return { live: count, intended: Math.max(count, intended), isMissingSome };
  }
  const live = count + (count === last ? 0 : movedReplicas(count, intended));
  return { live, intended: live, isMissingSome };
}

/**
 * How many more replicas a range can lose whichever they are; fewer than 0: it has no quorum. Which holder is a voter is
 * not known, so each missing one counts as a voter while voters are left. Example: 3 voters and 2 non-voters, one node
 * down: in the worst case 2 of 3 voters are live and the quorum is 2, none to spare.
 */
function spareReplicas(live: number, missing: number, voters: number): number {
  const quorum = quorumOf(voters);
  const spare = voters - missing - quorum;
  // Only the worst case has no quorum, and the server does not say `unavailable`: there is one.
  if (spare < 0 && live >= quorum) return 0;
  return spare;
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
