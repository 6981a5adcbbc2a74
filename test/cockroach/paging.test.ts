import { describe, expect, test } from 'vitest';
import { object, string } from '../../src/json/shape.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const user = object({ username: string() });
const node = object({});

/** Answers as the first prefix of the path and query says. */
async function serveLists(lists: Readonly<Record<string, string>>) {
  return serve((request, response) => {
    const path = request.url?.replace('/api/v2', '') ?? '';
    const found = Object.keys(lists).find((prefix) => path === prefix);
    response.statusCode = found === undefined ? 404 : 200;
    response.end(lists[found ?? ''] ?? '');
  });
}

describe('a `next` that is not what it should be', () => {
  test.each(['"2"', '1.5', '{}', 'true'])(
    'fails a listing of nodes instead of ending it: %s',
    async (next) => {
      const page = `{"nodes":[{"node_id":1}],"next":${next}}`;
      await using server = await serveLists({ '/nodes/?limit=1&offset=0': page });
      await using client = createTestClient({ urls: [server.url] });
      const listed = client.api.nodes(testStats(), { limit: 1, shape: node, onNode() {} });
      await expect(listed).rejects.toMatchObject({ reason: 'decode' });
    },
  );

  test('fails a listing of sessions instead of ending it', async () => {
    const page = '{"sessions":[{}],"errors":[],"next":7}';
    await using server = await serveLists({
      '/sessions/?exclude_closed_sessions=true&limit=1': page,
    });
    await using client = createTestClient({ urls: [server.url] });
    const listed = client.api.sessions(testStats(), { limit: 1, shape: node, onSession() {} });
    await expect(listed).rejects.toMatchObject({ reason: 'decode' });
  });
});

test('users are read to their end from a server that pages on its own', async () => {
  await using server = await serveLists({
    '/users/': '{"users":[{"username":"a"},{"username":"b"}],"next":2}',
    '/users/?limit=2&offset=2': '{"users":[{"username":"c"}]}',
  });
  await using client = createTestClient({ urls: [server.url] });
  const names: unknown[] = [];
  await client.api.users(testStats(), {
    shape: user,
    onUser: ({ username }) => names.push(username),
  });
  expect(names).toEqual(['a', 'b', 'c']);
});
