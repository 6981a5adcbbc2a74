import type { NodeList } from '#cockroach';
import { MAX_NODE_ID } from './range-map.ts';

/**
 * What the lists of nodes have shown of the members of a cluster, from scan to scan. Times are ticks. Members that have left stay:
 * their ids, which are never used again, are up to 65,535, and no range is verified on one above.
 */
export class Members {
  // Arrays by node id are read faster than a Map, for every place of every range.
  #isLive: readonly (true | undefined)[] = [];
  /** When a member went from live to not live, or a store from its list. */
  #lostStoresAt: number[] = [];
  /** The stores that each node listed when it was last read. */
  readonly #stores = new Map<number, ReadonlySet<number>>();
  /** Members that were live in a scan that verified all ranges: what they held then is known. */
  readonly #proven = new Set<number>();

  /** Takes over the list of nodes of a scan that begins at this tick; a member that is no longer listed is not live. */
  update({ toScan }: Pick<NodeList, 'toScan'>, tick: number): void {
    const before = this.#isLive;
    const live: (true | undefined)[] = [];
    for (const nodeId of toScan) if (nodeId <= MAX_NODE_ID) live[nodeId] = true;
    for (const [id, wasLive] of Object.entries(before)) {
      if (wasLive && live[Number(id)] === undefined) this.#lostStoresAt[Number(id)] = tick;
    }
    this.#isLive = live;
  }

  /**
   * Takes over the stores that a node lists in a scan that began at this tick. Where one is gone, what its descriptors said of the node
   * is not known any more: another of its stores may have old replicas of the same ranges.
   */
  updateStores(nodeId: number, stores: ReadonlySet<number>, tick: number): void {
    const before = this.#stores.get(nodeId);
    this.#stores.set(nodeId, stores);
    if (before?.isSubsetOf(stores) === false) this.#lostStoresAt[nodeId] = tick;
  }

  /** Whether the node may have the store: it listed it when it was last read, or was not read yet. */
  mayHave(nodeId: number, storeId: number): boolean {
    return storeId === 0 || (this.#stores.get(nodeId)?.has(storeId) ?? true);
  }

  /** The one store that the node listed when it was last read; 0 where these were several, or none. */
  onlyStoreOf(nodeId: number): number {
    const [storeId = 0, ...others] = this.#stores.get(nodeId) ?? [];
    return others.length === 0 ? storeId : 0;
  }

  /** Live, draining or decommissioning by the last list of nodes. */
  isLive(nodeId: number): boolean {
    return this.#isLive[nodeId] === true;
  }

  /** When it last went from live to not live, or lost a store; 0 if it never did. */
  lostStoresAt(nodeId: number): number {
    return this.#lostStoresAt[nodeId] ?? 0;
  }

  /** Records that a scan has verified the replicas of all ranges. */
  prove(): void {
    for (const nodeId of Object.keys(this.#isLive)) this.#proven.add(Number(nodeId));
  }

  /** Whether what these members held when they were last live is known. */
  areProven(nodeIds: readonly number[]): boolean {
    return nodeIds.every((nodeId) => this.#proven.has(nodeId));
  }
}
