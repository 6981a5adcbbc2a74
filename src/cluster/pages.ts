import { RequestError } from '../http/errors.ts';
import type { Reading } from '../http/reading.ts';

/** A listing that long is a server that never ends; the largest real one has some tens of pages. */
const MAX_PAGES = 1_000;

/** One answer of the sessions, as far as paging is concerned. */
export interface TokenPage {
  /** Elements the answer held, those included that were skipped. */
  readonly elements: number;
  readonly next: string | undefined;
}

/**
 * Pages by limit and offset (nodes, ranges): `readPage` resolves to the answer's `next`, the offset
 * to go on with, which is left out at the end. It must grow, else the listing would never end.
 */
export async function readOffsetPages(
  reading: Reading,
  what: string,
  readPage: (offset: number) => Promise<number | undefined>,
): Promise<void> {
  let offset = 0;
  for (let pages = 1; ; pages += 1) {
    const next = await readPage(offset);
    if (next === undefined) return;
    if (next <= offset) throw endless(reading, `${what}: \`next\` went from ${offset} to ${next}`);
    if (pages === MAX_PAGES) throw endless(reading, `${what}: more than ${MAX_PAGES} pages`);
    offset = next;
  }
}

/**
 * Pages by limit and start (sessions). The server always sends `next`; the end is a page with fewer
 * elements than the limit, or a token that says that no node is left.
 */
export async function readTokenPages(
  reading: Reading,
  what: string,
  options: {
    readonly limit: number;
    readonly readPage: (start: string | undefined) => Promise<TokenPage>;
  },
): Promise<void> {
  let start: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const { elements, next } = await options.readPage(start);
    if (elements < options.limit || next === undefined || next === '') return;
    if (saysNothingLeft(next)) return;
    if (next === start) throw endless(reading, `${what}: \`next\` stands still`);
    if (pages === MAX_PAGES) throw endless(reading, `${what}: more than ${MAX_PAGES} pages`);
    start = next;
  }
}

/** The token is base64 of `queried|node in progress|index|nodes to query`. */
function saysNothingLeft(token: string): boolean {
  const parts = Buffer.from(token, 'base64url').toString('latin1').split('|');
  if (parts.length !== 4) return false;
  return Number(parts[1]) === 0 && (parts[3] ?? '').replaceAll(',', '') === '';
}

function endless(reading: Reading, message: string): RequestError {
  reading.limits.add('pages');
  return new RequestError('limit', message);
}
