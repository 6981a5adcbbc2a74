import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import { addWarning } from '../../http/poll-stats.ts';
import { inSlices } from '../../time-slice.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import type { Assignment } from './assignment.ts';
import { DescriptorReader, type ScannedRanges } from './descriptor-reader.ts';
import { isLost, judgeRanges, type LostRange } from './judge-ranges.ts';
import { findOpenEnds, findUncertain } from './key-space.ts';
import type { KnownRanges } from './known-ranges.ts';
import { walk, type Work } from './range-table.ts';
import type { ClusterScan } from './scan-result.ts';
import type { ScanContext } from './scan-state.ts';
import { type AbsentReplica, MAX_READ_AGAIN, SecondReading } from './second-reading.ts';

/** How long the end of a scan waits for descriptors; what is left is read until the next scan. */
const MAX_READING_MS = 10_000;
/** The table is rebuilt without the ranges that are gone once they are an eighth of all: that takes as long as filling it. */
const MAX_GONE_SHARE = 1 / 8;

/**
 * Ends a scan that read all nodes of the cluster: reads descriptors, reads what is contradictory again, and judges each
 * range. Never rejects because of a request: what was not read is not verified.
 */
export async function endClusterScan(
  api: ClusterApi,
  context: ScanContext,
  assignment: Assignment,
  ranges: ScannedRanges,
): Promise<ClusterScan> {
  const { state, options, descriptors } = context;
  const { reading, members, known } = state;
  const isReading = options.descriptor_max_age > 0 && descriptors !== 'none';
  if (isReading) await readDescriptors(api, context, ranges);
  const again = new SecondReading(api, context, known, state.scans);
  const confirmed = await again.confirmSuspects();
  const keySpace = state.gaps.add(await readOpenEnds(ranges, again));
  const isNothingMissing = keySpace.isComplete;
  const unknown = await again.confirmAbsent(await inSlices(findAbsent(ranges)));
  const scan = { ...ranges, list: assignment, confirmed, unknown, isNothingMissing };
  const judged = await inSlices(judgeRanges(scan));
  const status = reading.status(isReading);
  const isUnread = status.state !== 'read';
  if (!isUnread && judged.unverified === 0) members.prove(assignment.toScan);
  const isLostKnown = isNothingMissing || members.areProven(assignment.toSkip);
  if (isLostKnown) for (const range of judged.lost) listLost(context, range);
  await forgetRanges(known, (slot) => isLost(scan, slot));
  return {
    unverified: isUnread ? judged.reported : judged.unverified,
    servingNothing: judged.servingNothing,
    keySpace,
    dependence: isUnread ? undefined : judged.dependence,
    descriptors: status,
    lost: isLostKnown ? judged.lostCount : undefined,
  };
}

/** Reads what is due for a while; a command that decides reads everything. */
async function readDescriptors(
  api: ClusterApi,
  context: ScanContext,
  ranges: ScannedRanges,
): Promise<void> {
  const { state, signal, descriptors } = context;
  const { clock, scans: scan } = state;
  const reader = new DescriptorReader(api, context, state.reading, ranges, { clock, scan });
  if (descriptors === 'all') return reader.readAll(signal);
  await reader.readUrgent(MAX_READING_MS);
  state.reader = reader;
  const { failure: error } = state.reading;
  if (error === undefined) return;
  addWarning(context, { about: 'descriptors of ranges', text: error.message, error });
}

/**
 * Finds the open ends of the key space, after the ranges beside them were read again: some were split during the scan. What is
 * left of a range that was merged overlaps with others. So ranges at open ends that are not verified are left out when the
 * others join without them. Example: node 4 has returned with an old replica of [b, d), and the ranges [b, c) and [c, d) are
 * there.
 */
async function readOpenEnds(
  { known: { table }, verification }: ScannedRanges,
  again: SecondReading,
): Promise<ReadonlySet<number>> {
  const first = await inSlices(findOpenEnds(table));
  const uncertain = await inSlices(findUncertain(table, first, MAX_READ_AGAIN));
  if (uncertain.length === 0) return first;
  await again.readKeys(uncertain);
  const open = await inSlices(findOpenEnds(table));
  const beside = await inSlices(findUncertain(table, open, MAX_READ_AGAIN));
  const doubtful = beside.filter((slot) => !verification.isVerified(slot));
  if (doubtful.length === 0) return open;
  const others = await inSlices(findOpenEnds(table, new Set(doubtful)));
  return others.size === 0 ? others : open;
}

/** What descriptors of this scan name on live nodes, and the lists of these nodes do not have. */
function* findAbsent({ known: { table }, verification }: ScannedRanges): Work<AbsentReplica[]> {
  const absent: AbsentReplica[] = [];
  yield* walk(table.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      if (table.columns.found[slot] === 0 || !verification.isVerified(slot)) continue;
      for (const nodeId of verification.absentOf(slot)) absent.push({ slot, nodeId });
    }
  });
  return absent;
}

function listLost({ state }: ScanContext, { rangeId, nodes, tableIndexNumber }: LostRange): void {
  const nodeId = Math.min(...nodes);
  state.problems.addRange(1 << PROBLEMS.indexOf('no_live_replica'), {
    rangeId,
    nodeId,
    storeId: state.onlyStores.get(nodeId) ?? 0,
    tableIndex: state.known.tableIndexes.get(tableIndexNumber) ?? 0,
    lastNodes: nodes,
  });
}

/** Drops the ranges that no node reported in this scan, except those to keep, once they are many. */
export async function forgetRanges(
  { table }: KnownRanges,
  isKept: (slot: number) => boolean,
): Promise<void> {
  const isNeeded = (slot: number): boolean => table.columns.found[slot] !== 0 || isKept(slot);
  let left = 0;
  await inSlices(
    walk(table.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (table.columns.ids[slot] !== 0 && isNeeded(slot)) left += 1;
      }
    }),
  );
  if (table.size - left > table.size * MAX_GONE_SHARE) await inSlices(table.prune(left, isNeeded));
}
