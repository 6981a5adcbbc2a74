import { setTimeout as sleep } from 'node:timers/promises';
import { BatchQueue, BatchSize, inBatches, inSlices, type NodeBatch, sum } from '#base';
import {
  type ClusterApi,
  failureOf,
  isNotOffered,
  type RangeDescriptor,
  type RequestError,
} from '#cockroach';
import type { CollectorPoll } from '../collector.ts';
import {
  CONTRADICTED,
  EXPIRING,
  type DescriptorPlan,
  type PlanBasis,
  planDescriptors,
  planProbe,
  type Urgency,
} from './descriptor-plan.ts';
import { keepDescriptor, reportersOf } from './descriptors.ts';
import { IS_EXHAUSTED, IS_UNCERTAIN, walk, type Work } from './range-table.ts';
import { type ScanClock, shifted } from './scan-clock.ts';
import type { DescriptorStatus } from './scan-result.ts';

/** Ids in a request at first: their descriptors are some 800 kB. */
const FIRST_BATCH = 200;
/** Statuses of a path that is refused however short it is. */
const TOO_LONG: ReadonlySet<unknown> = new Set([400, 414]);
/** The least time between two rounds of requests, however fast the servers are. */
const MIN_PAUSE_MS = 20;
/** After this many failures in a row the reading goes on after the next scan. */
const MAX_FAILURES = 3;
/** Reporters that are asked for a range in one scan; a command that decides asks all. */
const MAX_REPORTERS = 2;
/** The weight of the last round in the measured time. */
const NEW_SHARE = 0.2;

/** What reading descriptors needs of the poll. */
export type ReadingContext = Pick<
  CollectorPoll<{ readonly concurrency: number }, unknown>,
  'signal' | 'options' | 'urls' | 'maxDuty' | 'clock' | 'descriptors' | 'descriptorProgress'
>;

/** The ranges of a scan, and what decides whether they are verified. */
export type ScannedRanges = Omit<PlanBasis, 'nowTick' | 'askedBefore'>;

/** How reading the descriptors of a cluster has gone so far. */
export class DescriptorReading {
  readonly size = new BatchSize(FIRST_BATCH);
  /** When a zone was last changed, in ticks, by number of the table index. */
  readonly zoneChanges = new Map<number, number>();
  refusal: RequestError | undefined;
  /** The last transient failure; a permanent one is in `refusal`. */
  failure: RequestError | undefined;
  due = 0;
  /** Seconds that a range took on the average, with the pause after its round. */
  #secondsPerRange: number | undefined;
  /** Until when the servers are left alone, in running time; also across scans. */
  restUntilMs = 0;

  /** A scan begins: what was refused is tried again. Descriptors from before the tick are too old, whatever has changed since. */
  beginScan(oldestTick: number): void {
    for (const [number, tick] of this.zoneChanges) {
      if (tick < oldestTick) this.zoneChanges.delete(number);
    }
    this.size.beginScan();
  }

  /** The clock was rebased: all ticks have become smaller. */
  shiftTicks(shift: number): void {
    for (const [number, tick] of this.zoneChanges)
      this.zoneChanges.set(number, shifted(tick, shift));
  }

  /** Takes over the new numbers of table indexes; of those that have none any more nothing is left to read. */
  renumberTables(numbers: Uint16Array): void {
    const changes = [...this.zoneChanges];
    this.zoneChanges.clear();
    for (const [number, tick] of changes) {
      const next = numbers[number] ?? 0;
      if (next !== 0 || number === 0) this.zoneChanges.set(next, tick);
    }
  }

  /** A round of requests for few ranges says little of those for many. */
  measured(ranges: number, seconds: number, concurrency: number): void {
    const most = concurrency * this.size.ids;
    if (this.#secondsPerRange !== undefined && 2 * ranges < most) return;
    const last = seconds / ranges;
    const before = this.#secondsPerRange ?? last;
    this.#secondsPerRange = before + NEW_SHARE * (last - before);
  }

  /** Ranges that are read in a minute; undefined before the first. */
  get perMinute(): number | undefined {
    return this.#secondsPerRange && 60 / this.#secondsPerRange;
  }

  status(isEnabled: boolean): DescriptorStatus {
    const { refusal, failure, due, perMinute } = this;
    const state = isEnabled ? (refusal === undefined ? 'read' : 'refused') : 'disabled';
    return { state, refusal, failure, due, perMinute };
  }
}

/** Reads what is due. One reader is used for one scan and the time until the next. */
export class DescriptorReader {
  readonly #api: ClusterApi;
  readonly #context: ReadingContext;
  readonly #reading: DescriptorReading;
  readonly #ranges: ScannedRanges;
  readonly #clock: ScanClock;
  /** Number of scans whose lists were read: the next one asks each node at another URL. */
  readonly #scan: number;
  /** The reporters of a range, by its id, whose answers were not enough in this scan. */
  readonly #asked = new Map<
    number,
    { readonly nodeIds: readonly number[]; readonly areMissing: boolean }
  >();
  #failures = 0;
  /** The servers refuse, or too many requests failed: the next scan tries again. */
  #isOver = false;

  constructor(
    api: ClusterApi,
    context: ReadingContext,
    reading: DescriptorReading,
    ranges: ScannedRanges,
    { clock, scan }: { readonly clock: ScanClock; readonly scan: number },
  ) {
    this.#api = api;
    this.#context = context;
    this.#reading = reading;
    this.#ranges = ranges;
    this.#clock = clock;
    this.#scan = scan;
  }

  /**
   * Reads what is contradicted, then what is expiring, for `maxMs` at most. What would exceed the time left is skipped: a large
   * cluster after a death is read between scans. Never rejects.
   */
  async readUrgent(maxMs: number): Promise<void> {
    const { signal, clock } = this.#context;
    const endMs = clock.runningMs() + maxMs;
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), maxMs);
    const hasTime = (wanted: number): boolean => {
      const { restUntilMs, perMinute } = this.#reading;
      if (restUntilMs > endMs) return false;
      return perMinute === undefined || (wanted / perMinute) * 60_000 <= endMs - clock.runningMs();
    };
    const ending = AbortSignal.any([signal, deadline.signal]);
    for (const least of [CONTRADICTED, EXPIRING] as const) {
      await this.#readPlanned(ending, hasTime, least);
    }
    clearTimeout(timer);
  }

  /** Reads until nothing is due, or the signal aborts, or the servers refuse. Never rejects. */
  async readDue(signal: AbortSignal): Promise<void> {
    await this.#readPlanned(signal, () => true);
  }

  async #readPlanned(
    signal: AbortSignal,
    hasTime: (wanted: number) => boolean,
    least?: Urgency,
  ): Promise<void> {
    while (!signal.aborted && !this.#isOver) {
      const nowTick = this.#clock.now(this.#context.clock.monotonicMs());
      const askedBefore = (rangeId: number) => this.#asked.get(rangeId)?.nodeIds ?? [];
      const basis = { ...this.#ranges, nowTick, askedBefore };
      const plan = await inSlices(this.#plan(basis, least));
      if (plan.batches.length === 0 || !hasTime(plan.wanted)) return;
      await this.#readBatches(plan.batches, signal);
    }
  }

  /** What to read next; of servers that refused the last time, one batch alone. */
  *#plan(basis: PlanBasis, least?: Urgency): Work<Omit<DescriptorPlan, 'due'>> {
    const reading = this.#reading;
    const { ids } = reading.size;
    if (reading.refusal !== undefined) return { wanted: 1, batches: yield* planProbe(basis, ids) };
    const { due, ...plan } = yield* planDescriptors(basis, ids, least);
    reading.due = due;
    return plan;
  }

  /** Reads the descriptors of all ranges that were found, once more at another URL when there is one, then what is not verified yet. */
  async readAll(signal: AbortSignal): Promise<void> {
    const { urls, descriptorProgress } = this.#context;
    const rounds = Math.min(urls, 2);
    const batches = await inSlices(this.#batchAll());
    const ids = sum(batches.map(({ rangeIds }) => rangeIds.length));
    const planned = rounds * batches.length;
    let read = 0;
    descriptorProgress(0, planned);
    for (let round = 0; round < rounds; round += 1) {
      await this.#readBatches(batches, signal, round, (done) => {
        read += done;
        // Requests that get shorter do not make the work longer.
        descriptorProgress(Math.floor((planned * read) / (rounds * ids)), planned);
      });
    }
    await this.#readPlanned(signal, () => true, CONTRADICTED);
  }

  /** All ranges of the scan by the first node that is asked for them. */
  *#batchAll(): Work<readonly NodeBatch[]> {
    const { table } = this.#ranges.known;
    const byNode = new Map<number, number[]>();
    yield* walk(table.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        const [nodeId] = table.columns.found[slot] === 0 ? [] : reportersOf(table, slot);
        if (nodeId === undefined) continue;
        const ids = byNode.get(nodeId) ?? [];
        ids.push(table.columns.ids[slot] ?? 0);
        byNode.set(nodeId, ids);
      }
    });
    return inBatches(byNode, this.#reading.size.ids);
  }

  /**
   * Reads in rounds of `concurrency` requests, with a pause after each, so that they take no more than their share of the
   * time together. Example: with a share of 0.1 two requests at once, of which the slower takes 0.2 s, and 1.8 s of pause. A
   * command that decides has no pauses.
   */
  async #readBatches(
    batches: readonly NodeBatch[],
    signal: AbortSignal,
    round = 0,
    onRead: (ids: number) => void = () => undefined,
  ): Promise<void> {
    const { clock, descriptors, options } = this.#context;
    const isPaused = descriptors !== 'all';
    const queue = new BatchQueue(batches, this.#reading.size);
    const canGoOn = (): boolean => !queue.isEmpty && !this.#isOver && !signal.aborted;
    const readNext = async (): Promise<number> => {
      const batch = queue.take();
      if (batch === undefined) return 0;
      const { length } = batch.rangeIds;
      const failure = await this.#read(batch, signal, round);
      if (failure !== undefined && (signal.aborted || queue.putBack(batch, failure.status))) {
        return 0;
      }
      onRead(length);
      if (failure === undefined) return length;
      this.#fail(failure, batch);
      return 0;
    };
    const readAllLeft = async (): Promise<number> => {
      let ranges = await readNext();
      while (canGoOn()) ranges += await readNext();
      return ranges;
    };
    while (canGoOn()) {
      if (isPaused) await this.#rest(signal);
      if (signal.aborted) return;
      const startedMs = clock.runningMs();
      const work = isPaused ? readNext : readAllLeft;
      const ranges = await Promise.all(Array.from({ length: options.concurrency }, work));
      this.#planRest(clock.runningMs() - startedMs, sum(ranges));
    }
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const restMs = this.#reading.restUntilMs - this.#context.clock.runningMs();
    if (restMs > 0) await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Plans the pause after a round, so that requests take no more than their share of the time. */
  #planRest(tookMs: number, ranges: number): void {
    const { maxDuty, clock, descriptors, options } = this.#context;
    const duty = descriptors === 'all' ? 1 : maxDuty;
    if (ranges > 0) this.#reading.measured(ranges, tookMs / duty / 1000, options.concurrency);
    this.#reading.restUntilMs = clock.runningMs() + Math.max(MIN_PAUSE_MS, tookMs / duty - tookMs);
  }

  /** Takes over what the request brings. Resolves to why it failed. */
  async #read(
    { nodeId, rangeIds }: NodeBatch,
    signal: AbortSignal,
    round: number,
  ): Promise<RequestError | undefined> {
    const reading = this.#reading;
    const requestedAt = this.#clock.now(this.#context.clock.monotonicMs());
    const received = new Map<number, RangeDescriptor>();
    try {
      await this.#api.rangeDescriptors(signal, {
        nodeId,
        rangeIds,
        // The list of the node began at the URL before.
        firstUrl: (nodeId + this.#scan + round) % this.#context.urls,
        onDescriptor: (descriptor) => received.set(descriptor.rangeId, descriptor),
      });
    } catch (error) {
      return failureOf(error);
    }
    reading.refusal = undefined;
    reading.failure = undefined;
    this.#failures = 0;
    for (const rangeId of rangeIds) this.#take(rangeId, nodeId, received.get(rangeId), requestedAt);
    return undefined;
  }

  #fail(failure: RequestError, { nodeId, rangeIds }: NodeBatch): void {
    const reading = this.#reading;
    if (TOO_LONG.has(failure.status) || isNotOffered(failure)) {
      reading.refusal = failure;
      this.#isOver = true;
      return;
    }
    reading.failure = failure;
    const { known, verification } = this.#ranges;
    for (const rangeId of rangeIds) {
      const slot = known.table.slotOf(rangeId);
      if (slot === undefined) continue;
      if (verification.lacksHolder(slot)) {
        verification.addUnanswered(rangeId);
        // Another reporter may hold the lease.
        this.#askNext(slot, rangeId, nodeId, false);
      } else this.#exhaust(rangeId);
    }
    this.#failures += 1;
    if (this.#failures < MAX_FAILURES) return;
    verification.interrupt();
    this.#isOver = true;
  }

  /** Takes over what one reporter said of the range; another one is asked when that was not enough. */
  #take(
    rangeId: number,
    nodeId: number,
    descriptor: RangeDescriptor | undefined,
    requestedAt: number,
  ): void {
    const { known, verification } = this.#ranges;
    const { table } = known;
    const slot = table.slotOf(rangeId);
    if (slot === undefined) return;
    const change = descriptor && keepDescriptor(table, slot, descriptor, requestedAt);
    if (change === 'zone') {
      const tableIndex = table.columns.tableIndexes[slot] ?? 0;
      this.#reading.zoneChanges.set(tableIndex, requestedAt);
    }
    // An older descriptor is not kept: the range would be due again at once.
    const isKept = change === 'kept' || change === 'zone';
    if (isKept && descriptor?.isFromLeaseholder) table.nameHolder(slot, nodeId);
    if (isKept && verification.isVerified(slot) && !verification.lacksHolder(slot)) return;
    this.#askNext(slot, rangeId, nodeId, descriptor === undefined);
  }

  /** The next plan asks the next reporter, until enough were asked. */
  #askNext(slot: number, rangeId: number, nodeId: number, isMissing: boolean): void {
    const before = this.#asked.get(rangeId);
    const nodeIds = [...new Set([...(before?.nodeIds ?? []), nodeId])];
    const areMissing = isMissing && before?.areMissing !== false;
    this.#asked.set(rangeId, { nodeIds, areMissing });
    const { length } = reportersOf(this.#ranges.known.table, slot);
    const { descriptors } = this.#context;
    const areAllAsked = descriptors === 'all' || this.#ranges.verification.lacksHolder(slot);
    const most = areAllAsked ? length : Math.min(MAX_REPORTERS, length);
    if (nodeIds.length < most) return;
    // Whether there is such a range is read from the lists: they are a stable interface.
    this.#exhaust(rangeId, areMissing ? IS_UNCERTAIN : 0);
  }

  #exhaust(rangeId: number, mark = 0): void {
    const { table } = this.#ranges.known;
    const slot = table.slotOf(rangeId);
    if (slot === undefined) return;
    table.columns.marks[slot] = (table.columns.marks[slot] ?? 0) | IS_EXHAUSTED | mark;
  }
}
