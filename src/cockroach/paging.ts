import { hash } from 'node:crypto';
import { RequestError } from '../http/errors.ts';
import type { PollStats } from '../http/poll-stats.ts';
import { array, integer, nameText, object, optional, raw } from '../json/shape.ts';

/** A longer listing comes from a server that never ends; the largest real one has some tens of pages. */
const MAX_PAGES = 1_000;

/** The continuation token of 10,000 nodes is 80 kB long, and a request must carry it. */
const MAX_TOKEN_LENGTH = 256 * 1024;

// What a page has beside its elements.

export const tablesEnvelope = object({ pagination_info: object({ total_results: integer() }) });
export const offsetEnvelope = object({ next: raw() });
export const sessionsEnvelope = object({
  next: raw(),
  errors: array(object({ node_id: integer() })),
  internal_app_name_prefix: optional(nameText()),
});
/** They distinguish the first session of one page from that of another. */
export const identityFields = { id: raw(), node_id: raw(), start: raw() };

/** Pages by limit and offset: `readPage` resolves to the response's `next`, which must grow and is absent at the end. */
export async function readOffsetPages(
  stats: PollStats,
  what: string,
  readPage: (offset: number) => Promise<unknown>,
): Promise<void> {
  let offset = 0;
  for (let pages = 1; ; pages += 1) {
    const next = await readPage(offset);
    if (next === undefined || next === null) return;
    if (typeof next !== 'number' || !Number.isSafeInteger(next)) {
      throw new RequestError('decode', `${what}: \`next\` is not an offset`);
    }
    if (next <= offset) throw endless(stats, `${what}: \`next\` went from ${offset} to ${next}`);
    if (pages === MAX_PAGES) throw endless(stats, `${what}: more than ${MAX_PAGES} pages`);
    offset = next;
  }
}

/** Elements per page by number, and pages of one listing: 10,000 tables. */
const NUMBERED_PAGE_SIZE = 500;
const MAX_NUMBERED_PAGES = 20;

/** Pages by number and size: `readPage` resolves to the elements of the page and of the listing, this to the latter. */
export async function readNumberedPages(
  stats: PollStats,
  readPage: (
    query: string,
  ) => Promise<{ readonly read: number; readonly total?: number | undefined }>,
): Promise<number> {
  let all = 0;
  for (let page = 1; ; page += 1) {
    const query = `pageNum=${page}&pageSize=${NUMBERED_PAGE_SIZE}`;
    const { read, total } = await readPage(query);
    all += read;
    // A server that does not count is read until a page is not full. An empty page counts 0, also after others.
    const isLast = total ? all >= total : read < NUMBERED_PAGE_SIZE;
    if (read === 0 || isLast) return all;
    if (page < MAX_NUMBERED_PAGES) continue;
    stats.limits.add('items');
    return total || all;
  }
}

/**
 * Pages by limit and start (sessions): `readPage` resolves to the response's `next`, and the nodes that it names in
 * `errors`. The length of a page proves nothing: servers may cap it below the limit. Real servers send `next` for ever,
 * so the end is also a token that came before, or one that leaves only failed nodes.
 */
export async function readTokenPages(
  stats: PollStats,
  what: string,
  readPage: (
    start: string | undefined,
  ) => Promise<{ readonly next: unknown; readonly failedNodes: ReadonlySet<number> }>,
): Promise<void> {
  const seen = new Set<string>();
  let start: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const { next, failedNodes } = await readPage(start);
    if (next === undefined || next === null || next === '') return;
    if (typeof next !== 'string') {
      throw new RequestError('decode', `${what}: \`next\` is not a token`);
    }
    if (next.length > MAX_TOKEN_LENGTH) {
      throw endless(stats, `${what}: \`next\` is longer than ${MAX_TOKEN_LENGTH} characters`);
    }
    const digest = hash('sha256', next);
    if (seen.has(digest) || leavesOnlyFailedNodes(next, failedNodes)) return;
    if (pages === MAX_PAGES) throw endless(stats, `${what}: more than ${MAX_PAGES} pages`);
    seen.add(digest);
    start = next;
  }
}

/**
 * The token is base64 of `queried,…,|node in progress|index|to query,…,`, with 0 for no node. A failed node stays in
 * progress for ever when it is the last. A token of another form proves nothing.
 */
function leavesOnlyFailedNodes(token: string, failedNodes: ReadonlySet<number>): boolean {
  const text = Buffer.from(token, 'base64url').toString('latin1');
  const [, inProgress, toQuery] = /^[\d,]*\|(\d+)\|\d+\|([\d,]*)$/.exec(text) ?? [];
  if (inProgress === undefined || toQuery === undefined) return false;
  const left = [inProgress, ...toQuery.split(',')].map(Number).filter((node) => node !== 0);
  return left.every((node) => failedNodes.has(node));
}

function endless(stats: PollStats, message: string): RequestError {
  stats.limits.add('pages');
  return new RequestError('limit', message, { limit: 'pages' });
}

/** Whether a page, by its first session, begins like an earlier one: a server that misreads its own token starts over. */
export function isRepeatedPage(
  firstSessions: Set<string>,
  { id, node_id: nodeId, start }: Readonly<Record<'id' | 'node_id' | 'start', unknown>>,
): boolean {
  if (id === undefined || id === null || id === '') return false;
  // An id may be megabytes long.
  const first = hash('sha256', JSON.stringify([id, nodeId, start]));
  if (firstSessions.has(first)) return true;
  firstSessions.add(first);
  return false;
}
