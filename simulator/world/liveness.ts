import type { ClusterNode, Liveness } from './nodes.ts';
import type { WorldState } from './state.ts';

/** The liveness of a node whose heartbeats arrive; draining nodes have their own. */
export function liveStatus({ membership }: ClusterNode): Liveness {
  return membership === 'active' ? 'live' : 'decommissioning';
}

/** The liveness of a node whose heartbeats have expired, until it counts as dead. */
export function expiredStatus({ membership }: ClusterNode): Liveness {
  return membership === 'decommissioned' ? 'decommissioned' : 'unavailable';
}

/** The liveness of a node that counts as dead: decommissioned (5) once its decommissioning has begun. */
export function deadStatus({ membership }: ClusterNode): Liveness {
  return membership === 'active' ? 'dead' : 'decommissioned';
}

/**
 * What follows when the process stops now. With the server's default settings the node keeps its liveness for 30 s,
 * then it is unavailable, and after 5 min it is dead.
 */
export function expectDeath(state: WorldState, node: ClusterNode): void {
  const { suspectMs, deadMs, timeScale } = state.options;
  node.upcoming = [
    { atMs: state.now() + suspectMs / timeScale, becomes: expiredStatus },
    { atMs: state.now() + deadMs / timeScale, becomes: deadStatus },
  ];
}

/** What follows when a node has come back: it is unavailable for 30 s, as long as it is suspected of leaving again. */
export function expectReturn(state: WorldState, node: ClusterNode): void {
  const { suspectMs, timeScale } = state.options;
  node.liveness = expiredStatus(node);
  node.upcoming = [{ atMs: state.now() + suspectMs / timeScale, becomes: liveStatus }];
}

/** Applies the changes that are due. */
export function advanceLiveness(state: WorldState): void {
  for (const node of state.nodes.values()) {
    const next = node.upcoming.filter(({ atMs }) => atMs <= state.now());
    const last = next.at(-1);
    if (last === undefined) continue;
    node.liveness = last.becomes(node);
    node.upcoming = node.upcoming.slice(next.length);
  }
}
