import type { KnownRanges } from './known-ranges.ts';
import { countPlaces } from './majority.ts';
import type { Members } from './members.ts';
import {
  IS_CHANGING,
  IS_SUSPECT,
  IS_EXHAUSTED,
  NO_PLACE,
  READ_AT_LEASEHOLDER,
} from './range-table.ts';

/** When the descriptors of a cluster were requested, and when some of them lost their validity, in ticks. */
export interface DescriptorAges {
  /** When the scan began. */
  readonly scanTick: number;
  /** A descriptor that is older by this many ticks is too old. */
  readonly maxAge: number;
  /** When a descriptor last showed that a zone was changed, by number of the table index. */
  readonly zoneChanges: ReadonlyMap<number, number>;
}

/** Far more than the ranges that are asked again in a scan. */
const MAX_UNANSWERED = 20_000;

/**
 * Decides whether the replicas of a range are verified: its descriptor names them, and nothing that the scan saw
 * contradicts it. Example: the descriptor names nodes 1, 2 and 3, and node 3 is not live. When nodes 1 and 2 report the range and
 * no other node does, it is verified. When node 4 reports it, too, a replica has moved: the descriptor is read again, and
 * what the replica with a valid lease says now counts.
 */
export class Verification {
  readonly #known: KnownRanges;
  readonly #members: Members;
  readonly #ages: DescriptorAges;
  readonly #unanswered = new Set<number>();
  #isInterrupted = false;

  constructor(known: KnownRanges, members: Members, ages: DescriptorAges) {
    this.#known = known;
    this.#members = members;
    this.#ages = ages;
  }

  /** The places of the descriptor that are on live nodes. */
  liveOf(slot: number): number {
    const { table } = this.#known;
    const places = table.placesOf(slot);
    let live = 0;
    for (let place = 0; place < places; place += 1) {
      if (this.#members.isLive(table.nodeAt(slot, place))) live |= 1 << place;
    }
    return live;
  }

  isVerified(slot: number): boolean {
    return (
      this.hasDescriptor(slot) &&
      ((this.isReadNow(slot) && this.#areNodesKnown(slot)) ||
        (this.isCurrent(slot) && this.isConfirmed(slot)))
    );
  }

  /** Whether it is known on which nodes the replicas are, or at least that those without a place are live. */
  #areNodesKnown(slot: number): boolean {
    const { table } = this.#known;
    return table.columns.replicas[slot] === table.placesOf(slot) || this.isConfirmed(slot);
  }

  /** Whether the voters are known: a descriptor was read, and each voter has a place. */
  hasDescriptor(slot: number): boolean {
    return this.#known.table.columns.voters[slot] !== 0;
  }

  /** Whether a replica with a valid lease has sent the descriptor since the scan began. */
  isReadNow(slot: number): boolean {
    const { marks, readAt } = this.#known.table.columns;
    const isFromLeaseholder = ((marks[slot] ?? 0) & READ_AT_LEASEHOLDER) !== 0;
    return isFromLeaseholder && (readAt[slot] ?? 0) >= this.#ages.scanTick;
  }

  /** Whether a replica reports that it serves nothing, and nobody has said who holds the lease: the holder or the leader decides. */
  lacksHolder(slot: number): boolean {
    const { marks, leases } = this.#known.table.columns;
    const isSuspect = ((marks[slot] ?? 0) & IS_SUSPECT) !== 0;
    return isSuspect && (leases[slot] ?? 0) >> 2 === NO_PLACE;
  }

  /** Records that a reporter that may hold the lease did not answer. */
  addUnanswered(rangeId: number): void {
    if (this.#unanswered.size < MAX_UNANSWERED) this.#unanswered.add(rangeId);
  }

  /** Records that no more reporters are asked in this scan, as too many requests failed. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  /** Whether a replica reports that it serves nothing, and one that may hold the lease has not answered: it may serve the range. */
  lacksAnswer(slot: number): boolean {
    if (this.#unanswered.size === 0 && !this.#isInterrupted) return false;
    if (!this.lacksHolder(slot)) return false;
    const { ids } = this.#known.table.columns;
    const isUnasked = this.#isInterrupted && !this.isExhausted(slot);
    return isUnasked || this.#unanswered.has(ids[slot] ?? 0);
  }

  /** Whether all reporters of the range were asked for its descriptor, and none was found to hold a valid lease. */
  isExhausted(slot: number): boolean {
    return ((this.#known.table.columns.marks[slot] ?? 0) & IS_EXHAUSTED) !== 0;
  }

  /** Whether nothing that happened since the descriptor was requested has made it doubtful. */
  isCurrent(slot: number): boolean {
    const { tableIndexes, readAt, marks } = this.#known.table.columns;
    if (((marks[slot] ?? 0) & IS_CHANGING) !== 0) return false;
    const readTick = readAt[slot] ?? 0;
    const changedTick = this.#ages.zoneChanges.get(tableIndexes[slot] ?? 0) ?? 0;
    return !this.isTooOld(slot) && readTick >= changedTick && !this.hasLostMember(slot);
  }

  /** Whether the descriptor is too old, and nothing else contradicts it. */
  isOnlyOld(slot: number): boolean {
    const isDoubtful = !this.hasDescriptor(slot) || this.hasLostMember(slot);
    return !isDoubtful && this.isTooOld(slot) && this.isConfirmed(slot);
  }

  isTooOld(slot: number): boolean {
    const { scanTick, maxAge } = this.#ages;
    return (this.#known.table.columns.readAt[slot] ?? 0) < scanTick - maxAge;
  }

  /** Whether a node of the descriptor went from live to not live after the descriptor was requested. */
  hasLostMember(slot: number): boolean {
    const { table } = this.#known;
    const readTick = table.columns.readAt[slot] ?? 0;
    const places = table.placesOf(slot);
    for (let place = 0; place < places; place += 1) {
      if (this.#members.wentDownAt(table.nodeAt(slot, place)) > readTick) return true;
    }
    return false;
  }

  /** Whether one of the nodes of the descriptor is not live. */
  namesDown(slot: number): boolean {
    return countPlaces(this.liveOf(slot)) < this.#known.table.placesOf(slot);
  }

  /** Whether the nodes that report the range in this scan are exactly its live replicas; of those without a place, as many. */
  isConfirmed(slot: number): boolean {
    const { table } = this.#known;
    const { replicas, found } = table.columns;
    const mask = table.reportedOf(slot);
    const unplaced = (replicas[slot] ?? 0) - table.placesOf(slot);
    return mask === this.liveOf(slot) && (found[slot] ?? 0) === countPlaces(mask) + unplaced;
  }

  /** The live nodes of the descriptor that do not report the range in this scan. */
  absentOf(slot: number): readonly number[] {
    const { table } = this.#known;
    const absent = this.liveOf(slot) & ~table.reportedOf(slot);
    const nodeIds: number[] = [];
    for (let place = 0; absent >> place !== 0; place += 1) {
      if ((absent & (1 << place)) !== 0) nodeIds.push(table.nodeAt(slot, place));
    }
    return nodeIds;
  }

  /** Whether a replica reports that it serves nothing, and the range is not among those that were asked a second time. */
  isSuspect(slot: number, checked: ReadonlySet<number>): boolean {
    const { ids, marks } = this.#known.table.columns;
    return ((marks[slot] ?? 0) & IS_SUSPECT) !== 0 && !checked.has(ids[slot] ?? 0);
  }
}
