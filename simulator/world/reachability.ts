import { isReachable } from './nodes.ts';
import { nodeOf, type WorldState } from './state.ts';

/** Whether one node can call another one now, by their ids. Throws RangeError for a node that is not in this world. */
export function canReach(state: WorldState, from: number, to: number): boolean {
  const areUp = isReachable(nodeOf(state, from)) && isReachable(nodeOf(state, to));
  return areUp && (from === to || !state.cutPairs.has(pairKey(from, to)));
}

/** The name of a pair of nodes, in whatever order they are given. */
export function pairKey(a: number, b: number): string {
  return `${Math.min(a, b)}-${Math.max(a, b)}`;
}
