import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { createTestClient, testStats } from '../support/cluster.ts';
import { refusing, serve } from '../support/http-server.ts';

const STATEMENT = { name: 'query q', sql: 'SELECT 1', database: 'system', timeoutMs: 300 };

/** How many of two URLs got a statement that the first one answers so, or with undefined not at all. */
async function countUrls(answer: RequestListener): Promise<readonly number[]> {
  await using first = await serve(answer);
  await using second = await serve(answer);
  await using client = createTestClient({ urls: [first.url, second.url] });
  await client.api.sql(testStats(), STATEMENT).catch(() => undefined);
  return [first, second].map(
    ({ requests }) => requests.filter((path) => path.endsWith('/sql/')).length,
  );
}

test.each<readonly [string, RequestListener]>([
  ['is cut off', (_request, response) => response.destroy()],
  ['is answered with 502', (_request, response) => response.writeHead(502).end()],
  ['is answered with 503', (_request, response) => response.writeHead(503).end()],
  ['has no response', () => undefined],
])('a statement that %s may have run, and is sent to no other URL', async (_what, answer) => {
  expect(await countUrls(answer)).toEqual([1, 0]);
});

test.each([403, 429])(
  'a statement that is refused with %i goes to the next URL',
  async (status) => {
    const urls = await countUrls((_request, response) => response.writeHead(status).end());
    expect(urls.every((requests) => requests > 0)).toBe(true);
  },
);

test('a statement without a response does not keep other requests from its URL', async () => {
  await using first = await serve((request, response) => {
    if (request.method === 'GET') response.end('{}');
  });
  await using second = await serve((_request, response) => response.end('{}'));
  await using client = createTestClient({ urls: [first.url, second.url] });
  await client.api.sql(testStats(), STATEMENT).catch(() => undefined);
  expect(client.http.upstreams().map(({ state }) => state)).toEqual(['closed', 'closed']);
});

test('a statement goes on to the next URL where nothing listens at the first one', async () => {
  await using second = await serve((_request, response) => response.writeHead(503).end());
  await using client = createTestClient({ urls: [await refusing(), second.url] });
  await client.api.sql(testStats(), STATEMENT).catch(() => undefined);
  expect(second.requests).toHaveLength(1);
});
