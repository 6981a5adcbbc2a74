import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { integer, object } from '../../src/json/index.ts';
import { createTestClient, type TestClient, testStats } from '../support/cluster.ts';
import { serve, type TestServer } from '../support/http-server.ts';

const shape = object({ node_id: integer() });
const MINUTE_MS = 60_000;
const BREAKER_OPEN_MS = 10_000;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers everything with this status. */
function refusing(status: number): Promise<TestServer> {
  return serve((_request, response) => response.writeHead(status).end());
}

/** A node of a cluster that gives out and accepts the token of this text, and no other. */
function node(token = 'Z29vZA==', answer: Answer = list): Promise<TestServer> {
  return serve((request, response) => {
    if (request.url?.endsWith('/login/') === true) {
      response.end(JSON.stringify({ session: token }));
    } else if (request.headers['x-cockroach-api-session'] === token) answer(request, response);
    else response.writeHead(401).end();
  });
}

function list(_request: IncomingMessage, response: ServerResponse): void {
  // The clock of the test has nothing to do with the server's.
  response.sendDate = false;
  response.end('{"nodes":[{"node_id":1}],"ranges":[]}');
}

function forbid(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(403).end('user not allowed to access this endpoint');
}

interface Setting {
  readonly client: TestClient;
  readonly clock: { now: number };
}

function connect(servers: readonly TestServer[]): Setting {
  const clock = { now: 0 };
  const client = createTestClient({
    urls: servers.map(({ url }) => url),
    username: 'u',
    password: () => Promise.resolve('p'),
    breakerOpenMs: BREAKER_OPEN_MS,
    runningMs: () => clock.now,
  });
  return { client, clock };
}

async function poll({ client: { api } }: Setting): Promise<number> {
  let nodes = 0;
  const onNode = (): void => void (nodes += 1);
  await api.nodes(testStats(), { limit: 10, shape, onNode });
  return nodes;
}

function counts(servers: readonly TestServer[]): readonly number[] {
  return servers.map(({ requests }) => requests.length);
}

function countLogins(servers: readonly TestServer[]): number {
  return servers.flatMap(({ requests }) => requests).filter((url) => url.endsWith('/login/'))
    .length;
}

describe.each([401, 403])('a URL that answers everything with %d', (status) => {
  test('as the first costs no poll and is shown', async () => {
    const servers = [await refusing(status), await node(), await node()];
    const setting = connect(servers);
    for (let polls = 0; polls < 20; polls += 1) expect(await poll(setting)).toBe(1);
    // One for the login, which opens its breaker.
    expect(counts(servers)).toEqual([1, 21, 0]);
    expect(setting.client.http.upstreams()).toMatchObject([
      { state: 'open', lastFailure: { status } },
      { state: 'closed' },
      { state: 'closed' },
    ]);
    setting.clock.now = BREAKER_OPEN_MS;
    expect(await poll(setting)).toBe(1);
    expect(counts(servers)[0]).toBe(2);
    expect(countLogins(servers)).toBe(2);
    await dispose(setting, servers);
  });

  test('is asked when the others are down, and its refusal says nothing of the user', async () => {
    const servers = [await refusing(status), await node()];
    const setting = connect(servers);
    expect(await poll(setting)).toBe(1);
    await servers[1]?.[Symbol.asyncDispose]();
    await expect(poll(setting)).rejects.toMatchObject({ reason: 'network' });
    await expect(poll(setting)).rejects.toMatchObject({ reason: 'breaker_open' });
    expect(setting.client.logins).toEqual({ tried: 1, failed: [] });
    await dispose(setting, servers.slice(0, 1));
  });
});

test('a wrong password costs a login at two URLs, then at one after 1, 2, 4 … minutes', async () => {
  const servers = [await refusing(401), await refusing(401), await refusing(401)];
  const setting = connect(servers);
  for (setting.clock.now = 0; setting.clock.now < 5 * MINUTE_MS; setting.clock.now += 5_000) {
    await expect(poll(setting)).rejects.toMatchObject({ reason: 'auth' });
  }
  expect(countLogins(servers)).toBe(2 + 1 + 1);
  expect(setting.client.http.upstreams().map(({ state }) => state)).toEqual([
    'closed',
    'closed',
    'closed',
  ]);
  await dispose(setting, servers);
});

test('a missing privilege costs a request at two URLs, marks none and is noticed when granted', async () => {
  let isGranted = false;
  const answer: Answer = (request, response) => {
    (isGranted ? list : forbid)(request, response);
  };
  const servers = await Promise.all(['', '', ''].map(() => node('Z29vZA==', answer)));
  const setting = connect(servers);
  const requests = (): number => counts(servers).reduce((sum, count) => sum + count, 0);
  for (let polls = 1; polls <= 6; polls += 1) {
    await expect(poll(setting)).rejects.toMatchObject({ reason: 'forbidden' });
    expect(requests()).toBe(1 + 2 * polls);
  }
  expect(setting.client.http.upstreams().every(({ state }) => state === 'closed')).toBe(true);
  isGranted = true;
  expect(await poll(setting)).toBe(1);
  expect(countLogins(servers)).toBe(1);
  await dispose(setting, servers);
});

async function dispose({ client }: Setting, servers: readonly TestServer[]): Promise<void> {
  await client[Symbol.asyncDispose]();
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
}
