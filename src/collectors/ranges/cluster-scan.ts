import { inSlices, sum } from '#base';
import type { ClusterApi } from '#cockroach';
import { type Assignment, findReturned } from './assignment.ts';
import { reportersOf } from './descriptors.ts';
import { warnIgnored } from './ignoring-urls.ts';
import {
  type CheckedScan,
  type CompleteScan,
  isTroubled,
  type JudgedRanges,
  judgeRanges,
  judgeRemains,
} from './judge-ranges.ts';
import { endsWithout, MAX_READ_AGAIN, type OpenEnds } from './key-space.ts';
import type { KnownRanges } from './known-ranges.ts';
import type { KeySpace, LeftOvers } from './left-overs.ts';
import { isLost, listLost } from './lost-ranges.ts';
import { findCandidates, findOverlapping } from './overlaps.ts';
import { type RangeMap, walk, MARK } from './range-map.ts';
import type { ClusterScan, HeldRange, ScannedNode } from './scan-result.ts';
import type { RangesState, ScanContext } from './scan-state.ts';
import { findProved, readsDescriptors, type VerifiedScan } from './verify-scan.ts';

/** The map is rebuilt without the ranges that are gone once they are an eighth of all: that takes as long as filling it. */
const MAX_GONE_SHARE = 1 / 8;

/** Judges each range of a scan that read all nodes of the cluster. */
export async function judgeClusterScan(
  api: ClusterApi,
  context: ScanContext,
  { nodes, ...assignment }: Assignment & { readonly nodes: readonly ScannedNode[] },
  verified: VerifiedScan,
): Promise<ClusterScan> {
  const { state } = context;
  const { reading, members, known } = state;
  const space = await judgeKeySpace(verified, state.leftOvers);
  const { open, leftOver, overlapping } = space;
  const isNothingMissing = open.size === 0;
  const status = reading.status(readsDescriptors(context));
  const quiet = state.leftOvers.add(verified, space, assignment.toSkip);
  const scan = {
    ...verified,
    list: assignment,
    isNothingMissing,
    leftOver,
    overlapping,
    quiet,
    returned: new Set<number>(),
  };
  const judged = await judge(api, context, scan);
  const withoutProblems = sum(nodes.map((node) => node.withoutProblems));
  const isUnread = status.state !== 'read' || withoutProblems > 0;
  if (!isUnread && judged.unverified === 0) members.prove();
  const isLostKnown = isNothingMissing || members.areProven(assignment.toSkip);
  if (isLostKnown) for (const slot of judged.lost) listLost(context, slot);
  const ignoringUrls = state.ignoring.names(context.clock.monotonicMs());
  warnIgnored(context, ignoringUrls);
  // Example: a proxy drops `ranges=`, so that nobody can be asked whether replicas without a leader have none still.
  const isConfirmed = judged.unconfirmed === 0 || verified.confirmed.checked.size > 0;
  const isServingKnown = isConfirmed && withoutProblems === 0;
  const held = (slots: Iterable<number>) => Array.from(slots, (slot) => describeHeld(known, slot));
  const result = {
    unverified: isUnread ? judged.reported : judged.unverified,
    servingNothing:
      judged.servingNothing === 0 && !isServingKnown ? undefined : judged.servingNothing,
    stuck: judged.stuck,
    unreported: judged.unreported,
    disputed: describeDisputed(known, judged.disputed),
    isServingBound: judged.unconfirmed > 0,
    leftOver: held(leftOver),
    keySpace: {
      isComplete: isNothingMissing,
      ...state.gaps.add(overlapping.size > 0 ? NOTHING_OPEN : open),
      overlapping: held(overlapping),
    },
    dependence: isUnread ? undefined : judged.dependence,
    withoutProblems,
    ignoringUrls,
    descriptors: status,
    lost: isLostKnown ? judged.lostCount : undefined,
  };
  await forgetRanges(state, (slot) => isLost(scan, slot));
  return result;
}

/**
 * Remembers what a scan that did not read all nodes shows. It judges no range, but the keys may show, too, that what reports a problem lies
 * over ranges that report none.
 */
export async function judgePartialScan(
  { state: { leftOvers } }: ScanContext,
  { toSkip }: Assignment,
  verified: VerifiedScan,
): Promise<void> {
  leftOvers.addPartial(verified, await judgeKeySpace(verified, leftOvers), toSkip);
}

/**
 * Judges the ranges; where some seem lost or without a majority, or are on a node that is not listed, once more with the nodes that have come
 * up or joined meanwhile.
 */
async function judge(
  api: ClusterApi,
  context: ScanContext,
  scan: CompleteScan,
): Promise<JudgedRanges> {
  const judged = await inSlices(judgeRanges(scan));
  const { unreported, lostCount, unlisted } = judged;
  if (unreported.size === 0 && lostCount === 0 && unlisted.size === 0) return judged;
  const returned = await findReturned(api, context, scan.list, unlisted);
  return returned.size === 0 ? judged : inSlices(judgeRanges({ ...scan, returned }));
}

const NOTHING_OPEN: OpenEnds = new Map();
const NO_SLOTS: ReadonlySet<number> = new Set();

/**
 * Finds the gaps of the key space, and what lies over it. What is left of a range that was merged overlaps with others, which join
 * without it. It is left over when all others are real, and stays so; else it is not known which of them are. Example: node 4 has
 * returned with an old replica of [b, d), and the ranges [b, c) and [c, d) are there, each with a majority of its voters.
 */
async function judgeKeySpace(
  { keys, changed, ...scan }: VerifiedScan,
  leftOvers: LeftOvers,
): Promise<KeySpace> {
  const nothing = {
    open: NOTHING_OPEN,
    leftOver: NO_SLOTS,
    overlapping: NO_SLOTS,
    doubtful: changed,
    isOverlapAlone: false,
  };
  if (keys === undefined) return nothing;
  const { map } = scan.known;
  const isDoubtful = (slot: number): boolean => {
    const remains = judgeRemains(scan, slot);
    return remains === 'left' || remains === 'unclear';
  };
  const proved = findProved(scan, leftOvers);
  const open = endsWithout(map, keys.open, proved);
  const none = { ...nothing, open, leftOver: proved };
  if (keys.readAgain === 0) return none;
  // This many open ends are no overlap, and their ranges were not all read again.
  if (open.size > 2 * MAX_READ_AGAIN) return none;
  const candidates = await inSlices(findCandidates(map, open, isDoubtful));
  const unproved = candidates.filter((slot) => !proved.has(slot));
  const found = await inSlices(findOverlapping(map, open, unproved, isDoubtful));
  const overlapping = found ?? NO_SLOTS;
  if (overlapping.size === 0) return none;
  // Keys that were read before a split lie over the new range, too.
  const areKeysCurrent = keys.areRead && keys.readAgain < MAX_READ_AGAIN;
  const others = (slot: number): boolean => !overlapping.has(slot) && !proved.has(slot);
  const areOthersClear =
    areKeysCurrent &&
    [...overlapping].every(isDoubtful) &&
    !(await hasRange(map, (slot) => others(slot) && areKeysDoubtful(scan, slot)));
  const isProved =
    areOthersClear && [...overlapping].every((slot) => judgeRemains(scan, slot) === 'left');
  const hasDoubtful = await hasRange(map, (slot) => others(slot) && isDoubtful(slot));
  if (isProved && !hasDoubtful) return { ...nothing, leftOver: proved.union(overlapping) };
  // Example: [a, b) and [b, c) are real, [c, d) is missing, and [a, d) is left over. Only that one joins the keys, so that they have a gap.
  const isGap = hasDoubtful && ![...overlapping].some(isDoubtful);
  if (isGap) return none;
  const isOverlapAlone =
    areOthersClear &&
    [...overlapping].every(
      (slot) => !scan.verification.hasDescriptor(slot) || judgeRemains(scan, slot) === 'left',
    ) &&
    !(await hasRange(map, (slot) => others(slot) && isDoubtful(slot) && isTroubled(scan, slot)));
  const doubtful = changed.union(
    new Set([...overlapping].filter((slot) => judgeRemains(scan, slot) !== 'stands')),
  );
  return { ...none, overlapping, doubtful, isOverlapAlone };
}

/** Whether replicas differ in the keys of the range, and none with a valid lease has said which are right: some have not seen a split. */
function areKeysDoubtful({ known, verification }: CheckedScan, slot: number): boolean {
  const differ = ((known.map.columns.marks[slot] ?? 0) & MARK.isUncertain) !== 0;
  return differ && !verification.isReadNow(slot);
}

/** Whether one of the reported ranges is meant. */
async function hasRange(map: RangeMap, isMeant: (slot: number) => boolean): Promise<boolean> {
  const [slot] = await inSlices(map.findSlots(isMeant, 1));
  return slot !== undefined;
}

/** The ranges in these slots, and the nodes that report them as unavailable. */
function describeDisputed(known: KnownRanges, slots: readonly number[]): ClusterScan['disputed'] {
  const { ids } = known.map.columns;
  const rangeIds = new Set(slots.map((slot) => ids[slot] ?? 0));
  const byTable = Map.groupBy(slots, (slot) => known.tableOf(slot));
  const nodes = known.claims.flatMap(({ rangeId, nodeId }) =>
    rangeIds.has(rangeId) ? [nodeId] : [],
  );
  return {
    rangeIds,
    byTable: new Map(Array.from(byTable, ([tableId, { length }]) => [tableId, length])),
    nodeIds: [...new Set(nodes)].toSorted((a, b) => a - b),
  };
}

function describeHeld({ map, tableIndexes }: KnownRanges, slot: number): HeldRange {
  const { ids, tableIndexes: numbers } = map.columns;
  return {
    rangeId: ids[slot] ?? 0,
    nodeIds: reportersOf(map, slot).toSorted((a, b) => a - b),
    tableIndex: tableIndexes.get(numbers[slot] ?? 0),
  };
}

/**
 * Forgets the ranges that no node reported in this scan, except those to keep: their descriptors and leases at once, themselves and the numbers
 * of their tables once they are many. Example: a range of node 1 was merged, as the list of node 1 shows. It is not lost when node 1 dies
 * later. Another example: a range leaves the nodes of a shard, and comes back after 100 changes of its lease, which another shard has counted.
 */
export async function forgetRanges(
  { known, reading }: RangesState,
  isKept: (slot: number) => boolean,
): Promise<void> {
  const { map, tableIndexes } = known;
  const isNeeded = (slot: number): boolean => map.columns.found[slot] !== 0 || isKept(slot);
  let left = 0;
  let remembered = 0;
  await inSlices(
    walk(map.capacity, (from, to) => {
      const { ids, sequences } = map.columns;
      for (let slot = from; slot < to; slot += 1) {
        if (ids[slot] === 0) continue;
        if (isNeeded(slot)) left += 1;
        else if (map.replicasOf(slot) !== 0 || sequences[slot] !== 0) remembered += 1;
      }
    }),
  );
  const gone = map.size - left;
  const areMany = gone > map.size * MAX_GONE_SHARE || (gone > 0 && tableIndexes.isFull);
  if (areMany) await inSlices(map.prune(left, isNeeded));
  else if (remembered > 0) await inSlices(map.forget(isNeeded));
  const areFewer = await inSlices(known.renumberTables());
  if (areFewer) reading.keepTables(known.tableIndexes.tables());
}
