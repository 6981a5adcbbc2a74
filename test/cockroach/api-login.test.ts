import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { integer, object, string } from '../../src/json/index.ts';
import {
  createTestClient,
  type TestClient,
  type TestClientOptions,
  testStats,
} from '../support/cluster.ts';
import { serve, type TestServer } from '../support/http-server.ts';

const node = object({ node_id: integer() });

function simulate(options: Parameters<typeof startSimulator>[0] = {}): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 10, metricKeys: 'useful', ...options });
}

function connect(simulator: Simulator, options: Partial<TestClientOptions> = {}): TestClient {
  return createTestClient({
    urls: simulator.clusterUrls,
    username: simulator.username,
    password: () => Promise.resolve(simulator.password),
    ...options,
  });
}

/** Lists the nodes, and counts them. */
async function countNodes({ api }: TestClient, signal?: AbortSignal): Promise<number> {
  let nodes = 0;
  await api.nodes(testStats(signal), {
    limit: 200,
    shape: node,
    onNode: () => {
      nodes += 1;
    },
  });
  return nodes;
}

/** A client of a cluster that refuses it, at the time that the test sets. */
function connectWrongly(simulator: Simulator) {
  const clock = { minutes: 0 };
  const client = connect(simulator, {
    password: () => Promise.resolve('wrong'),
    runningMs: () => clock.minutes * 60_000,
  });
  const fail = async (minutes: number): Promise<unknown> => {
    clock.minutes = minutes;
    return countNodes(client).catch((error: unknown) => error);
  };
  return { client, fail };
}

describe('logging in', () => {
  test('any number of waiting calls share one login', async () => {
    await using simulator = await simulate();
    await using client = connect(simulator);
    const counts = await Promise.all(Array.from({ length: 20 }, () => countNodes(client)));
    expect(new Set(counts).size).toBe(1);
    expect(simulator.requests.count('login')).toBe(1);
    expect(client.logins).toEqual({ tried: 1, failed: [] });
  });

  test('an expired token costs one new login and one retry for any number of calls', async () => {
    await using simulator = await simulate();
    await using client = connect(simulator);
    await countNodes(client);
    simulator.world.expireTokens();
    await Promise.all(Array.from({ length: 10 }, () => countNodes(client)));
    expect(simulator.requests.count('login')).toBe(2);
  });

  test('refused credentials are tried again after 1, 2, 4 … and at most 30 minutes', async () => {
    await using simulator = await simulate();
    const { client, fail } = connectWrongly(simulator);
    await using _client = client;
    const tried: number[] = [];
    for (let minute = 0; minute < 125; minute += 1) {
      const before = simulator.requests.count('login');
      expect(await fail(minute)).toMatchObject({ reason: 'auth', endpoint: 'login' });
      if (simulator.requests.count('login') > before) tried.push(minute);
    }
    expect(tried).toEqual([0, 1, 3, 7, 15, 31, 61, 91, 121]);
    expect(client.logins.failed).toHaveLength(9);
    expect(await fail(125)).toMatchObject({ nextLoginMs: 151 * 60_000 });
  });

  test('a login that gets no answer does not begin the pauses of a refused one again', async () => {
    await using simulator = await simulate();
    const { client, fail } = connectWrongly(simulator);
    await using _client = client;
    await fail(0);
    const fault = simulator.fault({ endpoint: 'login', kind: 'reset' });
    expect(await fail(1)).toMatchObject({ reason: 'network', nextLoginMs: undefined });
    fault.remove();
    expect(await fail(2)).toMatchObject({ reason: 'auth', nextLoginMs: 4 * 60_000 });
  });

  test.each([
    ['failed too often', { kind: 'reset' }, 3, 9_000],
    ['is to wait', { kind: 'status', status: 429, headers: { 'Retry-After': '60' } }, 1, 60_000],
  ] as const)('a login that %s waits for that alone', async (_name, effect, sent, waitMs) => {
    await using simulator = await simulate();
    let now = 0;
    await using client = connect(simulator, { breakerOpenMs: 9_000, runningMs: () => now });
    const fault = simulator.fault({ endpoint: 'login', ...effect });
    for (let poll = 0; poll < sent; poll += 1)
      await expect(countNodes(client)).rejects.toMatchObject({ endpoint: 'login' });
    fault.remove();
    now = waitMs - 1;
    await expect(countNodes(client)).rejects.toMatchObject({ endpoint: 'login' });
    expect(client.logins).toMatchObject({ tried: sent, failed: { length: sent } });
    now = waitMs;
    expect(await countNodes(client)).toBeGreaterThan(0);
  });

  test('a retry logs in at once, and the pauses begin with a minute again', async () => {
    await using simulator = await simulate();
    const { client, fail } = connectWrongly(simulator);
    await using _client = client;
    await fail(0);
    expect(await fail(1)).toMatchObject({ nextLoginMs: 3 * 60_000 });
    client.session.retry();
    expect(await fail(1)).toMatchObject({ nextLoginMs: 2 * 60_000 });
    expect(simulator.requests.count('login')).toBe(3);
  });

  test('a refusal is confirmed by one other URL the first time, and then asked of one at a time', async () => {
    await using simulator = await simulate({ gateways: 3 });
    expect(simulator.clusterUrls).toHaveLength(3);
    const { client, fail } = connectWrongly(simulator);
    await using _client = client;
    const counts: number[] = [];
    for (const minute of [0, 1, 3, 7]) {
      await fail(minute);
      counts.push(simulator.requests.count('login'));
    }
    expect(counts).toEqual([2, 3, 4, 5]);
    expect(client.logins).toMatchObject({ tried: 4 });
  });

  test('a changed password is tried at once', async () => {
    await using simulator = await simulate();
    let password = 'wrong';
    await using client = connect(simulator, { password: () => Promise.resolve(password) });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    password = simulator.password;
    expect(await countNodes(client)).toBeGreaterThan(0);
  });

  test('a call that gives up does not end the login that others wait for', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'login', kind: 'slow', ms: 3_000, times: 1 });
    await using client = connect(simulator);
    const patient = countNodes(client);
    const deadline = new AbortController();
    const impatient = countNodes(client, deadline.signal).catch((error: unknown) => error);
    await expect.poll(() => simulator.requests.inFlight.get('login')).toBe(1);
    deadline.abort(new DOMException('late', 'TimeoutError'));
    expect(await impatient).toMatchObject({ reason: 'timeout' });
    // It has given up at its own end, not at that of the login.
    expect(simulator.requests.inFlight.get('login')).toBe(1);
    expect(await patient).toBeGreaterThan(0);
    expect(simulator.requests.count('login')).toBe(1);
  });

  test('an insecure cluster is read without login and without token', async () => {
    await using simulator = await simulate({ insecure: true });
    await using client = createTestClient({ urls: simulator.clusterUrls });
    expect(await countNodes(client)).toBeGreaterThan(0);
    expect(simulator.requests.count('login')).toBe(0);
  });

  test('logging out waits for a login that is under way, and ends its session', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'login', kind: 'slow', ms: 500, times: 1 });
    await using client = connect(simulator);
    const stop = new AbortController();
    const poll = countNodes(client, stop.signal);
    await expect.poll(() => simulator.requests.inFlight.get('login')).toBe(1);
    stop.abort();
    await expect(poll).rejects.toMatchObject({ name: 'RequestError' });
    await client.session.logOut(AbortSignal.timeout(5_000));
    const logouts = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'logout');
    expect(logouts).toMatchObject([{ status: 200 }]);
  });

  test('logging out goes on to the next URL where one cannot pass it on', async () => {
    await using simulator = await simulate({ gateways: 2 });
    await using client = connect(simulator);
    await countNodes(client);
    simulator.fault({ endpoint: 'logout', kind: 'status', status: 502, gateway: 1 });
    await client.session.logOut(AbortSignal.timeout(5_000));
    const logouts = simulator.requests.entries.filter(({ endpoint }) => endpoint === 'logout');
    expect(logouts).toMatchObject([{ status: 502 }, { status: 200 }]);
  });

  test('logging out gives a login up that hangs', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'login', kind: 'hang' });
    await using client = connect(simulator);
    const stop = new AbortController();
    const poll = countNodes(client, stop.signal);
    await expect.poll(() => simulator.requests.inFlight.get('login')).toBe(1);
    stop.abort();
    await expect(poll).rejects.toMatchObject({ name: 'RequestError' });
    const { signal } = new AbortController();
    await expect(client.session.logOut(signal)).rejects.toThrow('waiting for the login');
  });
});

describe('the token', () => {
  test.each(['real', 'documented'] as const)(
    'goes out under both names, so that a server of the dialect %s reads it at once',
    async (dialect) => {
      await using simulator = await simulate({ dialect });
      await using client = connect(simulator);
      expect(await countNodes(client)).toBeGreaterThan(0);
      await client.session.logOut(AbortSignal.timeout(5_000));
      expect(client.finished.map(({ code }) => code)).toEqual([200, 200, 200]);
    },
  );
});

describe('an endpoint that refuses what others accept', () => {
  test('costs a login after 1, 2, 4 … minutes and leaves the other endpoints alone', async () => {
    await using simulator = await simulate();
    let now = 0;
    await using client = connect(simulator, { runningMs: () => now });
    await countNodes(client);
    simulator.fault({ endpoint: 'users', kind: 'status', status: 401 });
    const askUsers = (): Promise<void> =>
      client.api.users(testStats(), {
        shape: object({ username: string() }),
        onUser: () => undefined,
      });
    for (let poll = 0; poll < 5; poll += 1) {
      await expect(askUsers()).rejects.toMatchObject({ reason: 'auth' });
      expect(await countNodes(client)).toBeGreaterThan(0);
    }
    expect(simulator.requests.count('login')).toBe(2);
    const loginsBy: number[] = [];
    for (const minutes of [1, 2, 3, 6, 7, 14, 15]) {
      now = minutes * 60_000;
      await expect(askUsers()).rejects.toMatchObject({ reason: 'auth' });
      loginsBy.push(simulator.requests.count('login'));
    }
    expect(loginsBy).toEqual([3, 3, 4, 4, 5, 5, 6]);
  });
});

const GOOD = 'Z29vZA==';
const BAD = 'YmFk';

type Answer = (token: string, response: ServerResponse, request: IncomingMessage) => void;

interface TokenServer extends TestServer {
  /** Requests with this path. */
  count(path: string): number;
}

/** A server that gives these tokens in turn, the last for ever, and answers the rest as `answer` wants. */
async function serveTokens(tokens: readonly unknown[], answer: Answer): Promise<TokenServer> {
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

function connectTo(server: TestServer, options: Partial<TestClientOptions> = {}): TestClient {
  const login = { username: 'u', password: () => Promise.resolve('p') };
  return createTestClient({ urls: [server.url], breakerOpenMs: 0, ...login, ...options });
}

describe('a token of a login', () => {
  test.each<readonly [string, unknown]>([
    ['with a line break', 'YWJj\nYWJj'],
    ['with CR and LF and a header', 'YWJj\r\nX-Evil: 1'],
    ['with a space', 'YWJj YWJj'],
    ['of Latin letters with accents', 'caf\u00e9'],
    ['of 4,097 characters', 'x'.repeat(4097)],
    ['that is a number', 7],
    ['that is empty', ''],
  ])('%s is a decode failure, and a request logs in again 5 s later', async (_what, token) => {
    await using server = await serveTokens([token, GOOD], list);
    let now = 0;
    await using client = connectTo(server, { runningMs: () => now });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'decode' });
    expect(server.count('/nodes/')).toBe(0);
    expect(client.logins).toEqual({ tried: 1, failed: ['decode'] });
    now = 5_000;
    expect(await countNodes(client)).toBe(1);
  });

  test.each([200, 500])('is not requested for each node while logins get %d', async (status) => {
    await using server = await serve((_request, response) => response.writeHead(status).end('?'));
    await using client = connectTo(server);
    for (let count = 0; count < 50; count += 1) await countNodes(client).catch(() => undefined);
    expect([client.logins.tried, server.requests]).toEqual([1, ['/api/v2/login/']]);
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
    await using client = connectTo(server, { deadlines });
    await expect(countNodes(client)).rejects.toMatchObject({ name: 'RequestError' });
    isSick = false;
    expect(await countNodes(client)).toBe(1);
    expect(server.count('/login/')).toBe(1);
  });
});

test('a login is sent to the next URL after a 500, once', async () => {
  await using sick = await serve((_request, response) => response.writeHead(500).end());
  await using server = await serveTokens([GOOD], list);
  const urls = [sick.url, server.url];
  await using client = connectTo(server, { urls });
  expect(await countNodes(client)).toBe(1);
  expect(sick.requests.filter((path) => path.includes('/login/'))).toHaveLength(1);
  expect(client.logins).toEqual({ tried: 1, failed: [] });
});

describe('a ready token', () => {
  test('is read again for each request', async () => {
    const seen: string[] = [];
    await using server = await serveTokens([], (token, response) => {
      seen.push(token);
      response.statusCode = token === GOOD ? 200 : 401;
      list(token, response);
    });
    let token = BAD;
    await using client = createTestClient({
      urls: [server.url],
      token: () => Promise.resolve(token),
    });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    token = GOOD;
    expect(await countNodes(client)).toBe(1);
    expect([client.logins.tried, seen]).toEqual([0, [BAD, GOOD]]);
  });

  test.each([
    `session=${GOOD}; Path=/; HttpOnly`,
    `session=${GOOD};Path=/`,
    `session=${GOOD}`,
    GOOD,
  ])('may be a cookie, as `cockroach auth-session login` prints it: %s', async (text) => {
    const seen: string[] = [];
    await using server = await serveTokens([], (token, response) => {
      seen.push(token);
      list(token, response);
    });
    await using client = createTestClient({
      urls: [server.url],
      token: () => Promise.resolve(text),
    });
    expect(await countNodes(client)).toBe(1);
    expect([client.logins.tried, seen]).toEqual([0, [GOOD]]);
  });

  test('that no header can carry is an auth failure that sends nothing', async () => {
    await using server = await serveTokens([], list);
    let token = 'a token\u6f22';
    await using client = createTestClient({
      urls: [server.url],
      token: () => Promise.resolve(token),
    });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    expect(server.requests).toEqual([]);
    token = GOOD;
    expect(await countNodes(client)).toBe(1);
  });
});
