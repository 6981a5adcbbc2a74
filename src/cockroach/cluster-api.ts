import { decodeValue, type Infer, object, type ObjectShape, type RecordBatch, typed } from '#json';
import type { ApiLogin, ApiRequest } from './api-login.ts';
import { RequestError } from './http/errors.ts';
import {
  addWarning,
  type CountDecodeErrors,
  createPollStats,
  type PollStats,
  recordDecodeErrors,
} from './http/poll-stats.ts';
import { bufferBody, type HttpResponse } from './http/request.ts';
import { ClusterIdentity, nodeIdentity, NodeListings } from './identity.ts';
import {
  assertWithin,
  ELEMENT_LIMITS,
  offsetEnvelope,
  type RangeRoute,
  readNumberedPages,
  readOffsetPages,
  readTokenPages,
  sessionsEnvelope,
  tablesEnvelope,
} from './listings.ts';
import type { NodesRequest } from './node.ts';
import { type PageSource, readPage } from './read-page.ts';
import { runStatement, type SqlRequest, type SqlRows } from './sql-statement.ts';
import {
  type ConnectivityRequest,
  connectivityPage,
  type DescriptorsRequest,
  descriptorsPage,
  type JobsRequest,
  jobsPage,
  type Throttling,
  throttlingShape,
} from './status-pages.ts';

/**
 * The cluster API v2, one method an endpoint. Listings call back synchronously, element by element; the element is reused
 * for the next one. `limit` is their number per page. Failures are RequestErrors.
 */
export class ClusterApi {
  readonly listings = new NodeListings();
  readonly #source: PageSource;

  /** `protobuf`: descriptors and connections are asked for as protobuf, which a server may answer with JSON. */
  constructor(
    login: Pick<ApiLogin, 'send'>,
    decodeErrors: CountDecodeErrors,
    { protobuf = true } = {},
  ) {
    this.#source = { login, decodeErrors, protobuf };
  }

  /**
   * GET /nodes/, all pages, at most 10,000 nodes; `dateMs` is the Date header of the last response, `unreadable` the number of
   * elements without an id: what these nodes hold and reach is not known. Rejects when there is no node: the one that answers is
   * always listed.
   */
  async nodes<S extends ObjectShape>(
    stats: PollStats,
    request: NodesRequest<S>,
  ): Promise<{ readonly dateMs: number | undefined; readonly unreadable: number }> {
    let dateMs: number | undefined;
    let elements = 0;
    const identity = new ClusterIdentity();
    const element = object({ ...nodeIdentity.fields, ...request.shape.fields });
    const { firstUrl = 0 } = request;
    await readOffsetPages(stats, 'nodes', async (offset) => {
      const page = await readPage(this.#source, stats, {
        endpoint: 'nodes',
        path: `/nodes/?limit=${request.limit}&offset=${offset}`,
        firstUrl,
        retryOn500: true,
        list: 'nodes',
        element,
        envelope: offsetEnvelope,
        onHeaders: (response) => void ({ dateMs } = response),
        onElement(node) {
          identity.add(typed(nodeIdentity, node));
          assertWithin(stats, 'nodes', 'nodes', identity.processes.size, 'nodes');
          request.onNode(typed(request.shape, node), dateMs);
        },
      });
      elements += page.elements;
      return { elements: page.elements, next: page.envelope.next };
    });
    this.listings.listed(stats, identity);
    const unreadable = elements - identity.nodes;
    if (unreadable > 0) {
      const text = `list of nodes: ${unreadable} of ${elements} cannot be read`;
      const error = new RequestError('decode', text, { endpoint: 'nodes' });
      addWarning(stats, { about: 'list of nodes', endpoint: 'nodes', error });
    }
    return { dateMs, unreadable };
  }

  /**
   * The first node that a URL lists, by GET /nodes/?limit=1&offset=0; `urlIndex` counts from 0. Undefined when the URL does
   * not answer so now. Rejects when the poll is over.
   */
  async identityAt(
    stats: PollStats,
    urlIndex: number,
  ): Promise<{ readonly url: string; readonly identity: ClusterIdentity } | undefined> {
    const identity = new ClusterIdentity();
    try {
      const { response } = await readPage(this.#source, stats, {
        endpoint: 'nodes',
        path: '/nodes/?limit=1&offset=0',
        onlyUrl: urlIndex,
        blames: 'url',
        list: 'nodes',
        element: nodeIdentity,
        envelope: offsetEnvelope,
        onElement: (node) => identity.add(node),
      });
      return identity.processes.size === 0 ? undefined : { url: response.url, identity };
    } catch (error) {
      if (!(error instanceof RequestError) || stats.signal.aborted) throw error;
      return undefined;
    }
  }

  /**
   * GET /nodes/{node_id}/ranges/; only the ranges of `rangeIds` if it is set. The whole list is one response unless `limit`
   * asks for pages. The rest of a response that the server has truncated is read in pages of its length.
   */
  nodeRanges<S extends ObjectShape>(
    stats: PollStats,
    request: {
      readonly nodeId: number;
      readonly route: RangeRoute;
      /** Ranges per page; 0 or undefined for all in one response. */
      readonly limit?: number;
      /** To the headers, which the server sends after all of its work; default: as for every request. */
      readonly headersMs?: number | undefined;
      readonly rangeIds?: readonly number[] | undefined;
      /** Index of the URL to begin with, so that no gateway carries every scan; of the only one that may be asked. */
      readonly firstUrl?: number;
      readonly onlyUrl?: number;
      /** Called before the elements of a response. */
      readonly onHeaders?: (response: HttpResponse) => void;
      readonly shape: S;
      readonly onRange?: (range: Infer<S>) => void;
      /** In its place, many at a time. */
      readonly onBatch?: (batch: RecordBatch) => void;
      /** Waited for between pages, when no response is being read: a slow consumer holds no request open. */
      readonly onPageEnd?: () => Promise<void>;
    },
  ): Promise<void> {
    const { nodeId, route, headersMs, rangeIds, firstUrl, onlyUrl, onHeaders } = request;
    let limit = request.limit ?? 0;
    const list = `/nodes/${route === 'gateway' ? nodeId : 'local'}/ranges/`;
    return readOffsetPages(stats, `ranges of node ${nodeId}`, async (offset) => {
      const query = [
        ...(route === 'proxy' ? [`remote_node_id=${nodeId}`] : []),
        ...(rangeIds ? [`ranges=${rangeIds.join(',')}`] : []),
        ...(limit > 0 ? [`limit=${limit}&offset=${offset}`] : []),
      ].join('&');
      const page = await readPage(this.#source, stats, {
        endpoint: 'node_ranges',
        path: query === '' ? list : `${list}?${query}`,
        ...(firstUrl !== undefined && { firstUrl }),
        ...(onlyUrl !== undefined && { onlyUrl }),
        ...(onHeaders !== undefined && { onHeaders }),
        ...(headersMs !== undefined && { headersMs }),
        ...(route !== 'local' && { node: nodeId, proxied: route === 'proxy' }),
        list: 'ranges',
        element: request.shape,
        envelope: offsetEnvelope,
        onElement: request.onRange,
        onBatch: request.onBatch,
      });
      limit ||= page.elements;
      await request.onPageEnd?.();
      return { elements: page.elements, next: page.envelope.next };
    });
  }

  /** GET /sessions/, all pages. Closed sessions are excluded; old servers ignore that. */
  async sessions<S extends ObjectShape>(
    stats: PollStats,
    request: {
      readonly limit: number;
      readonly username?: string | undefined;
      readonly shape: S;
      /** `dateMs` is the Date header of the response that holds the session. */
      readonly onSession: (session: Infer<S>, dateMs: number | undefined) => void;
      /** Waited for between pages, as for ranges. */
      readonly onPageEnd?: () => Promise<void>;
    },
  ) {
    /** Nodes whose sessions are missing; 0 where the server named none. */
    const failedNodes = new Set<number>();
    let internalPrefix: string | undefined;
    const { limit, username } = request;
    const fixed = { exclude_closed_sessions: 'true', limit: String(limit) };
    const query = new URLSearchParams({ ...fixed, ...(username !== undefined && { username }) });
    await readTokenPages(stats, async (start) => {
      if (start !== undefined) query.set('start', start);
      let dateMs: number | undefined;
      const { envelope, elements } = await readPage(this.#source, stats, {
        endpoint: 'sessions',
        blames: 'endpoint',
        path: `/sessions/?${query.toString()}`,
        retryOn500: true,
        list: 'sessions',
        element: request.shape,
        envelope: sessionsEnvelope,
        onHeaders: (response) => void ({ dateMs } = response),
        onElement: (session) => request.onSession(session, dateMs),
      });
      for (const { node_id: nodeId = 0 } of envelope.errors) failedNodes.add(nodeId);
      assertWithin(stats, 'sessions', 'nodes with errors', failedNodes.size, 'nodes');
      internalPrefix = envelope.internal_app_name_prefix ?? internalPrefix;
      await request.onPageEnd?.();
      return { next: envelope.next, failedNodes, elements };
    });
    return { failedNodes, internalPrefix };
  }

  /** GET /users/, all in one response: servers answer a limit with a 500. */
  async users<S extends ObjectShape>(
    stats: PollStats,
    { shape, onUser }: { readonly shape: S; readonly onUser: (user: Infer<S>) => void },
  ): Promise<void> {
    await readPage(this.#source, stats, {
      endpoint: 'users',
      blames: 'endpoint',
      path: '/users/',
      list: 'users',
      element: shape,
      envelope: object({}),
      onElement: onUser,
    });
  }

  /** GET /databases/{database}/tables/{table}/; `table` may be `schema.table`. */
  async table<S extends ObjectShape>(
    stats: PollStats,
    { shape, ...request }: { readonly database: string; readonly table: string; readonly shape: S },
  ): Promise<Infer<S>> {
    const database = encodeURIComponent(request.database);
    const path = `/databases/${database}/tables/${encodeURIComponent(request.table)}/`;
    const table = await this.#readDocument({ endpoint: 'table', path, stats }, shape);
    stats.items += 1;
    return table;
  }

  /** GET /table_metadata/, the largest 10,000 tables. */
  tableMetadata<S extends ObjectShape>(
    stats: PollStats,
    { shape, onTable }: { readonly shape: S; readonly onTable: (table: Infer<S>) => void },
  ): Promise<void> {
    return readNumberedPages(stats, async (query) => {
      const page = await readPage(this.#source, stats, {
        endpoint: 'table_metadata',
        blames: 'endpoint',
        path: `/table_metadata/?${query}&sortBy=replicationSize&sortOrder=desc`,
        list: 'results',
        element: shape,
        envelope: tablesEnvelope,
        onElement: onTable,
      });
      return { read: page.elements, total: page.envelope.pagination_info.total_results };
    });
  }

  /**
   * GET /_status/ranges/{node_id}, beside the API v2 and no part of it: the descriptors of these ranges, as the replicas of
   * the node know them; ranges that it does not hold are left out. Resolves to the bytes of the response. The request
   * belongs to no poll: descriptors are read between polls, too.
   */
  async rangeDescriptors(signal: AbortSignal, request: DescriptorsRequest): Promise<number> {
    const { warnings = new Map() } = request;
    const stats = { ...createPollStats(signal), warnings };
    await readPage(this.#source, stats, descriptorsPage(request));
    return stats.bytes;
  }

  /** GET /_status/connectivity, beside the API v2 and no part of it, of servers from 23.2 on: who is connected to whom. */
  async connectivity<Peer>(stats: PollStats, request: ConnectivityRequest<Peer>): Promise<void> {
    await readPage(this.#source, stats, connectivityPage(stats, request));
  }

  /** POST /sql/, of servers from 22.2 on: the rows of one statement, 256 KiB at most. */
  sql(stats: PollStats, request: SqlRequest): Promise<SqlRows> {
    const countErrors = (count: number): void => this.#source.decodeErrors('sql', count);
    return runStatement(this.#source.login, countErrors, stats, request);
  }

  /** GET /_admin/v1/jobs, beside the API v2 and no part of it: the newest jobs first. */
  async jobs<S extends ObjectShape>(stats: PollStats, request: JobsRequest<S>): Promise<void> {
    await readPage(this.#source, stats, jobsPage(request));
  }

  /** GET /_status/throttling, beside the API v2 and no part of it, of servers from 24.3 on. */
  throttling(stats: PollStats): Promise<Throttling> {
    const path = '/_status/throttling';
    const request = { endpoint: 'other', isBesideApi: true, path, stats } as const;
    return this.#readDocument(request, throttlingShape);
  }

  /** Reads a response that is one small document. A slow one is no reason to skip the next. */
  #readDocument<S extends ObjectShape>(
    request: Omit<ApiRequest<Infer<S>>, 'blames' | 'onChunks' | 'onEnd'>,
    shape: S,
  ): Promise<Infer<S>> {
    return this.#source.login.send({
      ...request,
      blames: 'nobody',
      ...bufferBody(ELEMENT_LIMITS.maxElementBytes, (bytes) => {
        const { value, wrongTypes } = decodeValue(bytes, shape);
        const { endpoint, stats } = request;
        recordDecodeErrors(this.#source.decodeErrors, stats, endpoint, wrongTypes);
        return value;
      }),
    });
  }
}
