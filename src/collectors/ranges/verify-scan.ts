import { setTimeout as sleep } from 'node:timers/promises';
import { inSlices } from '#base';
import { addWarning, type ClusterApi } from '#cockroach';
import { nodesOf } from './descriptors.ts';
import { type CheckedScan, isTroubled, judgeRemains } from './judge-ranges.ts';
import {
  endsWithout,
  findOpenEnds,
  findUncertain,
  MAX_READ_AGAIN,
  type OpenEnds,
} from './key-space.ts';
import type { LeftOvers } from './left-overs.ts';
import { walk, type Work } from './range-map.ts';
import type { ScanContext } from './scan-state.ts';
import { type AbsentReplica, type Confirmed, SecondReading } from './second-reading.ts';
import { findUnsplit } from './unsplit.ts';
import type { ScannedRanges, Verification } from './verification.ts';

// The third phase of a scan: the servers are asked for what its lists leave open. What they answer is judged afterwards.

/** How often keys are read again because others were: each round is some requests. */
const MAX_KEY_ROUNDS = 3;
/** How long a command, which scans once, waits for followers that are late. */
const LATE_MS = 3_000;

/** What the servers have answered. What was not answered is not verified. */
export interface VerifiedScan extends CheckedScan {
  /** Slots of ranges that a node no longer has, which it had when it was read. */
  readonly changed: ReadonlySet<number>;
  /** Undefined where the keys were not compared. */
  readonly keys: ComparedKeys | undefined;
}

/** How the keys of the ranges join, after those beside open ends were read again: some ranges were split or merged during the scan. */
interface ComparedKeys {
  /** The open ends, also of ranges that are left over. */
  readonly open: OpenEnds;
  /** Ranges whose keys were read again. */
  readonly readAgain: number;
  /** Whether all of these were answered, and they have left no others to read. */
  readonly areRead: boolean;
}

const NOTHING_CONFIRMED: Confirmed = { checked: new Set(), repeated: new Map() };

/** Reads the descriptors of a scan of the whole cluster, and reads again what is contradictory. Never rejects because of a request. */
export async function verifyClusterScan(
  api: ClusterApi,
  context: ScanContext,
  ranges: ScannedRanges,
): Promise<VerifiedScan> {
  const { leftOvers } = context.state;
  const again = new SecondReading(api, context);
  if (readsDescriptors(context)) await readDescriptors(context, ranges.verification);
  const confirmed = await again.confirmSuspects();
  const troubled = await findTroubled({ ...ranges, confirmed });
  const changed = await again.confirmReporters(troubled, confirmed);
  const checked = await checkAbsent(context, { ...ranges, confirmed }, again);
  return { ...checked, changed, keys: await compareKeys(checked, again, leftOvers) };
}

/** Reads again what reports a problem in a scan that did not read all nodes: its keys may show that it lies over ranges that report none. */
export async function verifyPartialScan(
  api: ClusterApi,
  context: ScanContext,
  ranges: ScannedRanges,
  isWholeCluster: boolean,
): Promise<VerifiedScan> {
  const { leftOvers } = context.state;
  const scan = { ...ranges, confirmed: NOTHING_CONFIRMED, unknown: new Set<number>() };
  const again = new SecondReading(api, context);
  const troubled = isWholeCluster ? await findTroubled(scan) : [];
  const changed = await again.confirmReporters(troubled, NOTHING_CONFIRMED);
  const keys = troubled.length > 0 ? await compareKeys(scan, again, leftOvers) : undefined;
  return { ...scan, changed, keys };
}

/** Whether descriptors are read in scans of the whole cluster. */
export function readsDescriptors({ options, descriptors }: ScanContext): boolean {
  return options.descriptor_max_age > 0 && descriptors !== 'none';
}

/** Reads what is due for a while; a command that decides reads everything. */
async function readDescriptors(context: ScanContext, verification: Verification): Promise<void> {
  const { state, descriptors } = context;
  if (descriptors === 'all') return verification.readAll();
  await verification.readUrgent();
  state.verification = verification;
  const { failure: error } = state.reading;
  if (error === undefined) return;
  addWarning(context, { about: 'descriptors of ranges', endpoint: 'range_descriptors', error });
}

/**
 * The slots of ranges that report a problem, and where no holder of a valid lease has answered in this scan: of at most as many as are asked
 * again.
 */
function findTroubled(scan: Omit<CheckedScan, 'unknown'>): Promise<readonly number[]> {
  const isMeant = (slot: number): boolean =>
    isTroubled(scan, slot) && !scan.verification.isReadNow(slot);
  return inSlices(scan.known.map.findSlots(isMeant, MAX_READ_AGAIN));
}

/**
 * Asks for replicas that lists do not have, and finds the ranges where it is not known whether a node has its replica. It lacks a
 * voter that two scans in a row have not found. Example: [a, c) is split at b, the leaseholder has [b, c), and the two followers, which are
 * a second late, have it in the next scan.
 */
async function checkAbsent(
  context: ScanContext,
  scan: Omit<CheckedScan, 'unknown'>,
  again: SecondReading,
): Promise<CheckedScan> {
  const { state, descriptors, signal } = context;
  const nameOf = ({ slot, nodeId }: AbsentReplica): string =>
    `${scan.known.map.columns.ids[slot] ?? 0} ${nodeId}`;
  let { absent, unknown } = await askAbsent(scan, again);
  if (descriptors === 'all' && absent.length > 0) {
    state.absent = new Set(absent.map(nameOf));
    await sleep(LATE_MS, undefined, { signal }).catch(() => undefined);
    await scan.verification.readAgain(new Set(absent.map(({ slot }) => slot)));
    ({ absent, unknown } = await askAbsent(scan, again));
  }
  const unconfirmed = absent.filter(
    (replica) => isVoter(scan, replica) && !state.absent.has(nameOf(replica)),
  );
  state.absent = new Set(absent.map(nameOf));
  for (const { slot } of unconfirmed) unknown.add(slot);
  // A majority without the node is enough.
  const unsplit = [...findUnsplit(scan.known, absent)].filter(
    (slot) => judgeRemains({ ...scan, unknown }, slot) !== 'stands',
  );
  return { ...scan, unknown: unknown.union(new Set(unsplit)) };
}

/** Whether the replica votes. A learner is often not there yet. */
function isVoter({ known: { map } }: ScannedRanges, { slot, nodeId }: AbsentReplica): boolean {
  const voting = map.votersOf(slot) | map.votersBeforeOf(slot);
  return nodesOf(map, slot).some((id, place) => id === nodeId && (voting & (1 << place)) !== 0);
}

/** The replicas that live nodes do not have by their lists, nor when they are asked, and the slots of ranges where that is not known. */
async function askAbsent(
  { known, verification }: ScannedRanges,
  again: SecondReading,
): Promise<{ readonly absent: readonly AbsentReplica[]; readonly unknown: Set<number> }> {
  const listed = await inSlices(findAbsent({ known, verification }));
  const unknown = await again.confirmAbsent(listed);
  const absent = listed.filter(
    ({ slot, nodeId }) => !unknown.has(slot) && verification.absentOf(slot).includes(nodeId),
  );
  return { absent, unknown };
}

/** What descriptors of this scan name on live nodes, and the lists of these nodes do not have. */
function* findAbsent({
  known: { map },
  verification,
}: Pick<ScannedRanges, 'known' | 'verification'>): Work<AbsentReplica[]> {
  const absent: AbsentReplica[] = [];
  yield* walk(map.capacity, (from, to) => {
    for (let slot = from; slot < to; slot += 1) {
      if (map.columns.found[slot] === 0 || !verification.isVerified(slot)) continue;
      for (const nodeId of verification.absentOf(slot)) absent.push({ slot, nodeId });
    }
  });
  return absent;
}

/**
 * Compares the keys, and reads those again that are open or uncertain; what is read may open others. Example: of [a, b) and [b, c) no node
 * has the second any more, so that b is open: the first is read, too, and is [a, c) since they were merged.
 */
async function compareKeys(
  scan: CheckedScan,
  again: SecondReading,
  leftOvers: LeftOvers,
): Promise<ComparedKeys> {
  const { map } = scan.known;
  const asked = new Set<number>();
  let areAnswered = true;
  for (let round = 0; ; round += 1) {
    const open = await inSlices(findOpenEnds(map));
    const unproved = endsWithout(map, open, findProved(scan, leftOvers));
    const uncertain = await inSlices(findUncertain(map, unproved));
    const unasked = uncertain.filter((slot) => !asked.has(slot));
    const slots = round < MAX_KEY_ROUNDS ? unasked.slice(0, MAX_READ_AGAIN - asked.size) : [];
    if (slots.length === 0)
      return { open, readAgain: asked.size, areRead: areAnswered && unasked.length === 0 };
    for (const slot of slots) asked.add(slot);
    areAnswered = (await again.readKeys(slots)) && areAnswered;
  }
}

/** The slots of ranges that earlier scans have proved to be left over, and that do not stand. */
export function findProved(scan: CheckedScan, leftOvers: LeftOvers): ReadonlySet<number> {
  return new Set(
    [...leftOvers.proved(scan)].filter((slot) => judgeRemains(scan, slot) !== 'stands'),
  );
}
