import type { Progress } from './session-token.ts';

/** Nodes that the token does not know yet are still to be asked; the first of them becomes the current one. */
export function withAllNodes(progress: Progress, nodeIds: readonly number[]): Progress {
  const known = new Set([...progress.queried, progress.current, ...progress.toQuery]);
  const toQuery = [...progress.toQuery, ...nodeIds.filter((id) => !known.has(id))];
  if (progress.current !== 0) return { ...progress, toQuery };
  const [current = 0, ...rest] = toQuery;
  return { queried: progress.queried, current, index: 0, toQuery: rest };
}

/** What one node's answer adds to the page: which of its sessions, and where the listing then stands. */
export interface Cut {
  readonly start: number;
  readonly end: number;
  readonly progress: Progress;
}

/**
 * Cuts the page's share out of a node's sessions. Nodes between the current one and this had failed: they count as
 * queried. A node without sessions stays the current one until the next node answers.
 */
export function cutSessions(
  before: Progress,
  nodeId: number,
  sessions: number,
  limit: number,
): Cut {
  const progress = before.current === nodeId ? before : advancedTo(before, nodeId);
  if (sessions === 0) return { start: 0, end: 0, progress };
  const start = Math.min(progress.index, sessions);
  const end = Math.min(start + limit, sessions);
  if (end < sessions) return { start, end, progress: { ...progress, index: end } };
  const [current = 0, ...toQuery] = progress.toQuery;
  const queried = [...progress.queried, nodeId];
  return { start, end, progress: { queried, current, index: 0, toQuery } };
}

function advancedTo(progress: Progress, nodeId: number): Progress {
  const at = progress.toQuery.indexOf(nodeId);
  return {
    queried: [...progress.queried, progress.current, ...progress.toQuery.slice(0, at)],
    current: nodeId,
    index: 0,
    toQuery: progress.toQuery.slice(at + 1),
  };
}
