import { hash } from 'node:crypto';
import { array, integer, nameText, object, optional, raw } from '#json';
import { RequestError } from './http/errors.ts';
import type { PollStats } from './http/poll-stats.ts';

/** A longer listing comes from a server that never ends; the largest real one has some tens of pages. */
const MAX_PAGES = 1_000;
/** A server that sends more empty pages of sessions in a row never ends. */
const MAX_EMPTY_PAGES = 5;

// These shapes are those of the members that a page has beside its elements.

export const tablesEnvelope = object({
  pagination_info: object({ total_results: optional(integer()) }),
});
export const offsetEnvelope = object({ next: raw() });
export const sessionsEnvelope = object({
  next: raw(),
  errors: array(object({ node_id: integer() })),
  internal_app_name_prefix: optional(nameText()),
});

/**
 * Pages by limit and offset: `readPage` resolves to the number of elements and the response's `next`, which must grow and is absent
 * at the end: a page without elements is the last one.
 */
export async function readOffsetPages(
  stats: PollStats,
  what: string,
  readPage: (offset: number) => Promise<{ readonly elements: number; readonly next: unknown }>,
): Promise<void> {
  let offset = 0;
  for (let pages = 1; ; pages += 1) {
    const { elements, next } = await readPage(offset);
    if (next === undefined || next === null) return;
    if (typeof next !== 'number' || !Number.isSafeInteger(next)) {
      throw new RequestError('decode', `${what}: \`next\` is not an offset`);
    }
    if (next <= offset) throw endless(stats, `${what}: \`next\` went from ${offset} to ${next}`);
    if (elements === 0) throw endless(stats, `${what}: a page is empty and has \`next\``);
    if (pages === MAX_PAGES) throw endless(stats, `${what}: more than ${MAX_PAGES} pages`);
    offset = next;
  }
}

/**
 * Elements per page by number, and of one listing: tables. One page has all of them, as a server sorts its tables for each page:
 * one that has grown in between from the 600th to the 400th place would be on neither of two pages of 500.
 */
const NUMBERED_PAGE_SIZE = 10_000;
/** A server, or a proxy, may send shorter pages. */
const MAX_NUMBERED_PAGES = 20;

/**
 * Pages by number and size: `readPage` resolves to the elements of the page and of the whole listing. Where the server does not
 * send their number, an empty page is the last.
 */
export async function readNumberedPages(
  stats: PollStats,
  readPage: (
    query: string,
  ) => Promise<{ readonly read: number; readonly total: number | undefined }>,
): Promise<void> {
  let all = 0;
  for (let page = 1; page <= MAX_NUMBERED_PAGES && all < NUMBERED_PAGE_SIZE; page += 1) {
    const { read, total } = await readPage(`pageNum=${page}&pageSize=${NUMBERED_PAGE_SIZE}`);
    all += read;
    // The server counts 0 elements for an empty page, also after others.
    if (read === 0 || all >= (total || Infinity)) return;
  }
  stats.limits.add('items');
}

/**
 * Pages by limit and start (sessions): `readPage` resolves to the response's `next`, the nodes that it names in `errors`,
 * and the number of its elements. The length of a page proves nothing: servers may cap it below the limit. Real servers
 * send `next` for ever, so the end is also the same token again, or one that leaves only failed nodes. Any other token that
 * comes again begins the listing again, as of a proxy that drops `start`: its elements would be counted twice. Nodes without
 * sessions give an empty page, and so do those that join before the next one: many in a row come from a server that never ends.
 */
export async function readTokenPages(
  stats: PollStats,
  readPage: (start: string | undefined) => Promise<{
    readonly next: unknown;
    readonly failedNodes: ReadonlySet<number>;
    readonly elements: number;
  }>,
): Promise<void> {
  let start: string | undefined;
  let emptyPages = 0;
  /** Hashes, as a server may send tokens of any length. */
  const seen = new Set<string>();
  for (let pages = 1; ; pages += 1) {
    const { next, failedNodes, elements } = await readPage(start);
    if (next === undefined || next === null || next === '') return;
    if (typeof next !== 'string') {
      throw new RequestError('decode', 'sessions: `next` is not a token');
    }
    if (leavesOnlyFailedNodes(next, failedNodes)) return;
    if (next === start && elements === 0) return;
    const hashed = hash('sha256', next);
    if (seen.has(hashed)) throw endless(stats, 'sessions: `next` repeats');
    emptyPages = elements === 0 ? emptyPages + 1 : 0;
    if (emptyPages > MAX_EMPTY_PAGES) {
      throw endless(stats, `sessions: ${emptyPages} pages in a row are empty and have \`next\``);
    }
    if (pages === MAX_PAGES) throw endless(stats, `sessions: more than ${MAX_PAGES} pages`);
    seen.add(hashed);
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

// Far above the largest real cluster. A server that invents more of a kind would fill the memory: its response is not read
// to the end, and the poll fails with the reason `limit`. docs/reliability.md lists them.

/** The largest size of an element of a listing: the largest honest one (a node with many stores, a table with many grants) has half a megabyte. */
export const ELEMENT_LIMITS = { maxElementBytes: 16 * 1024 * 1024, maxDepth: 64 };
/** Responses of real clusters hold fewer of each. */
const MAX_COUNTS = {
  /** Nodes of a cluster, also those that sessions, errors and ranges name. */
  nodes: 10_000,
  /** Stores of all nodes together. */
  stores: 50_000,
  storesOfNode: 1_000,
  replicasOfNode: 2_000_000,
  /** Values of all nodes and stores: a hundred for each of 5,000 nodes, or all metrics of 140 nodes. */
  values: 500_000,
  /** Distinct hosts of clients, counted for each node. */
  clientHosts: 100_000,
};

/** Throws when a response holds more of a kind than any cluster has; `what` is the response (`sessions`), `kind` says what is counted. */
export function assertWithin(
  { limits }: Pick<PollStats, 'limits'>,
  what: string,
  kind: string,
  count: number,
  limit: keyof typeof MAX_COUNTS,
): void {
  const max = MAX_COUNTS[limit];
  if (count <= max) return;
  limits.add('items');
  throw new RequestError('limit', `${what}: more than ${max} ${kind}`, { limit: 'items' });
}

/** Who lists the ranges of a node: any server, the node itself through any server, or the URL's own. */
export type RangeRoute = 'gateway' | 'proxy' | 'local';
