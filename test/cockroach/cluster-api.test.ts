import { describe, expect, test } from 'vitest';
import type { ClusterApi } from '../../src/cockroach/cluster-api.ts';
import type { PollStats } from '../../src/cockroach/http/poll-stats.ts';
import type { RangeRoute } from '../../src/cockroach/listings.ts';
import { integer, object, raw } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const shape = object({ node_id: integer(), deep: raw() });

type Read = (
  api: ClusterApi,
  stats: PollStats,
  onElement: (element: object) => void,
) => Promise<unknown>;

const RANGES = { nodeId: 3, limit: 7, firstUrl: 0, shape };

const nodes: Read = (api, stats, onNode) => api.nodes(stats, { limit: 7, shape, onNode });
const sessions: Read = (api, stats, onSession) =>
  api.sessions(stats, { limit: 7, shape, onSession });
const users: Read = (api, stats, onUser) => api.users(stats, { shape, onUser });
const table: Read = (api, stats) => api.table(stats, { database: 'a/b', table: 's.t?', shape });
const tableMetadata: Read = (api, stats, onTable) => api.tableMetadata(stats, { shape, onTable });
const ranges: Read = (api, stats, onRange) =>
  api.nodeRanges(stats, { ...RANGES, route: 'gateway', onRange });
const localRanges: Read = (api, stats, onRange) =>
  api.nodeRanges(stats, { ...RANGES, route: 'local', onRange, rangeIds: [5, 9] });
const proxiedRanges: Read = (api, stats, onRange) =>
  api.nodeRanges(stats, { ...RANGES, route: 'proxy', onRange, rangeIds: [5] });

function allRanges(route: RangeRoute, rangeIds?: readonly number[]): Read {
  const request = { nodeId: 3, firstUrl: 0, shape, route, ...(rangeIds && { rangeIds }) };
  return (api, stats, onRange) => api.nodeRanges(stats, { ...request, onRange });
}

/** What a read came to, at a server that gives these answers in turn. */
async function readFrom(read: Read, ...answers: readonly string[]) {
  const left = [...answers];
  await using server = await serve((_request, response) => {
    response.setHeader('date', 'Thu, 01 Jan 1970 00:01:00 GMT').end(left.shift());
  });
  await using client = createTestClient({ urls: [server.url] });
  const stats = testStats();
  const elements: unknown[] = [];
  const outcome: unknown = await read(client.api, stats, (one) =>
    elements.push('node_id' in one ? one.node_id : one),
  ).catch((error: unknown) => error);
  return {
    outcome,
    elements,
    paths: server.requests.map((path) => path.replace('/api/v2', '')),
    items: stats.items,
    limits: [...stats.limits],
    endpoints: client.finished.map(({ endpoint }) => endpoint),
    decodeErrors: Object.fromEntries(client.decodeErrors),
  };
}

const NODES = '/nodes/?limit=7&offset=';
const SESSIONS = '/sessions/?exclude_closed_sessions=true&limit=7';

describe('a listing', () => {
  test.each<readonly [string, Read, string, string, string, readonly string[], unknown]>([
    [
      'nodes',
      nodes,
      'nodes',
      'nodes',
      '"next":4',
      [`${NODES}0`, `${NODES}4`],
      { dateMs: 60_000, unreadable: 3 },
    ],
    [
      'sessions',
      sessions,
      'sessions',
      'sessions',
      '"next":"a b","errors":[{"node_id":4},{}],"internal_app_name_prefix":"$ x"',
      [SESSIONS, `${SESSIONS}&start=a+b`],
      { failedNodes: new Set([4, 0]), internalPrefix: '$ x' },
    ],
    [
      'ranges',
      ranges,
      'ranges',
      'node_ranges',
      '"next":4',
      ['/nodes/3/ranges/?limit=7&offset=0', '/nodes/3/ranges/?limit=7&offset=4'],
      undefined,
    ],
    [
      'ranges of the URL’s own node',
      localRanges,
      'ranges',
      'node_ranges',
      '"next":4',
      [
        '/nodes/local/ranges/?ranges=5,9&limit=7&offset=0',
        '/nodes/local/ranges/?ranges=5,9&limit=7&offset=4',
      ],
      undefined,
    ],
    [
      'ranges through a proxy',
      proxiedRanges,
      'ranges',
      'node_ranges',
      '"next":4',
      [
        '/nodes/local/ranges/?remote_node_id=3&ranges=5&limit=7&offset=0',
        '/nodes/local/ranges/?remote_node_id=3&ranges=5&limit=7&offset=4',
      ],
      undefined,
    ],
    [
      'tables',
      tableMetadata,
      'results',
      'table_metadata',
      '"pagination_info":{"total_results":9}',
      [
        '/table_metadata/?pageNum=1&pageSize=10000&sortBy=replicationSize&sortOrder=desc',
        '/table_metadata/?pageNum=2&pageSize=10000&sortBy=replicationSize&sortOrder=desc',
      ],
      undefined,
    ],
  ])('of %s is read page by page', async (_what, read, list, endpoint, more, paths, outcome) => {
    const first = `{"${list}":[{"node_id":1},7,{"node_id":"x"},null],${more}}`;
    // No `next`, and as many tables as there are.
    const last = `{"${list}":[{"node_id":2}],"pagination_info":{"total_results":3}}`;
    expect(await readFrom(read, first, last)).toEqual({
      outcome,
      elements: [1, undefined, 2],
      paths,
      items: 3,
      limits: [],
      endpoints: [endpoint, endpoint],
      decodeErrors: { [endpoint]: 3 },
    });
  });

  test.each<readonly [string, Read]>([
    ['nodes', nodes],
    ['sessions', sessions],
    ['node_ranges', ranges],
    ['users', users],
    ['table_metadata', tableMetadata],
  ])('of %s is not read from JSON of something else', async (endpoint, read) => {
    const list = { node_ranges: 'ranges', table_metadata: 'results' }[endpoint] ?? endpoint;
    const message = `${endpoint}: the response has no \`${list}\``;
    const { outcome, items } = await readFrom(read, '{"other":[]}');
    expect(outcome).toMatchObject({ reason: 'decode', message });
    expect(items).toBe(0);
  });
});

test.each<readonly [string, Read, string]>([
  ['users', users, '/users/'],
  ['nodeRanges', allRanges('gateway'), '/nodes/3/ranges/'],
  ['nodeRanges', allRanges('local'), '/nodes/local/ranges/'],
  ['nodeRanges', allRanges('proxy'), '/nodes/local/ranges/?remote_node_id=3'],
  ['nodeRanges', allRanges('gateway', [5, 9]), '/nodes/3/ranges/?ranges=5,9'],
])('without a limit %s is one request', async (_what, read, path) => {
  const { elements, paths } = await readFrom(read, '{"users":[{},{}],"ranges":[{},{}]}');
  expect([elements.length, paths]).toEqual([2, [path]]);
});

test('a table is read as a whole', async () => {
  expect(await readFrom(table, '{"node_id":"x","deep":1}')).toEqual({
    outcome: { node_id: undefined, deep: 1 },
    elements: [],
    paths: ['/databases/a%2Fb/tables/s.t%3F/'],
    items: 1,
    limits: [],
    endpoints: ['table'],
    decodeErrors: { table: 1 },
  });
});

test.each<readonly [string, Read, boolean]>([
  ['nodes', nodes, true],
  ['sessions', sessions, true],
  ['users', users, false],
  ['the ranges of a node', ranges, true],
  ['its own ranges', localRanges, false],
  ['a table', table, false],
  ['tables', tableMetadata, false],
])(
  'a 500 of one gateway for %s is no reason to ask the next one, or is: %s',
  async (_what, read, isAsked) => {
    await using sick = await serve((_request, response) => response.writeHead(500).end());
    await using good = await serve((_request, response) =>
      response.end('{"nodes":[{"node_id":1}],"sessions":[],"ranges":[]}'),
    );
    await using client = createTestClient({ urls: [sick.url, good.url] });
    const outcome = await read(client.api, testStats(), () => undefined).catch(() => 'failed');
    expect([outcome === 'failed', good.requests.length]).toEqual([!isAsked, isAsked ? 1 : 0]);
  },
);

test.each([
  [502, 'gateway', 3],
  [502, 'proxy', 1],
  [502, 'local', 3],
  [504, 'gateway', 1],
  [504, 'proxy', 1],
  [504, 'local', 3],
] as const)('a %i for ranges by the route %s is sent %i times', async (status, route, times) => {
  await using server = await serve((_request, response) => response.writeHead(status).end());
  await using client = createTestClient({ urls: [server.url] });
  const read = client.api.nodeRanges(testStats(), { ...RANGES, route, onRange: () => undefined });
  await expect(read).rejects.toMatchObject({ status });
  expect(server.requests).toHaveLength(times);
});

test('ranges wait for their reader between pages, and begin at the URL that is wanted', async () => {
  const order: string[] = [];
  await using first = await serve((_request, response) => response.end('{"ranges":[]}'));
  await using second = await serve((request, response) => {
    order.push(request.url?.replace(/.*offset=/, '') ?? '');
    response.end(order.length === 1 ? '{"ranges":[{}],"next":1}' : '{"ranges":[]}');
  });
  await using client = createTestClient({ urls: [first.url, second.url] });
  await client.api.nodeRanges(testStats(), {
    ...RANGES,
    route: 'gateway',
    firstUrl: 1,
    onRange: () => order.push('range'),
    onPageEnd: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push('end');
    },
  });
  expect(order).toEqual(['0', 'range', 'end', '1', 'end']);
  expect(first.requests).toEqual([]);
});

/** A page of this many nodes. */
function pageOf(length: number): string {
  const listed = Array.from({ length }, (_, at) => ({ node_id: at + 1, started_at: at }));
  return JSON.stringify({ nodes: listed });
}

test('of more than 10,000 nodes nothing is believed', async () => {
  const most = await readFrom(nodes, pageOf(10_000));
  expect([most.elements.length, most.limits]).toEqual([10_000, []]);
  const more = await readFrom(nodes, pageOf(10_001));
  expect(more.outcome).toMatchObject({ reason: 'limit', message: 'nodes: more than 10000 nodes' });
  expect(more.limits).toEqual(['items']);
});
