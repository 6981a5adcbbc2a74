import type { NodeList } from '../../cockroach/node.ts';
import { DependenceCounter } from './dependence.ts';
import type { ScannedRanges } from './descriptor-reader.ts';
import { bitsOf } from './known-ranges.ts';
import { PLACES, walk, type Work } from './range-table.ts';
import type { Confirmed } from './second-reading.ts';

/** A replica with one of these does not serve. */
const STUCK = bitsOf('no_raft_leader', 'circuit_breaker_error');
/** Only the leader reports these. */
const LEADER = bitsOf('no_lease', 'leader_not_lease_holder');
const NO_LEASE_PROBLEM = bitsOf('no_lease');
const UNAVAILABLE = bitsOf('unavailable');

/** A complete scan of all nodes, and what was confirmed of it. */
export interface CompleteScan extends ScannedRanges {
  readonly list: NodeList;
  readonly confirmed: Confirmed;
  /** Slots of ranges of which it is not known whether a node still has its replica. */
  readonly unknown: ReadonlySet<number>;
  /** The key space is complete, so that no range is missing. */
  readonly isNothingMissing: boolean;
}

/** A range that no live node reports and whose last descriptor has no replica on one. */
export interface LostRange {
  readonly rangeId: number;
  /** Of its last descriptor, voters first. */
  readonly nodes: readonly number[];
  readonly tableIndexNumber: number;
}

/** What a complete scan says of all ranges together. */
export interface JudgedRanges {
  readonly dependence: DependenceCounter;
  readonly unverified: number;
  readonly servingNothing: number;
  readonly lost: readonly LostRange[];
  /** Number of lost ranges; `lost` has the first ones. */
  readonly lostCount: number;
  /** Ranges that a node reports. */
  readonly reported: number;
}

/** Lost ranges that are named. */
const MAX_LOST = 5_000;

/** Judges every range of a complete scan. */
export function* judgeRanges(scan: CompleteScan): Work<JudgedRanges> {
  const judged = {
    dependence: new DependenceCounter(scan.list),
    unverified: 0,
    servingNothing: 0,
    lost: [] as LostRange[],
    lostCount: 0,
    reported: 0,
  };
  const { table } = scan.known;
  yield* walk(table.capacity, (from, to) => {
    const { ids, found } = table.columns;
    for (let slot = from; slot < to; slot += 1) {
      if (ids[slot] === 0) continue;
      if (found[slot] === 0) judgeUnreported(scan, slot, judged);
      else judgeReported(scan, slot, judged);
    }
  });
  return judged;
}

/** Whether no live node reports the range of this slot although its last descriptor is known, and all of its nodes are not live. */
export function isLost(
  {
    known,
    verification,
    isNothingMissing,
  }: Pick<CompleteScan, 'known' | 'verification' | 'isNothingMissing'>,
  slot: number,
): boolean {
  const { found, replicas } = known.table.columns;
  const count = replicas[slot] ?? 0;
  // Of a range on nine nodes one is not known, which may be live.
  if (found[slot] !== 0 || count === 0 || count > PLACES || isNothingMissing) return false;
  return verification.liveOf(slot) === 0;
}

type Counts = { -readonly [Name in keyof JudgedRanges]: JudgedRanges[Name] } & {
  lost: LostRange[];
};

function judgeUnreported(scan: CompleteScan, slot: number, judged: Counts): void {
  const { ids, tableIndexes, replicas, voters, votersBefore } = scan.known.table.columns;
  // No key is missing, so it is gone, and stays so when its nodes go down later.
  if (scan.isNothingMissing)
    for (const column of [replicas, voters, votersBefore]) column[slot] = 0;
  if (!isLost(scan, slot)) return;
  const nodes = nodesOf(scan, slot);
  for (const nodeId of nodes) judged.dependence.addDown(nodeId, voters[slot] ?? 0);
  judged.lostCount += 1;
  if (judged.lost.length === MAX_LOST) return;
  const tableIndexNumber = tableIndexes[slot] ?? 0;
  judged.lost.push({ rangeId: ids[slot] ?? 0, nodes, tableIndexNumber });
}

function judgeReported(scan: CompleteScan, slot: number, judged: Counts): void {
  const { verification, known, confirmed } = scan;
  const { ids, voters, votersBefore, replicas, problems, reported } = known.table.columns;
  judged.reported += 1;
  const live = verification.liveOf(slot);
  const nodes = nodesOf(scan, slot);
  for (let place = 0; place < nodes.length; place += 1) {
    if ((live & (1 << place)) === 0)
      judged.dependence.addDown(nodes[place] ?? 0, voters[slot] ?? 0);
  }
  const repeated = confirmed.repeated.get(ids[slot] ?? 0);
  const isVerified =
    verification.isVerified(slot) &&
    !verification.isSuspect(slot, confirmed.checked) &&
    !scan.unknown.has(slot);
  if (!isVerified) judged.unverified += 1;
  let stuck = 0;
  for (const [place, nodeId] of repeated === undefined ? [] : nodes.entries()) {
    if (((repeated?.get(nodeId) ?? 0) & STUCK) !== 0) stuck |= 1 << place;
  }
  // A replica that its live node does not have is lost. Example: node 3 runs again without the disk of one of its stores.
  const held = live & (reported[slot] ?? 0);
  const serving = held & ~stuck;
  const range = { voters: voters[slot] ?? 0, votersBefore: votersBefore[slot] ?? 0, serving };
  let servesNothing = repeated !== undefined && isLeaderStuck(scan, slot, repeated);
  if (isVerified) {
    const hasQuorum = judged.dependence.add({
      ...range,
      live,
      held,
      nodes,
      hasUnplaced: (replicas[slot] ?? 0) > PLACES,
      isUnavailable: ((problems[slot] ?? 0) & UNAVAILABLE) !== 0,
    });
    servesNothing ||= stuck !== 0 && !hasQuorum;
  }
  if (servesNothing) judged.servingNothing += 1;
}

/** Whether the replica that holds the lease, or the leader, has repeated that it serves nothing. */
function isLeaderStuck(
  { known: { table } }: CompleteScan,
  slot: number,
  repeated: ReadonlyMap<number, number>,
): boolean {
  const leaseholder = table.nodeAt(slot, (table.columns.leases[slot] ?? 0) >> 2);
  // A server that has restarted has forgotten the leases that it holds.
  const isUnknown = leaseholder === 0;
  for (const [nodeId, problems] of repeated) {
    if ((problems & NO_LEASE_PROBLEM) !== 0) return true;
    const isLeading = isUnknown || nodeId === leaseholder || (problems & LEADER) !== 0;
    if (isLeading && (problems & STUCK) !== 0) return true;
  }
  return false;
}

/** The nodes of the descriptor by place. */
function nodesOf({ known }: CompleteScan, slot: number): readonly number[] {
  const { nodes, replicas } = known.table.columns;
  const count = Math.min(replicas[slot] ?? 0, PLACES);
  // A view of the column for each of a million ranges would cost more than the judgement.
  const found: number[] = [];
  for (let place = 0; place < count; place += 1) found.push(nodes[slot * PLACES + place] ?? 0);
  return found;
}
