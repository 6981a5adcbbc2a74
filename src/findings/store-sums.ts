import type { NodeStatus } from '../collectors/nodes/collector.ts';
import { sum } from '../sum.ts';

/** The sum of a metric over the stores of a node; undefined where one of them does not send it, or there is none. */
export function sumOfStores({ stores }: NodeStatus, key: string): number | undefined {
  const total = sum(Array.from(stores.values(), (store) => store.get(key) ?? NaN));
  return stores.size === 0 || Number.isNaN(total) ? undefined : total;
}
