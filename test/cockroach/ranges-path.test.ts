import { expect, test } from 'vitest';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const RANGES = { nodeId: 3, firstUrl: 0, shape: object({}), onRange: () => undefined };

test.each([
  ['gateway', undefined, '/nodes/3/ranges/'],
  ['local', undefined, '/nodes/local/ranges/'],
  ['proxy', undefined, '/nodes/local/ranges/?remote_node_id=3'],
  ['gateway', [5, 9], '/nodes/3/ranges/?ranges=5,9'],
  ['proxy', [5], '/nodes/local/ranges/?remote_node_id=3&ranges=5'],
] as const)(
  'without a limit, ranges by the route %s of %j are one request',
  async (route, rangeIds, path) => {
    await using server = await serve((_request, response) => response.end('{"ranges":[{}]}'));
    await using client = createTestClient({ urls: [server.url] });
    await client.api.nodeRanges(testStats(), {
      ...RANGES,
      limit: 0,
      route,
      ...(rangeIds && { rangeIds }),
    });
    expect(server.requests).toEqual([`/api/v2${path}`]);
  },
);

test('the rest of a response that was cut unasked is read in pages of its length', async () => {
  const answers = ['{"ranges":[{},{}],"next":2}', '{"ranges":[{}]}'];
  await using server = await serve((_request, response) => response.end(answers.shift()));
  await using client = createTestClient({ urls: [server.url] });
  await client.api.nodeRanges(testStats(), { ...RANGES, route: 'gateway' });
  expect(server.requests).toEqual([
    '/api/v2/nodes/3/ranges/',
    '/api/v2/nodes/3/ranges/?limit=2&offset=2',
  ]);
});
