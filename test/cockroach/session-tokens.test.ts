import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { integer, object } from '../../src/json/shape.ts';
import {
  createTestClient,
  type TestClient,
  type TestClientOptions,
  testStats,
} from '../support/cluster.ts';
import { serve, type TestServer } from '../support/http-server.ts';

const shape = object({ node_id: integer() });
const GOOD = 'Z29vZA==';
const BAD = 'YmFk';

type Answer = (token: string, response: ServerResponse, request: IncomingMessage) => void;

interface Server extends TestServer {
  /** Requests with this path. */
  count(path: string): number;
}

/** A server that gives these tokens in turn, the last for ever, and answers the rest as `answer` wants. */
async function serveTokens(tokens: readonly unknown[], answer: Answer): Promise<Server> {
  const left = [...tokens];
  const server = await serve((request, response) => {
    if (request.url?.endsWith('/login/') === true) {
      response.end(JSON.stringify({ session: left.length > 1 ? left.shift() : left[0] }));
    } else {
      answer(String(request.headers['x-cockroach-api-session']), response, request);
    }
  });
  const count = (path: string) => server.requests.filter((url) => url.includes(path)).length;
  return { ...server, count };
}

function list(_token: string, response: ServerResponse): void {
  response.end('{"nodes":[{"node_id":1}]}');
}

function connect(server: TestServer, options: Partial<TestClientOptions> = {}): TestClient {
  const login = { username: 'u', password: () => Promise.resolve('p') };
  return createTestClient({ urls: [server.url], breakerOpenMs: 0, ...login, ...options });
}

async function poll({ api }: TestClient, signal?: AbortSignal): Promise<number> {
  let nodes = 0;
  await api.nodes(testStats(signal), {
    limit: 10,
    shape,
    onNode: () => {
      nodes += 1;
    },
  });
  return nodes;
}

describe('a token of a login', () => {
  test.each<readonly [string, unknown]>([
    ['with a line break', 'YWJj\nYWJj'],
    ['with CR and LF and a header', 'YWJj\r\nX-Evil: 1'],
    ['with a NUL', 'YWJj\0'],
    ['with a DEL', 'YWJj\x7f'],
    ['with a space', 'YWJj YWJj'],
    ['of other letters', '\u6f22\u5b57'],
    ['of Latin letters with accents', 'caf\u00e9'],
    ['with half a surrogate pair', '\ud83d'],
    ['of 4,097 characters', 'x'.repeat(4097)],
    ['that is a number', 7],
    ['that is a list', ['YWJj']],
    ['that is empty', ''],
  ])('%s is a decode failure, and the next login follows after a pause', async (_what, token) => {
    await using server = await serveTokens([token, GOOD], list);
    let now = 0;
    await using client = connect(server, { monotonicMs: () => now });
    for (const passedMs of [0, 100, 14_000]) {
      now += passedMs;
      await expect(poll(client)).rejects.toMatchObject({ reason: 'decode' });
    }
    expect(server.count('/nodes/')).toBe(0);
    expect(client.logins).toEqual({ tried: 1, failed: ['decode'] });
    now += 1_000;
    expect(await poll(client)).toBe(1);
  });

  test('may have 4,096 characters of printable ASCII', async () => {
    const token = '!~'.repeat(2048);
    const seen = new Set<string>();
    await using server = await serveTokens([token], (sent, response) => {
      seen.add(sent);
      list(sent, response);
    });
    await using client = connect(server);
    expect(await poll(client)).toBe(1);
    expect([...seen]).toEqual([token]);
  });

  test.each<readonly [string, Answer]>([
    ['a reset connection', (_token, response) => void response.destroy()],
    ['silence', () => undefined],
    ['an internal error', (_token, response) => void response.writeHead(500).end()],
    ['a missing privilege', (_token, response) => void response.writeHead(403).end()],
  ])('is kept after %s', async (_what, fail) => {
    let isSick = true;
    await using server = await serveTokens([GOOD], (token, response, request) => {
      if (isSick) fail(token, response, request);
      else list(token, response);
    });
    const deadlines = { headersMs: 500, idleMs: 5_000, minBytesPerSecond: 0, rateGraceMs: 5_000 };
    await using client = connect(server, { deadlines });
    await expect(poll(client)).rejects.toMatchObject({ name: 'RequestError' });
    isSick = false;
    expect(await poll(client)).toBe(1);
    expect(server.count('/login/')).toBe(1);
  });

  test('that was accepted before is kept, whatever fails later', async () => {
    let isSick = false;
    await using server = await serveTokens([GOOD], (token, response) => {
      if (isSick) response.statusCode = 500;
      list(token, response);
    });
    await using client = connect(server);
    await poll(client);
    isSick = true;
    await expect(poll(client)).rejects.toMatchObject({ status: 500 });
    isSick = false;
    await poll(client);
    expect(server.count('/login/')).toBe(1);
  });

  test('that is refused is replaced at once', async () => {
    await using server = await serveTokens([BAD, GOOD], (token, response) => {
      response.statusCode = token === GOOD ? 200 : 401;
      list(token, response);
    });
    await using client = connect(server);
    expect(await poll(client)).toBe(1);
    expect(server.count('/login/')).toBe(2);
  });

  test('that is never accepted is replaced once a minute', async () => {
    await using server = await serveTokens([BAD], (_token, response) => {
      response.writeHead(401).end();
    });
    let now = 0;
    await using client = connect(server, { monotonicMs: () => now });
    for (now = 0; now < 300_000; now += 5_000) await poll(client).catch(() => undefined);
    expect(server.count('/login/')).toBe(1 + 5);
  });

  test('is logged out, even if its first call was given up', async () => {
    const stop = new AbortController();
    await using server = await serveTokens([GOOD], (_token, response, request) => {
      if (request.method === 'POST') response.end('{"logged_out":true}');
      else stop.abort();
    });
    await using client = connect(server);
    await expect(poll(client, stop.signal)).rejects.toMatchObject({ name: 'RequestError' });
    await client.session.logOut(AbortSignal.timeout(5_000));
    expect(server.count('/logout/')).toBe(1);
  });
});

test('a login is sent to the next URL after a 500, once', async () => {
  await using sick = await serve((_request, response) => response.writeHead(500).end());
  await using server = await serveTokens([GOOD], list);
  const urls = [sick.url, server.url];
  await using client = connect(server, { urls });
  expect(await poll(client)).toBe(1);
  expect(sick.requests.filter((path) => path.includes('/login/'))).toHaveLength(1);
  expect(client.logins).toEqual({ tried: 1, failed: [] });
});

test('an answer to a logout is read to its limit only', async () => {
  await using server = await serveTokens([GOOD], (token, response, request) => {
    if (request.method === 'POST') response.end(Buffer.alloc(1_000_000, 'a'));
    else list(token, response);
  });
  await using client = connect(server);
  await poll(client);
  const ended = client.session.logOut(AbortSignal.timeout(5_000));
  await expect(ended).rejects.toMatchObject({ reason: 'limit' });
});

describe('a ready token', () => {
  test('that no header can carry is an auth failure that sends nothing', async () => {
    await using server = await serveTokens([], list);
    let token = 'a token\u6f22';
    await using client = createTestClient({
      urls: [server.url],
      token: () => Promise.resolve(token),
    });
    await expect(poll(client)).rejects.toMatchObject({ reason: 'auth' });
    expect(server.requests).toEqual([]);
    token = GOOD;
    expect(await poll(client)).toBe(1);
  });
});
