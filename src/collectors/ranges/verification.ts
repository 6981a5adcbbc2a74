import { inSlices, sum } from '#base';
import type { ClusterApi, RangeDescriptor, RequestError } from '#cockroach';
import type { CollectorPoll } from '../collector.ts';
import type { NodeBatch } from './batches.ts';
import {
  type DescriptorPlan,
  planAll,
  type PlanBasis,
  planDescriptors,
  type Urgency,
  URGENCY,
} from './descriptor-plan.ts';
import {
  DescriptorReader,
  type DescriptorReading,
  type DescriptorReceiver,
  type ReadingContext,
} from './descriptor-reader.ts';
import { namesUnlistedStore, keepDescriptor, reportersOf } from './descriptors.ts';
import { type KnownRanges, SERVES_NOTHING } from './known-ranges.ts';
import { countPlaces } from './majority.ts';
import type { Members } from './members.ts';
import { NO_PLACE, type Work, MARK } from './range-map.ts';
import { type ScanClock, ticksOf } from './scan-clock.ts';

// A constant is read faster than a property, for each of a million ranges.
const { notDue, contradicted, expiring, old, aging } = URGENCY;

/** When a scan began, and how old descriptors may be, in ticks. */
export interface DescriptorAges {
  readonly scanTick: number;
  /** A descriptor that is older by this many ticks is too old. */
  readonly maxAge: number;
}

/** The ranges of a scan, and what verifies them. */
export interface ScannedRanges {
  readonly known: KnownRanges;
  readonly verification: Verification;
}

/** What a verification needs of the poll. */
type VerificationContext = ReadingContext &
  Pick<
    CollectorPoll<unknown, { readonly known: KnownRanges; readonly members: Members }>,
    'state' | 'scanProgress'
  >;

/** How long the end of a scan waits for descriptors; what is left is read until the next scan. */
const MAX_READING_MS = 10_000;
/** After this many failures in a row the reading goes on after the next scan. */
const MAX_FAILURES = 3;
/** Reporters that are asked for a range in one scan; a command that decides asks all. */
const MAX_REPORTERS = 2;
/**
 * Descriptors that name a node that is not live are read once a minute: while it is down, the nodes that report a range do not show
 * that its voters have changed. Of scans a minute apart one may come some moments early.
 */
const REPLACING = ticksOf(58);

/**
 * Verifies the replicas of the ranges of one scan, in it and until the next: reads the descriptors that are due, and decides
 * whether a range is verified: its descriptor names its replicas, and nothing that the scan saw contradicts it. Example: the
 * descriptor names nodes 1, 2 and 3, and node 3 is not live. When nodes 1 and 2 report the range and no other node does, it is
 * verified. When node 4 reports it, too, a replica has moved: the descriptor is read again, and what the replica with a valid
 * lease says now counts.
 */
export class Verification implements DescriptorReceiver {
  readonly #context: VerificationContext;
  readonly #known: KnownRanges;
  readonly #members: Members;
  readonly #reading: DescriptorReading;
  readonly #clock: ScanClock;
  readonly #ages: DescriptorAges;
  readonly #reader: DescriptorReader;
  /** The reporters that were asked in this scan and whose responses were not enough, by id of the range. */
  readonly #asked = new Map<
    number,
    { readonly nodeIds: readonly number[]; readonly areMissing: boolean }
  >();
  readonly #unanswered = new Set<number>();
  #failures = 0;
  #isInterrupted = false;
  /** Nothing more is read in this scan: the servers refuse, or too many requests failed. */
  isOver = false;

  constructor(api: ClusterApi, context: VerificationContext, ages: DescriptorAges) {
    this.#context = context;
    const { known, members, reading, clock } = context.state;
    this.#known = known;
    this.#members = members;
    this.#reading = reading;
    this.#clock = clock;
    this.#ages = ages;
    this.#reader = new DescriptorReader(api, context);
  }

  /**
   * Reads what is contradicted, then what is expiring, for `MAX_READING_MS` at most. What would exceed the time left is skipped: a large
   * cluster after a death is read between scans. Never rejects.
   */
  async readUrgent(): Promise<void> {
    const { signal, clock } = this.#context;
    const endMs = clock.runningMs() + MAX_READING_MS;
    const deadline = new AbortController();
    // This timer keeps the process running, unlike the one of `beginDeadline`: a command would end in a pause between requests.
    const timer = setTimeout(() => deadline.abort(), MAX_READING_MS);
    const hasTime = (wanted: number): boolean => {
      const { restUntilMs, perMinute } = this.#reading;
      if (restUntilMs > endMs) return false;
      return perMinute === undefined || (wanted / perMinute) * 60_000 <= endMs - clock.runningMs();
    };
    const ending = AbortSignal.any([signal, deadline.signal]);
    for (const least of [contradicted, expiring] as const) {
      await this.#readPlanned(ending, hasTime, least);
    }
    clearTimeout(timer);
  }

  /** Reads until nothing is due, or the signal aborts, or the servers refuse. Never rejects. */
  async readDue(signal: AbortSignal): Promise<void> {
    await this.#readPlanned(signal, () => true);
  }

  /** Reads the descriptors of all ranges that were found, once more at another URL when there is one, then what is not verified yet. */
  async readAll(): Promise<void> {
    const { urls, scanProgress, signal } = this.#context;
    const rounds = Math.min(urls, 2);
    const batches = await inSlices(planAll(this.#known.map));
    const lengths = batches.map(({ rangeIds }) => rangeIds.length);
    const ids = sum(lengths);
    const most = this.#reading.size.ids;
    const planned = rounds * sum(lengths.map((length) => Math.ceil(length / most)));
    let read = 0;
    const onRead = (done: number): void => {
      read += done;
      // Requests that get shorter do not make the work longer.
      scanProgress(Math.floor((planned * read) / (rounds * ids)), planned);
    };
    scanProgress(0, planned);
    for (let round = 0; round < rounds; round += 1) {
      await this.#reader.read(batches, this, { round, onRead });
    }
    await this.#readPlanned(signal, () => true, contradicted);
  }

  /** Reads the descriptors of these ranges once more. */
  async readAgain(slots: ReadonlySet<number>): Promise<void> {
    await this.#reader.read(await inSlices(planAll(this.#known.map, slots)), this);
  }

  async #readPlanned(
    signal: AbortSignal,
    hasTime: (wanted: number) => boolean,
    least?: Urgency,
  ): Promise<void> {
    while (!signal.aborted && !this.isOver) {
      const nowTick = this.#clock.now(this.#context.clock.monotonicMs());
      const basis = {
        map: this.#known.map,
        nowTick,
        urgencyOf: (slot: number) => this.#urgencyOf(slot, nowTick),
        askedBefore: (rangeId: number) => this.#asked.get(rangeId)?.nodeIds,
      };
      const plan = await inSlices(this.#plan(basis, least));
      if (plan.batches.length === 0 || !hasTime(plan.wanted)) return;
      await this.#reader.read(plan.batches, this, { signal });
    }
  }

  /** What to read next; of servers that refused the last time one batch alone, which shows whether they still do. */
  *#plan(basis: PlanBasis, least?: Urgency): Work<Omit<DescriptorPlan, 'due'>> {
    const reading = this.#reading;
    const isRefused = reading.refusal !== undefined;
    const wanted = isRefused ? undefined : least;
    const { due, ...plan } = yield* planDescriptors(basis, reading.size.ids, wanted);
    if (isRefused) return { wanted: 1, batches: plan.batches.slice(0, 1) };
    reading.due = due;
    return plan;
  }

  #urgencyOf(slot: number, nowTick: number): ReturnType<PlanBasis['urgencyOf']> {
    const { ids, found, marks, readAt } = this.#known.map.columns;
    const { scanTick, maxAge } = this.#ages;
    const marked = marks[slot] ?? 0;
    if (ids[slot] === 0 || found[slot] === 0 || (marked & MARK.isExhausted) !== 0) return notDue;
    if (!this.isVerified(slot)) {
      // Who holds the lease of a suspect decides whether it serves. All others may be old after a pause of the exporter.
      const isOnlyOld = !this.#servesNothing(slot) && this.#isOnlyOld(slot);
      return isOnlyOld ? expiring : contradicted;
    }
    const readTick = readAt[slot] ?? 0;
    const isDoubtful =
      readTick >= scanTick
        ? this.#lacksHolder(slot)
        : this.#servesNothing(slot) || (marked & (MARK.isClaimed | MARK.isUncertain)) !== 0;
    if (isDoubtful) return contradicted;
    if (readTick < nowTick - (3 * maxAge) / 4) return expiring;
    if (readTick < nowTick - REPLACING && this.#namesDown(slot)) return expiring;
    if (readTick < nowTick - maxAge / 2) return old;
    return readTick < nowTick - maxAge / 4 ? aging : notDue;
  }

  /** Takes over what one reporter said of these ranges; another one is asked where that was not enough. */
  receive(
    { nodeId, rangeIds }: NodeBatch,
    descriptors: ReadonlyMap<number, RangeDescriptor>,
    requestedAt: number,
  ): void {
    this.#failures = 0;
    const { map } = this.#known;
    for (const rangeId of rangeIds) {
      const slot = map.slotOf(rangeId);
      if (slot === undefined) continue;
      const sent = descriptors.get(rangeId);
      const isUsable = sent !== undefined && !namesUnlistedStore(map, slot, sent, this.#members);
      const descriptor = isUsable ? sent : undefined;
      const change = descriptor && keepDescriptor(map, slot, descriptor, requestedAt);
      if (change === 'zone') {
        this.#reading.zoneChanges.set(this.#known.tableOf(slot), requestedAt);
      }
      // An older descriptor is not kept: the range would be due again at once.
      const isKept = change === 'kept' || change === 'zone';
      if (isKept && descriptor?.isFromLeaseholder) map.nameHolder(slot, nodeId);
      if (isKept && this.isVerified(slot) && !this.#lacksHolder(slot)) continue;
      this.#askNext(slot, rangeId, nodeId, sent === undefined);
    }
  }

  fail({ nodeId, rangeIds }: NodeBatch, failure: RequestError): void {
    if (this.#reading.refusal === failure) {
      this.isOver = true;
      return;
    }
    for (const rangeId of rangeIds) {
      const slot = this.#known.map.slotOf(rangeId);
      if (slot === undefined) continue;
      if (this.#lacksHolder(slot)) {
        this.#unanswered.add(rangeId);
        // Another reporter may hold the lease.
        this.#askNext(slot, rangeId, nodeId, false);
      } else this.#exhaust(slot);
    }
    this.#failures += 1;
    if (this.#failures < MAX_FAILURES) return;
    this.#isInterrupted = true;
    this.isOver = true;
  }

  /** The next plan asks the next reporter, until enough were asked. */
  #askNext(slot: number, rangeId: number, nodeId: number, isMissing: boolean): void {
    const before = this.#asked.get(rangeId);
    const nodeIds = [...new Set([...(before?.nodeIds ?? []), nodeId])];
    const areMissing = isMissing && before?.areMissing !== false;
    this.#asked.set(rangeId, { nodeIds, areMissing });
    const { length } = reportersOf(this.#known.map, slot);
    const areAllAsked = this.#context.descriptors === 'all' || this.#lacksHolder(slot);
    const most = areAllAsked ? length : Math.min(MAX_REPORTERS, length);
    if (nodeIds.length < most) return;
    // Whether there is such a range is read from the lists: they are a stable interface.
    this.#exhaust(slot, areMissing ? MARK.isUncertain : 0);
  }

  #exhaust(slot: number, mark = 0): void {
    const { marks } = this.#known.map.columns;
    marks[slot] = (marks[slot] ?? 0) | MARK.isExhausted | mark;
  }

  /** The places of the descriptor that are on live nodes. */
  liveOf(slot: number): number {
    const { map } = this.#known;
    const places = map.placesOf(slot);
    let live = 0;
    for (let place = 0; place < places; place += 1) {
      if (this.#members.isLive(map.nodeAt(slot, place))) live |= 1 << place;
    }
    return live;
  }

  isVerified(slot: number): boolean {
    return (
      this.hasDescriptor(slot) &&
      ((this.isReadNow(slot) && this.#areNodesKnown(slot)) ||
        (this.#isCurrent(slot) && this.#isConfirmed(slot)))
    );
  }

  /** Whether it is known on which nodes the replicas are, or at least that those without a place are live. */
  #areNodesKnown(slot: number): boolean {
    const { map } = this.#known;
    return map.replicasOf(slot) === map.placesOf(slot) || this.#isConfirmed(slot);
  }

  /** Whether the voters are known: a descriptor was read, and each voter has a place. */
  hasDescriptor(slot: number): boolean {
    return this.#known.map.columns.voters[slot] !== 0;
  }

  /** Whether a replica with a valid lease has sent the descriptor since the scan began. */
  isReadNow(slot: number): boolean {
    const { marks, readAt } = this.#known.map.columns;
    const isFromLeaseholder = ((marks[slot] ?? 0) & MARK.readAtLeaseholder) !== 0;
    return isFromLeaseholder && (readAt[slot] ?? 0) >= this.#ages.scanTick;
  }

  /** Whether a replica reports that it serves nothing, and nobody has said who holds the lease: the holder or the leader decides. */
  #lacksHolder(slot: number): boolean {
    const { leases } = this.#known.map.columns;
    return this.#servesNothing(slot) && (leases[slot] ?? 0) >> 2 === NO_PLACE;
  }

  #servesNothing(slot: number): boolean {
    return ((this.#known.map.columns.problems[slot] ?? 0) & SERVES_NOTHING) !== 0;
  }

  /** Whether a replica reports that it serves nothing, and one that may hold the lease has not answered: it may serve the range. */
  lacksAnswer(slot: number): boolean {
    if (this.#unanswered.size === 0 && !this.#isInterrupted) return false;
    if (!this.#lacksHolder(slot)) return false;
    const { ids } = this.#known.map.columns;
    const isUnasked = this.#isInterrupted && !this.isExhausted(slot);
    return isUnasked || this.#unanswered.has(ids[slot] ?? 0);
  }

  /**
   * Whether the descriptor is not asked for again before the next scan. Of a range that serves nothing, and whose lease nobody is known
   * to hold, all reporters were asked then.
   */
  isExhausted(slot: number): boolean {
    return ((this.#known.map.columns.marks[slot] ?? 0) & MARK.isExhausted) !== 0;
  }

  /** Whether nothing that happened since the descriptor was requested has made it doubtful. */
  #isCurrent(slot: number): boolean {
    const { readAt, marks } = this.#known.map.columns;
    if (((marks[slot] ?? 0) & MARK.isChanging) !== 0) return false;
    const readTick = readAt[slot] ?? 0;
    const { zoneChanges } = this.#reading;
    const changedTick =
      zoneChanges.size === 0 ? 0 : (zoneChanges.get(this.#known.tableOf(slot)) ?? 0);
    return !this.#isTooOld(slot) && readTick >= changedTick && !this.#hasLostMember(slot);
  }

  /** Whether the descriptor is too old, and nothing else contradicts it. */
  #isOnlyOld(slot: number): boolean {
    const isDoubtful = !this.hasDescriptor(slot) || this.#hasLostMember(slot);
    return !isDoubtful && this.#isTooOld(slot) && this.#isConfirmed(slot);
  }

  #isTooOld(slot: number): boolean {
    const { scanTick, maxAge } = this.#ages;
    return (this.#known.map.columns.readAt[slot] ?? 0) < scanTick - maxAge;
  }

  /** Whether a node of the descriptor went from live to not live, or lost a store, after the descriptor was requested. */
  #hasLostMember(slot: number): boolean {
    const { map } = this.#known;
    const readTick = map.columns.readAt[slot] ?? 0;
    const places = map.placesOf(slot);
    for (let place = 0; place < places; place += 1) {
      if (this.#members.lostStoresAt(map.nodeAt(slot, place)) > readTick) return true;
    }
    return false;
  }

  /** Whether one of the nodes of the descriptor is not live. */
  #namesDown(slot: number): boolean {
    return countPlaces(this.liveOf(slot)) < this.#known.map.placesOf(slot);
  }

  /** Whether the nodes that report the range in this scan are exactly its live replicas; of those without a place, as many. */
  #isConfirmed(slot: number): boolean {
    const { map } = this.#known;
    const { found } = map.columns;
    const mask = map.reportedOf(slot);
    const unplaced = map.replicasOf(slot) - map.placesOf(slot);
    return mask === this.liveOf(slot) && (found[slot] ?? 0) === countPlaces(mask) + unplaced;
  }

  /** The live nodes of the descriptor that do not report the range in this scan. */
  absentOf(slot: number): readonly number[] {
    const { map } = this.#known;
    const absent = this.liveOf(slot) & ~map.reportedOf(slot);
    const nodeIds: number[] = [];
    for (let place = 0; absent >> place !== 0; place += 1) {
      if ((absent & (1 << place)) !== 0) nodeIds.push(map.nodeAt(slot, place));
    }
    return nodeIds;
  }

  /** Whether a replica reports that it serves nothing, and not all such replicas of the range have answered when they were asked again. */
  isUnchecked(slot: number, checked: ReadonlySet<number>): boolean {
    return this.#servesNothing(slot) && !checked.has(this.#known.map.columns.ids[slot] ?? 0);
  }
}
