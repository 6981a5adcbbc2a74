import { RequestError } from '../http/errors.ts';
import type { Endpoint } from '../http/exchange.ts';
import type { Reading } from '../http/reading.ts';
import {
  type ObjectShape,
  array,
  type Infer,
  integer,
  object,
  optional,
  raw,
  string,
  typed,
} from '../json/shape.ts';
import type { Connection } from './connection.ts';
import { readOffsetPages, readTokenPages } from './pages.ts';

export type { FailureReason } from '../http/errors.ts';
export type { Limit, Reading } from '../http/reading.ts';

const offsetEnvelope = object({ next: raw() });
const sessionsEnvelope = object({
  next: raw(),
  errors: array(object({ node_id: integer() })),
  internal_app_name_prefix: optional(string()),
});

/** Far above the largest real cluster: a longer listing is no list of nodes, and would fill the memory. */
const MAX_NODES = 10_000;

/** Who lists the ranges of a node: any server, the node itself through any server, or the URL's own. */
export type RangeRoute = 'gateway' | 'proxy' | 'local';

interface NodesQuestion<S extends ObjectShape> {
  /** Nodes per page. */
  readonly limit: number;
  readonly shape: S;
  readonly onNode: (node: Infer<S>) => void;
}

interface RangesQuestion<S extends ObjectShape> {
  readonly nodeId: number;
  readonly route: RangeRoute;
  /** Ranges per page. */
  readonly limit: number;
  /** Index of the URL to begin with, so that no gateway carries every scan. */
  readonly firstUrl: number;
  readonly shape: S;
  readonly onRange: (range: Infer<S>) => void;
  /** Waited for between pages, when no answer is being read: a slow reader of what came holds no request open. */
  readonly onPageEnd?: () => Promise<void>;
}

interface SessionsQuestion<S extends ObjectShape> {
  /** Sessions per page. */
  readonly limit: number;
  readonly username?: string;
  readonly shape: S;
  readonly onSession: (session: Infer<S>) => void;
  /** Waited for between pages, as for ranges. */
  readonly onPageEnd?: () => Promise<void>;
}

interface UsersQuestion<S extends ObjectShape> {
  readonly shape: S;
  readonly onUser: (user: Infer<S>) => void;
}

export interface SessionsEnd {
  /** Nodes that could not be asked for their sessions; 0 where the server named none. */
  readonly failedNodes: ReadonlySet<number>;
  /** How the server says that internal application names begin. */
  readonly internalPrefix: string | undefined;
}

/**
 * The cluster API v2, one method an endpoint. Listings call back synchronously, element by element;
 * the element is reused for the next one. Failures are RequestErrors.
 */
export interface ClusterApi {
  /** GET /nodes/, all pages, at most 10,000 nodes; `dateMs` is the Date header of the last answer. */
  nodes<S extends ObjectShape>(
    reading: Reading,
    question: NodesQuestion<S>,
  ): Promise<{ readonly dateMs: number | undefined }>;
  /** GET /nodes/{node_id}/ranges/, all pages. */
  nodeRanges<S extends ObjectShape>(reading: Reading, question: RangesQuestion<S>): Promise<void>;
  /** GET /sessions/, all pages. Servers are asked to leave closed sessions out; old ones do not. */
  sessions<S extends ObjectShape>(
    reading: Reading,
    question: SessionsQuestion<S>,
  ): Promise<SessionsEnd>;
  /** GET /users/, without a limit: servers answer that with a 500. */
  users<S extends ObjectShape>(reading: Reading, question: UsersQuestion<S>): Promise<void>;
  /** GET /databases/{database}/tables/{table}/; `table` may be `schema.table`. */
  table<S extends ObjectShape>(
    reading: Reading,
    question: { readonly database: string; readonly table: string; readonly shape: S },
  ): Promise<Infer<S>>;
}

export function createClusterApi(connection: Connection): ClusterApi {
  return {
    nodes: (reading, question) => listNodes(connection, reading, question),
    nodeRanges: (reading, question) => listRanges(connection, reading, question),
    sessions: (reading, question) => listSessions(connection, reading, question),
    users: (reading, question) => listUsers(connection, reading, question),
    table(reading, { database, table, shape }) {
      const path = `/databases/${encodeURIComponent(database)}/tables/${encodeURIComponent(table)}/`;
      // A table may take too long; that is no reason not to ask for the next one.
      return connection.readObject(reading, { endpoint: 'table', part: path, path, shape });
    },
  };
}

async function listNodes<S extends ObjectShape>(
  connection: Connection,
  reading: Reading,
  question: NodesQuestion<S>,
): Promise<{ readonly dateMs: number | undefined }> {
  let dateMs: number | undefined;
  let nodes = 0;
  const onElement = (node: Infer<S>): void => {
    if (hasId(node)) nodes += 1;
    if (nodes > MAX_NODES) throw tooManyNodes(reading);
    question.onNode(node);
  };
  await readOffsetPages(reading, 'nodes', async (offset) => {
    const page = await connection.readList(reading, {
      endpoint: 'nodes',
      path: `/nodes/?limit=${question.limit}&offset=${offset}`,
      repeatOn500: true,
      list: 'nodes',
      element: question.shape,
      envelope: offsetEnvelope,
      onElement,
    });
    dateMs = page.dateMs;
    return readOffset(page.envelope.next, 'nodes');
  });
  return { dateMs };
}

/** Elements without an id are no nodes: whoever lists them passes over them. */
function hasId(node: object): boolean {
  return 'node_id' in node && Number(node.node_id) > 0;
}

function tooManyNodes({ limits }: Reading): RequestError {
  limits.add('items');
  const message = `nodes: the listing has more than ${MAX_NODES} nodes; see whether the URL is that of a cluster`;
  return new RequestError('limit', message);
}

function listRanges<S extends ObjectShape>(
  connection: Connection,
  reading: Reading,
  question: RangesQuestion<S>,
): Promise<void> {
  const { nodeId, route, limit } = question;
  return readOffsetPages(reading, `ranges of node ${nodeId}`, async (offset) => {
    const page = await connection.readList(reading, {
      endpoint: 'node_ranges',
      path: `${rangesPath(nodeId, route)}limit=${limit}&offset=${offset}`,
      firstUrl: question.firstUrl,
      ...(route !== 'local' && { node: nodeId, proxied: route === 'proxy' }),
      list: 'ranges',
      element: question.shape,
      envelope: offsetEnvelope,
      onElement: question.onRange,
    });
    await question.onPageEnd?.();
    return readOffset(page.envelope.next, 'node_ranges');
  });
}

function rangesPath(nodeId: number, route: RangeRoute): string {
  if (route === 'gateway') return `/nodes/${nodeId}/ranges/?`;
  if (route === 'local') return '/nodes/local/ranges/?';
  return `/nodes/local/ranges/?remote_node_id=${nodeId}&`;
}

/** A server that pages of its own accord is asked for the rest in pages of that length. */
function listUsers<S extends ObjectShape>(
  connection: Connection,
  reading: Reading,
  { shape, onUser }: UsersQuestion<S>,
): Promise<void> {
  let length = 0;
  return readOffsetPages(reading, 'users', async (offset) => {
    const page = await connection.readList(reading, {
      endpoint: 'users',
      path: offset === 0 ? '/users/' : `/users/?limit=${length}&offset=${offset}`,
      list: 'users',
      element: shape,
      envelope: offsetEnvelope,
      onElement: onUser,
    });
    length = page.elements;
    return readOffset(page.envelope.next, 'users');
  });
}

async function listSessions<S extends ObjectShape>(
  connection: Connection,
  reading: Reading,
  question: SessionsQuestion<S>,
): Promise<SessionsEnd> {
  const failedNodes = new Set<number>();
  let internalPrefix: string | undefined;
  const query = new URLSearchParams({ exclude_closed_sessions: 'true' });
  query.set('limit', String(question.limit));
  if (question.username !== undefined) query.set('username', question.username);
  const element = object({ ...identityFields, ...question.shape.fields });
  const firstSessions = new Set<string>();
  await readTokenPages(reading, 'sessions', async (start) => {
    if (start !== undefined) query.set('start', start);
    let isRepeat: boolean | undefined;
    const { envelope } = await connection.readList(reading, {
      endpoint: 'sessions',
      path: `/sessions/?${query.toString()}`,
      repeatOn500: true,
      list: 'sessions',
      element,
      envelope: sessionsEnvelope,
      onElement(session) {
        isRepeat ??= beginsAgain(firstSessions, session);
        if (!isRepeat) question.onSession(typed(question.shape, session));
      },
    });
    const failed = new Set(envelope.errors.map(({ node_id: nodeId = 0 }) => nodeId));
    for (const nodeId of failed) failedNodes.add(nodeId);
    internalPrefix = envelope.internal_app_name_prefix ?? internalPrefix;
    await question.onPageEnd?.();
    return { next: isRepeat === true ? undefined : readToken(envelope.next), failedNodes: failed };
  });
  return { failedNodes, internalPrefix };
}

/** What tells the first session of one page from that of another. */
const identityFields = { id: raw(), node_id: raw(), start: raw() };

/**
 * A server that does not understand its own token starts over. A page that begins with the same session as an earlier
 * one is such a repeat; servers that send no ids cannot be checked.
 */
function beginsAgain(
  firstSessions: Set<string>,
  { id, node_id: nodeId, start }: { readonly [K in keyof typeof identityFields]?: unknown },
): boolean {
  if (id === undefined || id === null || id === '') return false;
  const first = JSON.stringify([id, nodeId, start]);
  if (firstSessions.has(first)) return true;
  firstSessions.add(first);
  return false;
}

/** Where a listing goes on; without it that is its end. What is neither would cut it short in silence. */
function readOffset(next: unknown, endpoint: Endpoint): number | undefined {
  if (next === undefined || next === null) return undefined;
  if (typeof next === 'number' && Number.isSafeInteger(next)) return next;
  throw new RequestError('decode', `${endpoint}: \`next\` is not an offset`);
}

function readToken(next: unknown): string | undefined {
  if (next === undefined || next === null) return undefined;
  if (typeof next === 'string') return next;
  throw new RequestError('decode', 'sessions: `next` is not a token');
}
