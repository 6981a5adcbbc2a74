import type { NodeList, Tier } from '../../cockroach/node.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import { type KnownVoters, MIN_WITH_NON_VOTERS } from './voters.ts';

const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const UNDERREPLICATED = 1 << PROBLEMS.indexOf('underreplicated');

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

/** A range, as complete scans showed it. */
export interface HolderCounts {
  /** Holders in the last scan. */
  readonly last: number;
  /** Holders when it last had all of them in two scans; 0 while that is not known. */
  readonly intended: number;
  /** Whether it was under-replicated in the last scan. */
  readonly wasMissingSome: boolean;
}

/** The holders of a range, as a complete scan saw them. */
export interface HolderView {
  /** Number of nodes that reported it and have a column. */
  readonly reporting: number;
  /** Number of replicas on nodes that have no column. */
  readonly unplaced: number;
  /** Number of former holders that are not live. */
  readonly down: number;
  /** The range in the complete scan before. */
  readonly before: HolderCounts;
}

/** A range with at least one live replica. */
interface LiveRange extends HolderView {
  /** Node ids; the first `reporting` are those that reported the range. */
  readonly holders: readonly number[];
  /** A bit for each of PROBLEMS. */
  readonly problems: number;
  /** Number of its table index. */
  readonly tableIndex: number;
}

/**
 * The members of a cluster during one complete scan, and what depends on each of them and on each locality. Example: a
 * range has 3 replicas on the nodes 1, 2 and 3, and node 3 is down. 2 are live, the quorum is 2, so there is none to spare:
 * it counts for node 1, for node 2, and for each locality of these.
 */
export class FailureDomains {
  /** The live nodes by id. */
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  /**
   * Ranges whose voters are not known, or that have a holder without a column, where the figures are lower bounds for
   * that: of nodes while a replica is missing, of localities where one holds two or more replicas, but not all.
   */
  readonly unknownVoters = { node: 0, locality: 0 };
  readonly #voters: Pick<KnownVoters, 'votersOf'> | undefined;
  /** The members by node id; an array finds them faster than a Map. `undefined`: no member; `null`: not live. */
  readonly #members: (LiveNode | null | undefined)[] = [];
  /** Number of localities of the node with most. */
  #tiers = 0;
  readonly #isFirst: boolean;
  /** The reporting holders of the range that is being added. */
  readonly #reporting: (LiveNode | null | undefined)[] = [];

  /** `isFirst`: no scan of this exporter has been complete before. */
  constructor(
    { toScan, toSkip, localities }: NodeList,
    isFirst: boolean,
    voters?: Pick<KnownVoters, 'votersOf'>,
  ) {
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

  /** Adds a range; returns what the next scan must know. */
  addRange(range: LiveRange): HolderCounts {
    const { reporting, unplaced, down, before, problems } = range;
    const seen = reporting + unplaced;
    const { live, intended, isMissingSome } = countReplicas(seen, problems, before);
    const isUnavailable = (problems & UNAVAILABLE) !== 0;
    const isReported = (problems & UNDERREPLICATED) !== 0;
    // A range with one holder, which it had not before, was split off after others were read, or dropped before they were.
    const isPartial = seen === 1 && before.last !== 1 && !(before.last === 0 && this.#isFirst);
    if (!isPartial || isUnavailable || (isReported && before.last > 1)) {
      const voters = this.#voters?.votersOf(range.tableIndex, intended);
      // A new replica is a holder before it is a voter. Example: of nodes 1, 2 and 3 the last is down, and 4 gets a replica:
      // there are three holders, and yet one of three voters is missing while the range is under-replicated.
      const missing = Math.max(0, intended - live, isMissingSome ? down : 0);
      const canLose = isUnavailable ? -1 : spareReplicas(live, missing, voters ?? intended);
      const isUncertain = unplaced > 0 || (voters === undefined && intended >= MIN_WITH_NON_VOTERS);
      // A node without a column cannot say that it holds one of the last that are needed.
      if (isUncertain && (missing > 0 || (unplaced > 0 && canLose <= 0)))
        this.unknownVoters.node += 1;
      const isSplit = this.#addToDomains(range, live, canLose);
      if (isUncertain && isSplit) this.unknownVoters.locality += 1;
    }
    // One scan shows nothing for sure: a replica may have moved, or the range may have been split off.
    const isSure = !isMissingSome && (seen === before.last || (seen === 1 && !isPartial));
    return { last: seen, intended: isSure ? seen : before.intended, wasMissingSome: isReported };
  }

  /**
   * Adds a range that can lose `canLose` of its `live` replicas; below 0 it has no quorum. Returns whether a locality holds
   * two or more replicas of it, but not all.
   */
  #addToDomains(
    { holders, reporting }: Pick<LiveRange, 'holders' | 'reporting'>,
    live: number,
    canLose: number,
  ): boolean {
    for (let index = 0; index < reporting; index += 1) {
      this.#reporting[index] = this.#members[holders[index] ?? 0];
    }
    if (canLose <= 0) {
      for (let index = 0; index < reporting; index += 1) {
        const node = this.#reporting[index];
        if (!node) continue;
        increase(node, 1, live, canLose);
        if (canLose < 0) node.withoutQuorum += 1;
      }
    }
    let isSplit = false;
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      if (this.#addToTier(tier, reporting, live, canLose)) isSplit = true;
    }
    return isSplit;
  }

  #addToTier(tier: number, reporting: number, live: number, canLose: number): boolean {
    const nodes = this.#reporting;
    let isSplit = false;
    for (let index = 0; index < reporting; index += 1) {
      const domain = nodes[index]?.localities[tier];
      if (domain === undefined) continue;
      let inside = 0;
      for (let other = 0; other < reporting; other += 1) {
        if (nodes[other]?.localities[tier] !== domain) continue;
        // The domain was added with the first of its holders.
        if (other < index) break;
        inside += 1;
      }
      if (inside === 0) continue;
      increase(domain, inside, live, canLose);
      if (inside > 1 && inside < live) isSplit = true;
    }
    return isSplit;
  }
}

/** How many replicas of a range are live, and how many it should have. */
export interface ReplicaCount {
  readonly live: number;
  readonly intended: number;
  /** Whether it is under-replicated, or was in the last scan and has got no more since. */
  readonly isMissingSome: boolean;
}

/**
 * Counts the replicas of a range of which `count` were reported. Example: it had 3 in two scans, and 2 are reported now: one
 * has moved during the scan, and 3 are live. If it is reported as under-replicated, 2 of 3 are live.
 */
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
 * How many more replicas a range can lose whichever they are; below 0 it has no quorum. Which holder is a voter is not
 * known, so each missing one counts as a voter while voters are left. Example: of 3 voters and 2 non-voters one is missing:
 * in the worst case 2 voters are live, the quorum is 2, and 0 are to spare.
 */
function spareReplicas(live: number, missing: number, voters: number): number {
  const quorum = quorumOf(voters);
  const canLose = voters - missing - quorum;
  // Only the worst case has no quorum, and the server does not say `unavailable`: there is one.
  if (canLose < 0 && live >= quorum) return 0;
  return canLose;
}

/** Replicas that moved during the scan and were not seen: 2 or 4 in place of 3 or 5 show that one did. */
function movedReplicas(count: number, intended: number): number {
  return count < intended ? intended - count : 1 - (count % 2);
}

/** An under-replicated range should have as many as it had before; else 3 where 1 or 2 are seen, and 5 where 3 or 4 are. */
function intendedReplicas(count: number, before: number): number {
  const isKnown = before > 1 || (before === 1 && count === 1);
  return Math.max(isKnown ? before : count + 1 + (count % 2), count);
}

/** Replicas that make a majority: 2 of 3, 3 of 4. */
export function quorumOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

/** Counts a range of which `inside` of `live` replicas are in the domain. */
function increase(domain: FailureDomain, inside: number, live: number, canLose: number): void {
  if (canLose >= 0 && inside > canLose) domain.quorum += 1;
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
