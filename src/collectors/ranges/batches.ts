/** Ranges that a node is asked for, in as many requests as they need. */
export interface NodeBatch {
  readonly nodeId: number;
  readonly rangeIds: readonly number[];
}

/** Ids in the shortest request: where it is refused, too, the reason is another one than its length. */
const MIN_BATCH = 25;
/** Statuses of a path that is too long. */
const TOO_LONG: ReadonlySet<unknown> = new Set([400, 414, 431]);

/** Ids in a request at first: their descriptors are some 800 kB of JSON. */
const FIRST_BATCH = 200;

/** How many ids a request has: fewer once a server, or a proxy before it, has refused a longer path. */
export class BatchSize {
  #ids: number = FIRST_BATCH;

  /** Ids in a request. */
  get ids(): number {
    return this.#ids;
  }

  /**
   * Halves a request of this length that failed with this status. Returns whether that may help. Example: of 200 ids a proxy
   * refuses 200, and then 100, with 414, and passes 50: all requests have 50 from then on.
   */
  halve(length: number, status: number | undefined): boolean {
    if (!TOO_LONG.has(status) || length <= MIN_BATCH) return false;
    // A request that failed at the same time may have been longer than those are now.
    this.#ids = Math.min(this.#ids, Math.max(MIN_BATCH, Math.floor(length / 2)));
    return true;
  }
}

/** Batches that are to be read, in parts as long as requests may be now. */
export class BatchQueue {
  readonly #size: BatchSize;
  /** The batches that are not read yet, in reverse. */
  readonly #left: NodeBatch[];

  constructor(batches: readonly NodeBatch[], size: BatchSize) {
    this.#size = size;
    this.#left = batches.toReversed();
  }

  get isEmpty(): boolean {
    return this.#left.length === 0;
  }

  /** The next request; undefined when nothing is left. */
  take(): NodeBatch | undefined {
    const batch = this.#left.pop();
    if (batch === undefined) return undefined;
    const { nodeId, rangeIds } = batch;
    const { ids } = this.#size;
    if (rangeIds.length <= ids) return batch;
    this.#left.push({ nodeId, rangeIds: rangeIds.slice(ids) });
    return { nodeId, rangeIds: rangeIds.slice(0, ids) };
  }

  /**
   * Puts a request that failed with this status back, if a shorter one may succeed. Returns whether it did. Else what is left of
   * its batch is asked for last: a node that fails must not end the reading of others.
   */
  putBack({ nodeId, rangeIds }: NodeBatch, status: number | undefined): boolean {
    const isHalved = this.#size.halve(rangeIds.length, status);
    const rest = this.#left.at(-1)?.nodeId === nodeId ? this.#left.pop() : undefined;
    if (isHalved) this.#left.push({ nodeId, rangeIds: rangeIds.concat(rest?.rangeIds ?? []) });
    else if (rest !== undefined) this.#left.unshift(rest);
    return isHalved;
  }
}
