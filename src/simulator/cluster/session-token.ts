/** Where a paged listing over the nodes stands, as its continuation token says. */
export interface Progress {
  queried: number[];
  /** 0 for none. */
  current: number;
  /** Sessions of the current node that were listed already. */
  index: number;
  toQuery: number[];
}

/** The state of a listing that has not begun; also that of one without a limit. */
export function freshProgress(): Progress {
  return { queried: [], current: 0, index: 0, toQuery: [] };
}

/** URL-safe base64 of `queried,…,|current|index|toQuery,…,`. */
export function encodeProgress(progress: Progress): string {
  const text = `${idsText(progress.queried)}|${progress.current}|${progress.index}|${idsText(progress.toQuery)}`;
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** The state of a token; one that is not a token starts over, as on the server. */
export function decodeProgress(token: string): Progress {
  const wellFormed = token.length % 4 === 0 && /^[A-Za-z0-9_-]*={0,2}$/.test(token);
  const text = wellFormed ? Buffer.from(token, 'base64url').toString() : '';
  const match = /^((?:\d+,?)*)\|(\d+)\|(\d+)\|((?:\d+,?)*)$/.exec(text);
  if (match === null) return freshProgress();
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
    : freshProgress();
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
