import type { NodeList, Tier } from '../../cockroach/node.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import type { ReplicaHistory } from './range-table.ts';
import type { Dependence, FailureDomain, LocalityDomain, NodeDomain } from './result.ts';

// A complete scan shows of the replicas of one range: how many are live, how many it should have, how many more it
// can lose, and whether it has lost all of them. `FailureDomains` sums this up by node and by locality.

const UNAVAILABLE = 1 << PROBLEMS.indexOf('unavailable');
const UNDERREPLICATED = 1 << PROBLEMS.indexOf('underreplicated');
/** A range with so many intended replicas may have non-voters. */
export const MIN_WITH_NON_VOTERS = 4;

/** A range with at least one live replica, in a complete scan. */
export interface LiveRange {
  /** Node ids; the first `reporting` are those that reported the range. */
  readonly holders: readonly number[];
  readonly reporting: number;
  /** Number of replicas on nodes whose id is not kept: 1 for a range on nine nodes, as the table keeps eight ids. */
  readonly unplaced: number;
  /** Number of nodes that held the range before and are not live. */
  readonly down: number;
  readonly history: ReplicaHistory;
  /** A bit for each of PROBLEMS. */
  readonly problems: number;
  /** Number of its table index. */
  readonly tableIndexNumber: number;
}

export function isUnderreplicated(problems: number): boolean {
  return (problems & UNDERREPLICATED) !== 0;
}

interface CountedLocality extends LocalityDomain {
  /** Replicas inside of the range that is being added. */
  inside: number;
}

/** A live node and its localities, from broad to narrow. */
interface LiveNode extends NodeDomain {
  readonly localities: readonly CountedLocality[];
}

/** Number of voters of ranges with the number of a table index and so many replicas; undefined while it is not known. */
export type VotersOf = (tableIndexNumber: number, replicas: number) => number | undefined;

/**
 * The members of a cluster during one complete scan, and what depends on each of them and on each locality. Example: a
 * range has 3 replicas on the nodes 1, 2 and 3, and node 3 is down. 2 are live, the quorum is 2, so there is none to spare:
 * it counts for node 1, for node 2, and for each locality of these.
 */
export class FailureDomains implements Dependence {
  readonly nodes: ReadonlyMap<number, NodeDomain>;
  readonly localities: readonly LocalityDomain[];
  readonly unknownVoters = { node: 0, locality: 0 };
  readonly #votersOf: VotersOf;
  /** The members by node id; an array finds them faster than a Map. `undefined`: no member; `null`: not live. */
  readonly #members: (LiveNode | null | undefined)[] = [];
  readonly #isFirst: boolean;
  /** Scratch space for the localities of the range that is being added. */
  readonly #touched: CountedLocality[] = [];

  /** `isFirst`: no scan of this exporter has been complete before. */
  constructor(
    { toScan, toSkip, localities }: NodeList,
    isFirst: boolean,
    votersOf: VotersOf = () => undefined,
  ) {
    this.#isFirst = isFirst;
    this.#votersOf = votersOf;
    const nodes = new Map<number, NodeDomain>();
    const byPrefix = new Map<string, CountedLocality>();
    for (const nodeId of toScan) {
      const domains = localityDomains(localities.get(nodeId) ?? [], byPrefix);
      const node: LiveNode = { quorum: 0, allReplicas: 0, withoutQuorum: 0, localities: domains };
      nodes.set(nodeId, node);
      this.#members[nodeId] = node;
    }
    for (const nodeId of toSkip) this.#members[nodeId] = null;
    this.nodes = nodes;
    this.localities = [...byPrefix.values()];
  }

  isDown(nodeId: number): boolean {
    return this.#members[nodeId] === null;
  }

  /** Adds a range that has a live replica. Returns its history for the next scan, the same object when nothing has changed. */
  addRange(range: LiveRange): ReplicaHistory {
    const { reporting, unplaced, history, problems } = range;
    const found = reporting + unplaced;
    const { lastHolders, intended, wasUnderreplicated } = history;
    // One replica reports this for all. While that replica moves, none does.
    const isShort = isUnderreplicated(problems);
    const isMissingSome = isShort || (wasUnderreplicated && found <= lastHolders);
    // The scan may have found one replica of a range that has more. Example: the scan reads the nodes 1 and 2, then range 7
    // is split off on the nodes 1, 2 and 3, then the scan finds 7 on node 3 alone.
    const isNewOfCluster = lastHolders === 0 && this.#isFirst;
    const isPartlyFound = found === 1 && lastHolders !== 1 && !isNewOfCluster;
    if (!isPartlyFound || isUnavailable(problems) || (isShort && lastHolders > 1)) {
      this.#addReplicas(range, found, isMissingSome);
    }
    // One scan does not prove the number: a replica may have moved, or the range may have been split off.
    const isConfirmed = found === lastHolders || (found === 1 && !isPartlyFound);
    const after = isConfirmed && !isMissingSome ? found : intended;
    const isSame = found === lastHolders && after === intended && isShort === wasUnderreplicated;
    return isSame ? history : { lastHolders: found, intended: after, wasUnderreplicated: isShort };
  }

  /** Returns how many replicas a range of which a scan found `found` should have. */
  #countIntended(
    { tableIndexNumber, problems, history }: LiveRange,
    found: number,
    isMissingSome: boolean,
  ): number {
    const { lastHolders, intended } = history;
    if (isMissingSome) {
      // While it is not known how many it should have, that is 3 when 1 or 2 were found, and 5 when 3 or 4 were.
      const isKnown = intended > 1 || (intended === 1 && found === 1);
      return Math.max(isKnown ? intended : found + 1 + (found % 2), found);
    }
    if (isUnavailable(problems)) return Math.max(found, intended);
    // The first scan finds 4 replicas: all of them, or 4 of 5 while one moves. They are all if a range of the same table,
    // whose replica types have been read, has 4 as well.
    const isNumberKnown =
      lastHolders === 0
        ? this.#votersOf(tableIndexNumber, found) !== undefined
        : found === lastHolders;
    // Example: 3 of 5 replicas were found, so 2 have moved. While it is not known that they are 5, an even number shows that one has.
    const moved = found < intended ? intended - found : 1 - (found % 2);
    return found + (isNumberKnown ? 0 : moved);
  }

  /**
   * Adds a range of which a scan found `found` replicas. Example: the range had 3 replicas in two scans, and this scan finds
   * 2. One has moved while the scan ran, so that 3 are live. If the range is reported as under-replicated, one is missing, so
   * that 2 of 3 are live.
   */
  #addReplicas(range: LiveRange, found: number, isMissingSome: boolean): void {
    const { unplaced, down } = range;
    const intended = this.#countIntended(range, found, isMissingSome);
    const live = isMissingSome || isUnavailable(range.problems) ? found : intended;
    const voters = this.#votersOf(range.tableIndexNumber, intended);
    // A new replica is a holder before it is a voter. Example: of nodes 1, 2 and 3 the last is down, and 4 gets a replica:
    // there are three holders, and yet one of three voters is missing while the range is under-replicated.
    const missing = Math.max(0, intended - live, isMissingSome ? down : 0);
    const spare = isUnavailable(range.problems)
      ? -1
      : countSpare(live, missing, voters ?? intended);
    const isUncertain = unplaced > 0 || (voters === undefined && intended >= MIN_WITH_NON_VOTERS);
    // The range depends on all of its holders, and those whose id is not kept are not counted.
    const isHolderUncounted = unplaced > 0 && spare <= 0;
    if (isUncertain && (missing > 0 || isHolderUncounted)) this.unknownVoters.node += 1;
    const isSplit = this.#addToDomains(range, live, spare);
    if (isUncertain && isSplit) this.unknownVoters.locality += 1;
  }

  /**
   * Adds a range that can lose `spare` of its `live` replicas; below 0 it has no quorum. Returns whether a locality holds
   * two or more replicas of it, but not all.
   */
  #addToDomains({ holders, reporting }: LiveRange, live: number, spare: number): boolean {
    let touched = 0;
    for (let index = 0; index < reporting; index += 1) {
      const node = this.#members[holders[index] ?? 0];
      if (!node) continue;
      if (spare <= 0) increase(node, 1, live, spare);
      if (spare < 0) node.withoutQuorum += 1;
      for (const locality of node.localities) {
        if (locality.inside === 0) {
          this.#touched[touched] = locality;
          touched += 1;
        }
        locality.inside += 1;
      }
    }
    let isSplit = false;
    for (let index = 0; index < touched; index += 1) {
      const locality = this.#touched[index];
      if (locality === undefined) continue;
      const { inside } = locality;
      increase(locality, inside, live, spare);
      if (inside > 1 && inside < live) isSplit = true;
      locality.inside = 0;
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
  byPrefix: Map<string, CountedLocality>,
): readonly CountedLocality[] {
  let prefix = '';
  return tiers.map(({ key, value }) => {
    prefix += `${prefix === '' ? '' : ','}${key}=${value}`;
    const known = byPrefix.get(prefix);
    if (known !== undefined) return known;
    const domain = { tier: key, locality: prefix, quorum: 0, allReplicas: 0, inside: 0 };
    byPrefix.set(prefix, domain);
    return domain;
  });
}

function isUnavailable(problems: number): boolean {
  return (problems & UNAVAILABLE) !== 0;
}

/** The number of replicas that make a majority: 2 of 3, 3 of 4. */
export function quorumOf(replicas: number): number {
  return Math.floor(replicas / 2) + 1;
}

/**
 * How many more replicas a range can lose, whichever they are; below 0 it has no quorum. It is not known which replicas
 * are voters, so the missing ones count as voters. Example: a range has 3 voters and 2 non-voters, and one replica is
 * missing. In the worst case 2 voters are live. The quorum is 2, so the range can lose 0 more.
 */
function countSpare(live: number, missing: number, voters: number): number {
  const quorum = quorumOf(voters);
  const spare = voters - missing - quorum;
  // The server would report a range without a quorum as unavailable: the worst case is not true here.
  if (spare < 0 && live >= quorum) return 0;
  return spare;
}
