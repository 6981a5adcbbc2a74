import type { NodeList } from '#cockroach';
import { shifted } from './scan-clock.ts';

/** What the lists of nodes have shown of the members of a cluster, from scan to scan. Times are ticks. */
export class Members {
  // Arrays by node id are read faster than a Map, for every place of every range.
  #isLive: readonly (true | undefined)[] = [];
  /** When a member went from live to not live. */
  #wentDownAt: number[] = [];
  /** Members that were live in a scan that verified all ranges: what they held then is known. */
  readonly #proven = new Set<number>();

  /** Takes over the list of nodes of a scan that begins at this tick; a member that is no longer listed is not live. */
  update({ toScan }: Pick<NodeList, 'toScan'>, tick: number): void {
    const before = this.#isLive;
    const live: (true | undefined)[] = [];
    for (const nodeId of toScan) live[nodeId] = true;
    for (const [id, wasLive] of Object.entries(before)) {
      if (wasLive && live[Number(id)] === undefined) this.#wentDownAt[Number(id)] = tick;
    }
    this.#isLive = live;
  }

  /** The clock was rebased: all ticks have become smaller. */
  shiftTicks(shift: number): void {
    for (const [id, tick] of Object.entries(this.#wentDownAt)) {
      this.#wentDownAt[Number(id)] = shifted(tick, shift);
    }
  }

  /** Live, draining or decommissioning by the last list of nodes. */
  isLive(nodeId: number): boolean {
    return this.#isLive[nodeId] === true;
  }

  /** When it last went from live to not live; 0 if it never did. */
  wentDownAt(nodeId: number): number {
    return this.#wentDownAt[nodeId] ?? 0;
  }

  /** The ids of all members that something is remembered of. */
  get remembered(): ReadonlySet<number> {
    return this.#proven.union(new Set(Object.keys(this.#wentDownAt).map(Number)));
  }

  /** Forgets members that are gone: no list and no descriptor names them any more. */
  forget(nodeIds: ReadonlySet<number>): void {
    const left: number[] = [];
    for (const [id, tick] of Object.entries(this.#wentDownAt)) {
      if (!nodeIds.has(Number(id))) left[Number(id)] = tick;
    }
    this.#wentDownAt = left;
    for (const nodeId of nodeIds) this.#proven.delete(nodeId);
  }

  /** Records that a scan has verified the replicas of all ranges. */
  prove(nodeIds: readonly number[]): void {
    for (const nodeId of nodeIds) this.#proven.add(nodeId);
  }

  /** Whether what these members held when they were last live is known. */
  areProven(nodeIds: readonly number[]): boolean {
    return nodeIds.every((nodeId) => this.#proven.has(nodeId));
  }
}
