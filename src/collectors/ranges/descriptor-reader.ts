import { setTimeout as sleep } from 'node:timers/promises';
import { sum } from '#base';
import {
  type ClusterApi,
  failureOf,
  type PollStats,
  type RangeDescriptor,
  type RequestError,
} from '#cockroach';
import type { CollectorPoll } from '../collector.ts';
import { BatchQueue, BatchSize, type NodeBatch } from './batches.ts';
import { type ScanClock, TICK_MS } from './scan-clock.ts';
import type { DescriptorStatus } from './scan-result.ts';

/** Statuses of a path that is refused however short it is. */
const REFUSED_PATH: ReadonlySet<unknown> = new Set([400, 414]);
/** The weight of the last round in the measured time. */
const NEW_SHARE = 0.2;

/** What reading descriptors needs of the poll. */
export type ReadingContext = Pick<
  CollectorPoll<{ readonly concurrency: number }, ReaderState>,
  'signal' | 'options' | 'state' | 'urls' | 'maxDuty' | 'clock' | 'descriptors'
>;

/** What reading descriptors needs of the state of the cluster. */
interface ReaderState {
  readonly reading: DescriptorReading;
  readonly clock: ScanClock;
  /** Number of scans whose lists were read: the next one asks each node at another URL. */
  readonly scans: number;
}

/** Takes over what requests for descriptors bring. */
export interface DescriptorReceiver {
  /** No more requests are sent. */
  readonly isOver: boolean;
  /** The node has responded; of ranges that it does not know it has sent no descriptor. */
  receive(
    batch: NodeBatch,
    descriptors: ReadonlyMap<number, RangeDescriptor>,
    requestedAt: number,
  ): void;
  /** The request failed, and a shorter one would not help. */
  fail(batch: NodeBatch, failure: RequestError): void;
}

/** How to read some descriptors. */
interface ReadingOptions {
  /** Default: until the poll ends. */
  readonly signal?: AbortSignal;
  /** How often the same ranges were read before: each time at another URL. */
  readonly round?: number;
  /** A request has ended for this number of ranges. */
  readonly onRead?: (ids: number) => void;
}

/** How reading the descriptors of a cluster has gone so far. */
export class DescriptorReading {
  readonly size = new BatchSize();
  /** When a zone was last changed, in ticks, by table. The first range of a table begins in none of its indexes, and has its zone, too. */
  readonly zoneChanges = new Map<number, number>();
  refusal: RequestError | undefined;
  /** The last transient failure; a permanent one is in `refusal`. */
  failure: RequestError | undefined;
  due = 0;
  /** The warnings of the last response of each node; they stay, as most scans read few descriptors, or none. */
  readonly warnings = new Map<number, PollStats['warnings']>();
  /** Seconds that a range took on the average, with the pause after its round. */
  #secondsPerRange: number | undefined;
  /** Until when the servers are left alone, in running time; also across scans. */
  restUntilMs = 0;

  /** Forgets the zones of all other tables. */
  keepTables(tables: ReadonlySet<number>): void {
    for (const table of this.zoneChanges.keys()) {
      if (!tables.has(table)) this.zoneChanges.delete(table);
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

  /** A request failed, and a shorter one would not help. */
  failed(failure: RequestError): void {
    const isRefused = REFUSED_PATH.has(failure.status) || failure.isNotOffered;
    if (isRefused && failure.endpoint !== 'login') this.refusal = failure;
    else this.failure = failure;
  }

  status(isEnabled: boolean): DescriptorStatus {
    const { refusal, failure, due, perMinute } = this;
    const state = isEnabled ? (refusal === undefined ? 'read' : 'refused') : 'disabled';
    return { state, failure: refusal ?? failure, due, perMinute };
  }
}

/** Reads descriptors of chosen ranges, for scans and for commands. */
export class DescriptorReader {
  readonly #api: ClusterApi;
  readonly #context: ReadingContext;
  readonly #state: ReaderState;

  constructor(api: ClusterApi, context: ReadingContext) {
    this.#api = api;
    this.#context = context;
    const { reading, clock, scans } = context.state;
    this.#state = { reading, clock, scans };
  }

  /**
   * Reads in rounds of `concurrency` requests, with a pause after each, so that they take no more than their share of the
   * time together. Example: with a share of 0.1 two requests at once, whose slower one takes 0.2 s, and 1.8 s of pause. A
   * command has no pauses. Never rejects.
   */
  async read(
    batches: readonly NodeBatch[],
    receiver: DescriptorReceiver,
    { signal = this.#context.signal, round = 0, onRead }: ReadingOptions = {},
  ): Promise<void> {
    const { clock, descriptors, options } = this.#context;
    const isPaused = descriptors !== 'all';
    const queue = new BatchQueue(batches, this.#state.reading.size);
    const canGoOn = (): boolean => !queue.isEmpty && !receiver.isOver && !signal.aborted;
    const readNext = async (): Promise<number> => {
      const batch = queue.take();
      if (batch === undefined) return 0;
      const { length } = batch.rangeIds;
      const failure = await this.#request(batch, receiver, signal, round);
      if (failure !== undefined && (signal.aborted || queue.putBack(batch, failure.status))) {
        return 0;
      }
      onRead?.(length);
      if (failure === undefined) return length;
      this.#state.reading.failed(failure);
      receiver.fail(batch, failure);
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
    const restMs = this.#state.reading.restUntilMs - this.#context.clock.runningMs();
    if (restMs > 0) await sleep(restMs, undefined, { signal, ref: false }).catch(() => undefined);
  }

  /** Plans the pause after a round, so that requests take no more than their share of the time. */
  #planRest(tookMs: number, ranges: number): void {
    const { maxDuty, clock, descriptors, options } = this.#context;
    const { reading } = this.#state;
    const duty = descriptors === 'all' ? 1 : maxDuty;
    if (ranges > 0) reading.measured(ranges, tookMs / duty / 1000, options.concurrency);
    // However fast the servers are, the next round is known to be later than this one.
    reading.restUntilMs = clock.runningMs() + Math.max(TICK_MS, tookMs / duty - tookMs);
  }

  /** Hands over what the request brings. Resolves to why it failed. */
  async #request(
    batch: NodeBatch,
    receiver: DescriptorReceiver,
    signal: AbortSignal,
    round: number,
  ): Promise<RequestError | undefined> {
    const { reading, clock, scans } = this.#state;
    const { nodeId, rangeIds } = batch;
    const requestedAt = clock.now(this.#context.clock.monotonicMs());
    const received = new Map<number, RangeDescriptor>();
    const warnings: PollStats['warnings'] = new Map();
    try {
      await this.#api.rangeDescriptors(signal, {
        nodeId,
        rangeIds,
        // In this scan the list of the node began at the URL before this one.
        firstUrl: (nodeId + scans + round) % this.#context.urls,
        onDescriptor: (descriptor) => received.set(descriptor.rangeId, descriptor),
        warnings,
      });
    } catch (error) {
      return failureOf(error);
    }
    reading.refusal = undefined;
    reading.failure = undefined;
    reading.warnings.set(nodeId, warnings);
    receiver.receive(batch, received, requestedAt);
    return undefined;
  }
}
