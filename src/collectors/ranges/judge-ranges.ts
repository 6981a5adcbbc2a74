import type { NodeList } from '#cockroach';
import { DependenceCounter, type VerifiedRange } from './dependence.ts';
import { nodesOf } from './descriptors.ts';
import { bitsOf, SERVES_NOTHING, UNAVAILABLE } from './known-ranges.ts';
import { isLost } from './lost-ranges.ts';
import { keepsMajority, type RangeReplicas } from './majority.ts';
import { type RangeMap, walk, type Work, MARK } from './range-map.ts';
import { NO_LEASE } from './replica.ts';
import type { Confirmed } from './second-reading.ts';
import type { ScannedRanges } from './verification.ts';

/** A replica with one of these does not serve. */
const STUCK = bitsOf('no_raft_leader', 'circuit_breaker_error');
/** Only the leader reports these. */
const LEADER = bitsOf('no_lease', 'leader_not_lease_holder');
const NO_LEASE_PROBLEM = bitsOf('no_lease');

/** A complete scan of all nodes, and what was confirmed of it. */
export interface CompleteScan extends ScannedRanges {
  readonly list: NodeList;
  readonly confirmed: Confirmed;
  /** Slots of ranges where it is not known whether a node still has its replica. */
  readonly unknown: ReadonlySet<number>;
  /** The key space is complete, so that no range is missing. */
  readonly isNothingMissing: boolean;
  /** Slots of ranges that a merge left behind. */
  readonly leftOver: ReadonlySet<number>;
  /** Slots of ranges without which the others join, while it is not known which of them are real. */
  readonly overlapping: ReadonlySet<number>;
  /** Slots of those of `overlapping` that may be left over, and were not there for long: they are not verified, whatever they report. */
  readonly quiet: ReadonlySet<number>;
  /** Nodes that have come up or joined since the scan began: nobody has asked them what they hold. */
  readonly returned: ReadonlySet<number>;
}

/** What decides whether a range of a complete scan stands. */
export type CheckedScan = Pick<CompleteScan, 'known' | 'verification' | 'confirmed' | 'unknown'>;

/** What a complete scan says of all ranges together. */
export interface JudgedRanges {
  readonly dependence: DependenceCounter;
  /** Nodes of reported ranges that the list of nodes does not have: they may have joined since, and be live. */
  readonly unlisted: Set<number>;
  unverified: number;
  servingNothing: number;
  /** Part of `servingNothing`: ranges that are neither without a majority nor reported as unavailable. */
  stuck: number;
  /** Ranges without a majority of live voters that no node reports as unavailable, by table. */
  readonly unreported: Map<number, number>;
  /** Slots of ranges that only replicas without the lease report as unavailable, while all voters are live and the holder serves. */
  readonly disputed: number[];
  /** Reported ranges that serve nothing by a replica that was not asked a second time. */
  unconfirmed: number;
  /** Slots of the first lost ranges. */
  readonly lost: number[];
  lostCount: number;
  /** Ranges that a node reports. */
  reported: number;
}

/** Lost ranges that are named. */
const MAX_LOST = 5_000;

/** Judges every range of a complete scan. */
export function* judgeRanges(scan: CompleteScan): Work<JudgedRanges> {
  const judged: JudgedRanges = {
    dependence: new DependenceCounter(scan.list),
    unlisted: new Set(),
    unverified: 0,
    servingNothing: 0,
    stuck: 0,
    unreported: new Map(),
    disputed: [],
    unconfirmed: 0,
    lost: [],
    lostCount: 0,
    reported: 0,
  };
  const { map } = scan.known;
  yield* walk(map.capacity, (from, to) => {
    const { ids, found } = map.columns;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      if (found[slot] === 0) judgeUnreported(scan, slot, judged);
      else judgeReported(scan, slot, judged);
    }
  });
  return judged;
}

function judgeUnreported(scan: CompleteScan, slot: number, judged: JudgedRanges): void {
  const { map } = scan.known;
  if (!isLost(scan, slot)) return;
  const nodes = nodesOf(map, slot);
  if (hasReturned(scan, nodes)) return;
  const voting = map.votersOf(slot);
  for (const nodeId of nodes) judged.dependence.addDown(nodeId, voting);
  judged.lostCount += 1;
  if (judged.lost.length < MAX_LOST) judged.lost.push(slot);
}

function judgeReported(scan: CompleteScan, slot: number, judged: JudgedRanges): void {
  const { verification, known, confirmed } = scan;
  const { ids, problems } = known.map.columns;
  judged.reported += 1;
  // It serves no key, whatever its replicas report.
  if (scan.leftOver.has(slot)) return;
  const nodes = nodesOf(known.map, slot);
  const voting = known.map.votersOf(slot);
  for (const nodeId of nodes) {
    if (!judged.dependence.addDown(nodeId, voting)) judged.unlisted.add(nodeId);
  }
  const isQuiet = scan.quiet.has(slot);
  const repeated = confirmed.repeated.get(ids[slot] ?? 0);
  const isStuck = repeated === undefined ? false : isLeaderStuck(scan, slot, repeated);
  const isLeaderKnown = isStuck !== undefined || !keepsMajority(replicasOf(scan, slot), 0);
  const isVerified =
    !isQuiet &&
    !scan.overlapping.has(slot) &&
    isLeaderKnown &&
    !hasReturned(scan, nodes) &&
    isVerifiedBy(scan, slot);
  if (!isVerified) judged.unverified += 1;
  if (isQuiet) return;
  if (verification.isUnchecked(slot, confirmed.checked)) judged.unconfirmed += 1;
  let servesNothing = isStuck === true;
  const isUnavailable = ((problems[slot] ?? 0) & UNAVAILABLE) !== 0;
  let hasQuorum = !isUnavailable;
  if (isVerified) {
    const range = replicasOf(scan, slot);
    hasQuorum = judged.dependence.add({
      ...range,
      nodes,
      hasUnplaced: known.map.replicasOf(slot) > nodes.length,
      isUnavailable,
    });
    servesNothing ||= range.serving !== range.held && !hasQuorum;
    if (!hasQuorum && !isUnavailable) increase(judged.unreported, known.tableOf(slot));
    if (isUnavailable && !servesNothing && isDisputed(scan, slot, range))
      judged.disputed.push(slot);
  } else if (scan.overlapping.has(slot)) {
    // It may be left over: that it is not verified is all that is known.
    return;
  }
  if (!servesNothing) return;
  judged.servingNothing += 1;
  if (hasQuorum && !isUnavailable) judged.stuck += 1;
}

/** Whether one of the nodes of a range has come up or joined since the scan began. Example: node 2 returns, and becomes the only voter. */
function hasReturned({ returned }: CompleteScan, nodes: readonly number[]): boolean {
  return returned.size > 0 && nodes.some((nodeId) => returned.has(nodeId));
}

function increase(counts: Map<number, number>, key: number): void {
  counts.set(key, 1 + (counts.get(key) ?? 0));
}

/**
 * Whether the holder of a lease that is valid in this scan lists a range without the flag that others report, while all voters are live.
 * Example: node 6 takes nodes 1 and 2 for dead, and reports their ranges as unavailable, which these nodes serve.
 */
function isDisputed(
  { known, verification }: CompleteScan,
  slot: number,
  { voters, votersBefore, held }: ReturnType<typeof replicasOf>,
): boolean {
  const { marks, leases } = known.map.columns;
  const isListedByHolder = ((leases[slot] ?? 0) & 3) !== NO_LEASE;
  const areAllLive = ((voters | votersBefore) & ~held) === 0;
  const isStated = ((marks[slot] ?? 0) & MARK.holderHasNoQuorum) !== 0;
  return isListedByHolder && verification.isReadNow(slot) && areAllLive && !isStated;
}

/** Whether the replicas of the range are verified, and what they reported was confirmed. */
function isVerifiedBy({ verification, confirmed, unknown }: CheckedScan, slot: number): boolean {
  return (
    verification.isVerified(slot) &&
    !verification.isUnchecked(slot, confirmed.checked) &&
    !verification.lacksAnswer(slot) &&
    !unknown.has(slot)
  );
}

/**
 * What a scan shows of whether a merge left a range behind:
 *
 * - stands: no, as a verified majority of the voters serves. A merge needs a majority, so that only a minority can miss it.
 * - real: no, as it is verified, and the holder of a valid lease has answered in this scan. Example: of the voters one holds the lease, one
 *   is down and one is stuck, so that it serves nothing; its keys are its own all the same.
 * - left: it may be so, as only a minority of its voters report it, and none of them holds a valid lease.
 * - unclear: nothing shows either.
 */
type Remains = 'stands' | 'real' | 'left' | 'unclear';

/** Judges the range in this slot. */
export function judgeRemains(scan: CheckedScan, slot: number): Remains {
  const { verification } = scan;
  const { map } = scan.known;
  if (isVerifiedBy(scan, slot) && keepsMajority(replicasOf(scan, slot), 0)) return 'stands';
  if (verification.isReadNow(slot)) return verification.isVerified(slot) ? 'real' : 'unclear';
  if (!verification.hasDescriptor(slot)) return 'unclear';
  const [voters, votersBefore] = [map.votersOf(slot), map.votersBeforeOf(slot)];
  const isMajority = keepsMajority({ voters, votersBefore, serving: map.reportedOf(slot) }, 0);
  return isMajority ? 'unclear' : 'left';
}

/** Whether a replica reports that the range is unavailable, or that it serves nothing, unless it took that back when it was asked again. */
export function isTroubled(
  { known: { map }, confirmed }: Pick<CheckedScan, 'known' | 'confirmed'>,
  slot: number,
): boolean {
  const { ids, problems } = map.columns;
  const reported = problems[slot] ?? 0;
  const rangeId = ids[slot] ?? 0;
  if ((reported & UNAVAILABLE) !== 0) return true;
  const isTakenBack = confirmed.checked.has(rangeId) && !confirmed.repeated.has(rangeId);
  return (reported & SERVES_NOTHING) !== 0 && !isTakenBack;
}

/** The voters of the range, and which of its replicas are there and serve. */
function replicasOf(
  { known, verification, confirmed }: CheckedScan,
  slot: number,
): RangeReplicas & Pick<VerifiedRange, 'held'> {
  const { map } = known;
  // A replica that its live node does not have is lost. Example: node 3 runs again without the disk of one of its stores.
  const held = verification.liveOf(slot) & map.reportedOf(slot);
  const repeated = confirmed.repeated.get(map.columns.ids[slot] ?? 0);
  let stuck = 0;
  const places = repeated === undefined ? 0 : map.placesOf(slot);
  for (let place = 0; place < places; place += 1) {
    const nodeId = map.nodeAt(slot, place);
    if (((repeated?.get(nodeId) ?? 0) & STUCK) !== 0) stuck |= 1 << place;
  }
  return {
    voters: map.votersOf(slot),
    votersBefore: map.votersBeforeOf(slot),
    held,
    serving: held & ~stuck,
  };
}

/**
 * Whether the replica that holds the lease, or the leader, has repeated that it serves nothing; undefined where all were asked, nobody
 * says who that is, and most are not stuck: after restarts nobody may hold the lease of a range that nobody has read since.
 */
function isLeaderStuck(
  { known: { map }, verification }: CompleteScan,
  slot: number,
  repeated: ReadonlyMap<number, number>,
): boolean | undefined {
  const leaseholder = map.nodeAt(slot, (map.columns.leases[slot] ?? 0) >> 2);
  let isSomeStuck = false;
  for (const [nodeId, problems] of repeated) {
    if ((problems & NO_LEASE_PROBLEM) !== 0) return true;
    if ((problems & STUCK) === 0) continue;
    if (nodeId === leaseholder || (problems & LEADER) !== 0) return true;
    isSomeStuck = true;
  }
  // A server that has restarted has forgotten the leases that it holds.
  const isUnknown = isSomeStuck && leaseholder === 0 && !verification.lacksAnswer(slot);
  if (!isUnknown) return false;
  if (!isMajorityFree(slot, map, repeated)) return true;
  return verification.isExhausted(slot) ? undefined : false;
}

/** Whether more than half of the nodes that report the range report no stuck replica: one of them may lead, where nobody was asked who does. */
function isMajorityFree(
  slot: number,
  { columns }: RangeMap,
  repeated: ReadonlyMap<number, number>,
): boolean {
  const stuck = [...repeated.values()].filter((problems) => (problems & STUCK) !== 0).length;
  return 2 * stuck < (columns.found[slot] ?? 0);
}
