/** The position of a paged listing over the nodes; the content of its continuation token. */
export interface Progress {
  queried: number[];
  /** 0 for none. */
  current: number;
  /** The number of sessions of the current node that were listed already. */
  index: number;
  toQuery: number[];
}

/** The position before the first page, and of a listing without a limit. */
export function newProgress(): Progress {
  return { queried: [], current: 0, index: 0, toQuery: [] };
}

/** URL-safe base64 of `queried,…,|current|index|toQuery,…,`. */
export function encodeProgress(progress: Progress): string {
  const text = `${idsText(progress.queried)}|${progress.current}|${progress.index}|${idsText(progress.toQuery)}`;
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** Decodes a token; an invalid one starts over, as on the server. */
export function decodeProgress(token: string): Progress {
  const wellFormed = token.length % 4 === 0 && /^[A-Za-z0-9_-]*={0,2}$/.test(token);
  const text = wellFormed ? Buffer.from(token, 'base64url').toString() : '';
  const match = /^((?:\d+,?)*)\|(\d+)\|(\d+)\|((?:\d+,?)*)$/.exec(text);
  if (match === null) return newProgress();
  const [, queried = '', current = '', index = '', toQuery = ''] = match;
  const progress = {
    queried: parseIds(queried),
    current: Number(current),
    index: Number(index),
    toQuery: parseIds(toQuery),
  };
  const valid = progress.index === 0 || progress.current > 0;
  return valid && ![...progress.queried, ...progress.toQuery].includes(0)
    ? progress
    : newProgress();
}

function idsText(ids: readonly number[]): string {
  return ids.map((id) => `${id},`).join('');
}

function parseIds(text: string): number[] {
  return text
    .split(',')
    .filter((id) => id !== '')
    .map(Number);
}

/** Adds the nodes that the token does not contain; the first node to query becomes the current one. */
export function withMissingNodes(progress: Progress, nodeIds: readonly number[]): Progress {
  const known = new Set([...progress.queried, progress.current, ...progress.toQuery]);
  const toQuery = [...progress.toQuery, ...nodeIds.filter((id) => !known.has(id))];
  if (progress.current !== 0) return { ...progress, toQuery };
  const [current = 0, ...rest] = toQuery;
  return { queried: progress.queried, current, index: 0, toQuery: rest };
}

/** The sessions of one node on a page, and the position after them. */
export interface SessionSlice {
  readonly start: number;
  readonly end: number;
  readonly progress: Progress;
}

/**
 * Selects the sessions of a node for a page. Nodes between the current one and this one had failed and count as
 * queried. A node without sessions stays the current one until the next node responds.
 */
export function sliceSessions(
  before: Progress,
  nodeId: number,
  sessions: number,
  limit: number,
): SessionSlice {
  const progress = before.current === nodeId ? before : advanceTo(before, nodeId);
  if (sessions === 0) return { start: 0, end: 0, progress };
  const start = Math.min(progress.index, sessions);
  const end = Math.min(start + limit, sessions);
  if (end < sessions) return { start, end, progress: { ...progress, index: end } };
  const [current = 0, ...toQuery] = progress.toQuery;
  const queried = [...progress.queried, nodeId];
  return { start, end, progress: { queried, current, index: 0, toQuery } };
}

function advanceTo(progress: Progress, nodeId: number): Progress {
  const at = progress.toQuery.indexOf(nodeId);
  return {
    queried: [...progress.queried, progress.current, ...progress.toQuery.slice(0, at)],
    current: nodeId,
    index: 0,
    toQuery: progress.toQuery.slice(at + 1),
  };
}
