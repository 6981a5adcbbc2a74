import { interleave, StableRanking } from '../stable-ranking.ts';
import { listedRange, type ReplicaSlice } from './problem-ranges.ts';
import { NO_LEASE } from './replica.ts';
import type { HotRange } from './scan-result.ts';

interface HotEntry {
  readonly id: number;
  readonly value: number;
  readonly range: HotRange;
}

/** The lists of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export class HotRanges {
  readonly #byQueries = new StableRanking<number, HotEntry>();
  readonly #byCpu = new StableRanking<number, HotEntry>();

  /** Begins a scan, after which at most `length` ranges are listed by each measure. */
  begin(length: number): void {
    this.#byQueries.begin(length);
    this.#byCpu.begin(length);
  }

  /** Adds the ranges whose lease a replica holds. `sendsCpu`: the server of the node leaves out only a CPU of 0. */
  add({ nodeId, replicas, from, to }: ReplicaSlice, sendsCpu: boolean): void {
    for (let index = from; index < to; index += 1) {
      if (replicas.leases[index] === NO_LEASE) continue;
      const id = replicas.rangeIds[index] ?? 0;
      const queries = replicas.queries[index] ?? 0;
      const cpuNanos = replicas.cpuNanos[index] ?? 0;
      const isBusy = cpuNanos > 0 && this.#byCpu.wants(id, cpuNanos);
      // Most ranges end here, before an object is made.
      if (!isBusy && !this.#byQueries.wants(id, queries)) continue;
      const range = {
        ...listedRange(nodeId, replicas, index),
        queries,
        writes: replicas.writes[index] ?? 0,
        cpuSeconds: sendsCpu ? cpuNanos / 1e9 : undefined,
      };
      this.#byQueries.add({ id, value: queries, range });
      if (isBusy) this.#byCpu.add({ id, value: cpuNanos, range });
    }
  }

  /** Ends the scan. Returns the hottest ranges by either measure first. */
  end(): readonly HotRange[] {
    const lists = [this.#byQueries.end(), this.#byCpu.end()];
    // Two stores may claim the lease of a range for a moment: that with more queries is believed.
    const byId = new Map(lists.toReversed().flatMap((list) => list.map((each) => [each.id, each])));
    const ids = interleave(lists.map((list) => list.map(({ id }) => id)));
    return ids.flatMap((id) => byId.get(id)?.range ?? []);
  }
}
