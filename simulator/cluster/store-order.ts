import { createRandom, type Random } from '../random.ts';
import type { ClusterNode } from '../world/nodes.ts';

type Stores = ClusterNode['stores'];

/** The order in which nodes visit their stores. */
export interface StoreOrder {
  /** The stores of a node for one request; the next request draws again. */
  drawn(node: ClusterNode): Stores;
}

/** Go puts the keys of a small map into slots in the order of insertion. */
const SLOTS = 8;

/**
 * A server keeps its stores in a Go map, whose iteration starts at a random slot: stores 1, 2 and 3 in 8 slots come as
 * 1, 2, 3 in six of eight requests, as 2, 3, 1 in one and as 3, 1, 2 in one. The same seed draws the same for each node.
 */
export function createStoreOrder(seed: number): StoreOrder {
  const streams = new Map<number, Random>();
  return {
    drawn({ id, stores }) {
      const random = streams.get(id) ?? createRandom(seed ^ (id * 0x9e37_79b1));
      streams.set(id, random);
      const slot = random.integer(0, Math.max(SLOTS, stores.length) - 1);
      const first = slot < stores.length ? slot : 0;
      return [...stores.slice(first), ...stores.slice(0, first)];
    },
  };
}
