import { nodeOf, type WorldState } from './state.ts';

/** Whether a call from node `from` to node `to` arrives and is answered. A node reaches itself while its process runs. */
export function canReach(state: WorldState, from: number, to: number): boolean {
  const [caller, called] = [nodeOf(state, from).process, nodeOf(state, to).process];
  if (from === to) return called === 'up' || called === 'partitioned';
  return caller === 'up' && called === 'up' && !state.cutPairs.has(pairKey(from, to));
}

/** The name of a pair of nodes, in whatever order they are given. */
export function pairKey(a: number, b: number): string {
  return `${Math.min(a, b)}-${Math.max(a, b)}`;
}
