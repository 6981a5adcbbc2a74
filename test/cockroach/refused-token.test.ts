import { expect, test } from 'vitest';
import { object, string } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

test('one endpoint that refuses every token costs few logins, and keeps none from the others or from itself later', async () => {
  let refused = /users/;
  let minutes = 0;
  const login = { username: 'u', password: () => Promise.resolve('p') };
  await using server = await serve((request, response) => {
    // A response that repeats its date comes from a cache.
    response.sendDate = false;
    const isLogin = request.url?.endsWith('/login/') === true;
    if (!isLogin && refused.test(request.url ?? '')) response.statusCode = 401;
    response.end(isLogin ? '{"session":"Z29vZA=="}' : '{"nodes":[{"node_id":1}],"users":[]}');
  });
  const runningMs = (): number => minutes * 60_000;
  await using client = createTestClient({ urls: [server.url], ...login, runningMs });
  const logins = () => server.requests.filter((url) => url.endsWith('/login/')).length;
  const ask = async (endpoint: 'nodes' | 'users'): Promise<number> => {
    const shape = object({ username: string() });
    const asked =
      endpoint === 'nodes'
        ? client.api.nodes(testStats(), { limit: 200, shape: object({}), onNode: () => undefined })
        : client.api.users(testStats(), { shape, onUser: () => undefined });
    await asked.catch(() => undefined);
    return logins();
  };
  for (minutes of [0, 1, 3, 7]) await Promise.all([ask('users'), ask('users'), ask('users')]);
  expect(logins()).toBe(5);
  refused = /users|nodes/;
  minutes = 8;
  expect([await ask('users'), await ask('nodes')]).toEqual([5, 6]);
  minutes = 9;
  expect([await ask('users'), await ask('nodes')]).toEqual([6, 7]);
  refused = /none/;
  minutes = 10;
  expect([await ask('users'), await ask('nodes')]).toEqual([7, 7]);
  refused = /users/;
  minutes = 11;
  expect(await ask('users')).toBe(8);
});

test('one node that refuses every token costs a login after 1, 2, 4 … minutes, however often others accept it', async () => {
  let minutes = 0;
  const login = { username: 'u', password: () => Promise.resolve('p') };
  await using server = await serve((request, response) => {
    response.sendDate = false;
    const isLogin = request.url?.endsWith('/login/') === true;
    if (request.url?.includes('/nodes/5/') === true) response.statusCode = 401;
    response.end(isLogin ? '{"session":"Z29vZA=="}' : '{"ranges":[]}');
  });
  const runningMs = (): number => minutes * 60_000;
  await using client = createTestClient({ urls: [server.url], ...login, runningMs });
  const shape = object({});
  const logins: number[] = [];
  for (minutes of [0, 1, 2, 3, 4, 6, 7, 14, 15]) {
    for (const nodeId of [4, 5, 6]) {
      const read = client.api.nodeRanges(testStats(), { nodeId, route: 'gateway', shape });
      await read.catch(() => undefined);
    }
    logins.push(server.requests.filter((url) => url.endsWith('/login/')).length);
  }
  expect(logins).toEqual([2, 3, 3, 4, 4, 4, 5, 5, 6]);
});
