import { hash } from 'node:crypto';
import { RequestError } from '../http/errors.ts';
import type { Reading } from '../http/reading.ts';

/** A listing that long is a server that never ends; the largest real one has some tens of pages. */
const MAX_PAGES = 1_000;

/** The continuation token of 10,000 nodes is 80 kB long, and a request must carry it. */
const MAX_TOKEN_LENGTH = 256 * 1024;

/** One answer of the sessions, as far as paging is concerned. */
export interface TokenPage {
  readonly next: string | undefined;
  /** Nodes that this answer names in `errors`. */
  readonly failedNodes: ReadonlySet<number>;
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
 * Pages by limit and start (sessions). The length of a page means nothing: servers may cap it below the limit. Real
 * servers send `next` for ever, so the end is also a token that came before, or one that leaves only failed nodes.
 */
export async function readTokenPages(
  reading: Reading,
  what: string,
  readPage: (start: string | undefined) => Promise<TokenPage>,
): Promise<void> {
  const seen = new Set<string>();
  let start: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const { next, failedNodes } = await readPage(start);
    if (next === undefined || next === '') return;
    if (next.length > MAX_TOKEN_LENGTH) {
      throw endless(reading, `${what}: \`next\` is longer than ${MAX_TOKEN_LENGTH} characters`);
    }
    const digest = hash('sha256', next);
    if (seen.has(digest) || leavesNobody(next, failedNodes)) return;
    if (pages === MAX_PAGES) throw endless(reading, `${what}: more than ${MAX_PAGES} pages`);
    seen.add(digest);
    start = next;
  }
}

/**
 * The token is base64 of `queried,…,|node in progress|index|to query,…,`, with 0 for no node. A failed node stays in
 * progress for ever when it is the last. A token of another form says nothing.
 */
function leavesNobody(token: string, failedNodes: ReadonlySet<number>): boolean {
  const text = Buffer.from(token, 'base64url').toString('latin1');
  const [, inProgress, toQuery] = /^[\d,]*\|(\d+)\|\d+\|([\d,]*)$/.exec(text) ?? [];
  if (inProgress === undefined || toQuery === undefined) return false;
  const left = [inProgress, ...toQuery.split(',')].map(Number).filter((node) => node !== 0);
  return left.every((node) => failedNodes.has(node));
}

function endless(reading: Reading, message: string): RequestError {
  reading.limits.add('pages');
  return new RequestError('limit', message);
}
