import { type ClusterApi, failureOf } from '#cockroach';
import { BatchQueue, type NodeBatch } from './batches.ts';
import { reportersOf } from './descriptors.ts';
import { RangesIgnoredError, readSingleRanges } from './ignoring-urls.ts';
import { MAX_READ_AGAIN, nameKey } from './key-space.ts';
import { type KnownRanges, SERVES_NOTHING } from './known-ranges.ts';
import type { Replica } from './replica.ts';
import type { ScanContext } from './scan-state.ts';

/** What the replicas that were asked a second time have confirmed. */
export interface Confirmed {
  /** Ids of the ranges whose suspects were all asked. */
  readonly checked: ReadonlySet<number>;
  /** The problems that a replica repeated, as bits, by range and node. */
  readonly repeated: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

/** A replica that a descriptor names on a live node, and that the list of the node does not have. */
export interface AbsentReplica {
  readonly slot: number;
  readonly nodeId: number;
}

/** Reads single replicas a second time in the same scan: some replica is always between two leaders, and some range is being split. */
export class SecondReading {
  readonly #api: ClusterApi;
  readonly #context: ScanContext;
  readonly #known: KnownRanges;
  /** Number of scans whose lists were read. */
  readonly #scan: number;

  constructor(api: ClusterApi, context: ScanContext) {
    this.#api = api;
    this.#context = context;
    this.#known = context.state.known;
    this.#scan = context.state.scans;
  }

  /** Asks the suspects again. A range is not checked when one of its suspects was not asked, or did not answer. */
  async confirmSuspects(): Promise<Confirmed> {
    const { suspects } = this.#known;
    const unanswered = new Map(Array.from(suspects, ([id, nodeIds]) => [id, new Set(nodeIds)]));
    const repeated = new Map<number, Map<number, number>>();
    await this.#readReplicas(
      Array.from(suspects, ([rangeId, nodeIds]) =>
        Array.from(nodeIds, (nodeId) => ({ rangeId, nodeId })),
      ).flat(),
      (rangeId, nodeId, { problems }) => {
        // Without them it has not said whether it serves.
        if (problems === undefined) return;
        unanswered.get(rangeId)?.delete(nodeId);
        if ((problems & SERVES_NOTHING) === 0) return;
        const byNode = repeated.get(rangeId) ?? new Map<number, number>();
        // Another store of the node may hold the range, too.
        repeated.set(rangeId, byNode.set(nodeId, (byNode.get(nodeId) ?? 0) | problems));
      },
      () => undefined,
      // At the URL of the list: of two URLs one may repeat old responses, and would clear each suspect of the other.
      this.#scan - 1,
    );
    const checked = [...unanswered].flatMap(([id, nodeIds]) => (nodeIds.size === 0 ? [id] : []));
    return { checked: new Set(checked), repeated };
  }

  /**
   * Asks live nodes for replicas that a new descriptor names and that their lists did not have: they have moved there since, or
   * they are lost. Returns the slots of ranges where that is still not known.
   */
  async confirmAbsent(absent: readonly AbsentReplica[]): Promise<Set<number>> {
    const { map } = this.#known;
    const byRange = Map.groupBy(absent, ({ slot }) => slot);
    const chosen = new Set([...byRange.keys()].slice(0, MAX_READ_AGAIN));
    const unknown = new Set(byRange.keys()).difference(chosen);
    const slotsById = new Map(Array.from(chosen, (slot) => [map.columns.ids[slot] ?? 0, slot]));
    await this.#readReplicas(
      [...slotsById].flatMap(([rangeId, slot]) =>
        (byRange.get(slot) ?? []).map(({ nodeId }) => ({ rangeId, nodeId })),
      ),
      (rangeId, nodeId) => {
        const slot = slotsById.get(rangeId);
        if (slot !== undefined) map.report(slot, nodeId);
      },
      (rangeId) => unknown.add(slotsById.get(rangeId) ?? -1),
    );
    return unknown;
  }

  /**
   * Asks the nodes that reported these ranges, except the nodes that have repeated their report. Where a node does not have a range any
   * more, takes its report back. Resolves to the slots of the ranges with such a node. Example: nodes 1 and 2 were read before a merge,
   * and node 3, which has missed it, after it.
   */
  async confirmReporters(
    slots: readonly number[],
    { repeated }: Confirmed,
  ): Promise<ReadonlySet<number>> {
    const { map } = this.#known;
    const idOf = (slot: number): number => map.columns.ids[slot] ?? 0;
    const asked = slots.flatMap((slot) =>
      reportersOf(map, slot)
        .filter((nodeId) => repeated.get(idOf(slot))?.has(nodeId) !== true)
        .map((nodeId) => ({ slot, rangeId: idOf(slot), nodeId })),
    );
    const holders = new Map<number, Set<number>>(slots.map((slot) => [idOf(slot), new Set()]));
    const keep = (rangeId: number, nodeId: number): void => {
      holders.get(rangeId)?.add(nodeId);
    };
    await this.#readReplicas(asked, keep, keep);
    const gone = asked.filter(({ rangeId, nodeId }) => holders.get(rangeId)?.has(nodeId) === false);
    for (const { slot, rangeId, nodeId } of gone) {
      // A range that nobody has any more is left to the reading of its keys.
      const isHeld = repeated.has(rangeId) || holders.get(rangeId)?.size !== 0;
      if (isHeld) map.takeBack(slot, nodeId);
    }
    return new Set(gone.map(({ slot }) => slot));
  }

  /**
   * Reads the keys of these ranges again: at the first reporter, which is the leaseholder where it is known, and where that has no replica
   * any more, at the second. A range that neither of them has leaves the scan. Resolves to whether the keys of all other ranges were read.
   */
  async readKeys(slots: readonly number[]): Promise<boolean> {
    const { map } = this.#known;
    const { ids, found } = map.columns;
    const read = new Set<number>();
    let left = slots.map((slot) => ({ slot, reporters: reportersOf(map, slot) }));
    for (let attempt = 0; attempt < 2 && left.length > 0; attempt += 1) {
      const answered = new Set<number>();
      const failed = new Set<number>();
      const asked = left.flatMap(({ slot, reporters }) => {
        const nodeId = reporters[attempt];
        return nodeId === undefined ? [] : [{ rangeId: ids[slot] ?? 0, nodeId }];
      });
      await this.#readReplicas(
        asked,
        (rangeId, _nodeId, replica) => {
          this.#takeKeys(rangeId, replica, !answered.has(rangeId));
          answered.add(rangeId);
          read.add(rangeId);
        },
        (rangeId) => failed.add(rangeId),
      );
      left = left.filter(({ slot, reporters }) => {
        const rangeId = map.columns.ids[slot] ?? 0;
        if (answered.has(rangeId) || failed.has(rangeId)) return false;
        const wasAsked = reporters[attempt] !== undefined;
        if (wasAsked && (reporters[attempt + 1] === undefined || attempt === 1)) {
          this.#known.remove(slot);
        }
        return true;
      });
    }
    return slots.every((slot) => found[slot] === 0 || read.has(ids[slot] ?? 0));
  }

  /** Takes the keys of a replica. If several stores of the node have one, the replica with the lease counts. */
  #takeKeys(
    rangeId: number,
    { desc, lease_history: lease, source_store_id: storeId }: Replica,
    isNew: boolean,
  ): void {
    const slot = this.#known.map.slotOf(rangeId);
    if (slot === undefined) return;
    const leaseSequence = lease?.replica.store_id === storeId ? (lease?.sequence ?? 0) : undefined;
    const [start, end] = [nameKey(desc.start_key ?? 0), nameKey(desc.end_key ?? 0)];
    this.#known.commitKeys(slot, { start, end, isNew, leaseSequence });
  }

  /** Rejects where no URL answers. A URL that lists a range that it was not asked for is read no further, and is not asked again. */
  async #readBatch(
    { nodeId, rangeIds }: NodeBatch,
    start: number,
    onReplica: (rangeId: number, replica: Replica) => void,
  ): Promise<void> {
    const { urls, state, clock } = this.#context;
    for (let attempt = 0; attempt <= urls; attempt += 1) {
      const url = state.ignoring.choose(urls, start, clock.monotonicMs());
      if (url === undefined) break;
      try {
        const request = { nodeId, rangeIds, ...url };
        return await readSingleRanges(this.#api, this.#context, request, onReplica);
      } catch (error) {
        if (!(error instanceof RangesIgnoredError)) throw error;
        state.ignoring.add(error.urlIndex, error.urlName, clock.monotonicMs());
      }
    }
    throw new RangesIgnoredError('every URL');
  }

  /**
   * Reads these replicas; a request that fails is reported for each of its ranges. The request to a node begins at the URL at which scan
   * number `scan` begins with the list of the node: number `#scan` is the next one.
   */
  async #readReplicas(
    replicas: readonly { readonly rangeId: number; readonly nodeId: number }[],
    onReplica: (rangeId: number, nodeId: number, replica: Replica) => void,
    onFailure: (rangeId: number, nodeId: number) => void,
    scan = this.#scan,
  ): Promise<void> {
    const batches = Array.from(
      Map.groupBy(replicas, ({ nodeId }) => nodeId),
      ([nodeId, list]) => ({ nodeId, rangeIds: list.map(({ rangeId }) => rangeId) }),
    );
    const queue = new BatchQueue(batches, this.#context.state.reading.size);
    const work = async (): Promise<void> => {
      for (let batch = queue.take(); batch !== undefined; batch = queue.take()) {
        const { nodeId, rangeIds } = batch;
        try {
          await this.#readBatch(batch, nodeId + scan, (rangeId, replica) =>
            onReplica(rangeId, nodeId, replica),
          );
        } catch (error) {
          if (queue.putBack(batch, failureOf(error).status)) continue;
          // What was not read again stays unverified, or leaves a gap: the next scan tries again.
          for (const rangeId of rangeIds) onFailure(rangeId, nodeId);
        }
      }
    };
    await Promise.all(Array.from({ length: this.#context.options.concurrency }, work));
  }
}
