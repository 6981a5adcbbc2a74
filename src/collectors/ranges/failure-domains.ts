import type { NodeList, Tier } from '../../cockroach/node.ts';
import {
  countReplicas,
  countSpare,
  isUnavailable,
  isUnderreplicated,
  type ReplicaCount,
  type ReplicaHistory,
} from './lost-replicas.ts';
import { type KnownVoters, MIN_WITH_NON_VOTERS } from './voters.ts';

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

/** The holders of a range in a complete scan. */
export interface ScannedHolders {
  /** Number of nodes that reported the range and have a column in the table. */
  readonly reporting: number;
  /** Number of replicas that were reported by nodes without a column: 1 for a range with nine holders. */
  readonly unplaced: number;
  /** Number of nodes that held the range before and are not live. */
  readonly down: number;
  readonly history: ReplicaHistory;
}

/** A range with at least one live replica. */
interface LiveRange extends ScannedHolders {
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

  /** Adds a range that has a live replica. Returns the history of the range for the next scan. */
  addRange(range: LiveRange): ReplicaHistory {
    const { reporting, unplaced, history, problems } = range;
    const found = reporting + unplaced;
    const { live, intended, isMissingSome } = this.#countReplicas(range, found);
    const isPartlyFound = this.#isPartlyFound(found, history);
    const isShort = isUnderreplicated(problems);
    if (!isPartlyFound || isUnavailable(problems) || (isShort && history.lastHolders > 1)) {
      this.#addReplicas(range, { live, intended, isMissingSome });
    }
    // One scan does not prove the number: a replica may have moved, or the range may have been split off.
    const isConfirmed = found === history.lastHolders || (found === 1 && !isPartlyFound);
    return {
      lastHolders: found,
      intended: isConfirmed && !isMissingSome ? found : history.intended,
      wasUnderreplicated: isShort,
    };
  }

  /**
   * Counts the replicas of a range. Example: its first scan finds 4, which may be 5 of which one moved. Once the types of a
   * range of the same table have been read and are 4, they are 4 here, too.
   */
  #countReplicas({ tableIndex, problems, history }: LiveRange, found: number): ReplicaCount {
    const counted = countReplicas(found, problems, history);
    if (history.lastHolders > 0 || counted.isMissingSome) return counted;
    const isSampled = this.#voters?.votersOf(tableIndex, found) !== undefined;
    return isSampled ? { ...counted, live: found, intended: found } : counted;
  }

  /**
   * Whether the scan has found one replica of a range that has more, as it had another number in the scan before. Example:
   * the scan reads the nodes 1 and 2, then range 7 is split off on the nodes 1, 2 and 3, then the scan reads node 3. It
   * finds 7 on node 3 alone.
   */
  #isPartlyFound(found: number, { lastHolders }: ReplicaHistory): boolean {
    const isNewOfCluster = lastHolders === 0 && this.#isFirst;
    return found === 1 && lastHolders !== 1 && !isNewOfCluster;
  }

  #addReplicas(range: LiveRange, { live, intended, isMissingSome }: ReplicaCount): void {
    const { unplaced, down } = range;
    const voters = this.#voters?.votersOf(range.tableIndex, intended);
    // A new replica is a holder before it is a voter. Example: of nodes 1, 2 and 3 the last is down, and 4 gets a replica:
    // there are three holders, and yet one of three voters is missing while the range is under-replicated.
    const missing = Math.max(0, intended - live, isMissingSome ? down : 0);
    const spare = isUnavailable(range.problems)
      ? -1
      : countSpare(live, missing, voters ?? intended);
    const isUncertain = unplaced > 0 || (voters === undefined && intended >= MIN_WITH_NON_VOTERS);
    // The range depends on all of its holders, and those without a column are not counted.
    const isHolderUncounted = unplaced > 0 && spare <= 0;
    if (isUncertain && (missing > 0 || isHolderUncounted)) this.unknownVoters.node += 1;
    const isSplit = this.#addToDomains(range, live, spare);
    if (isUncertain && isSplit) this.unknownVoters.locality += 1;
  }

  /**
   * Adds a range that can lose `spare` of its `live` replicas; below 0 it has no quorum. Returns whether a locality holds
   * two or more replicas of it, but not all.
   */
  #addToDomains(
    { holders, reporting }: Pick<LiveRange, 'holders' | 'reporting'>,
    live: number,
    spare: number,
  ): boolean {
    for (let index = 0; index < reporting; index += 1) {
      this.#reporting[index] = this.#members[holders[index] ?? 0];
    }
    if (spare <= 0) {
      for (let index = 0; index < reporting; index += 1) {
        const node = this.#reporting[index];
        if (!node) continue;
        increase(node, 1, live, spare);
        if (spare < 0) node.withoutQuorum += 1;
      }
    }
    let isSplit = false;
    for (let tier = 0; tier < this.#tiers; tier += 1) {
      if (this.#addToTier(tier, reporting, live, spare)) isSplit = true;
    }
    return isSplit;
  }

  #addToTier(tier: number, reporting: number, live: number, spare: number): boolean {
    const nodes = this.#reporting;
    let isSplit = false;
    for (let index = 0; index < reporting; index += 1) {
      const domain = nodes[index]?.localities[tier];
      if (domain === undefined) continue;
      let inside = 0;
      for (let other = 0; other < reporting; other += 1) {
        if (nodes[other]?.localities[tier] !== domain) continue;
        // The first holder of the domain has added it for all.
        if (other < index) break;
        inside += 1;
      }
      if (inside === 0) continue;
      increase(domain, inside, live, spare);
      if (inside > 1 && inside < live) isSplit = true;
    }
    return isSplit;
  }
}

/**
 * Counts a range of which `inside` of `live` replicas are in the domain. Example: a range can lose 1 of 3 live replicas. A
 * zone with 2 of them counts for the quorum, and a zone with all 3 for both numbers.
 */
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
