import { nodeOf, type WorldState } from './state.ts';

/** Whether a call from node `from` to node `to` arrives and is answered. A node reaches itself while its process runs. */
export function canReach(state: WorldState, from: number, to: number): boolean {
  const [caller, called] = [nodeOf(state, from).process, nodeOf(state, to).process];
  if (from === to) return called === 'up' || called === 'partitioned';
  return caller === 'up' && called === 'up';
}
