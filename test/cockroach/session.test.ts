import { describe, expect, test } from 'vitest';
import { decodeValue } from '../../src/json/decoder.ts';
import { integer, object, string } from '../../src/json/shape.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import {
  createTestClient,
  type TestClient,
  type TestClientOptions,
  testStats,
} from '../support/cluster.ts';

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

  test('rejected credentials are not tried again within a minute', async () => {
    await using simulator = await simulate();
    let now = 0;
    await using client = connect(simulator, {
      password: () => Promise.resolve('wrong'),
      monotonicMs: () => now,
    });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    expect(simulator.requests.count('login')).toBe(1);
    now = 60_001;
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    expect(simulator.requests.count('login')).toBe(2);
    expect(client.logins.failed).toEqual(['auth', 'auth']);
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
    simulator.fault({ endpoint: 'login', kind: 'slow', ms: 1_000, times: 1 });
    await using client = connect(simulator);
    const patient = countNodes(client);
    await expect(countNodes(client, AbortSignal.timeout(50))).rejects.toMatchObject({
      reason: 'timeout',
    });
    // It has given up at its own end, not at that of the login.
    expect(simulator.requests.inFlight.get('login')).toBe(1);
    expect(await patient).toBeGreaterThan(0);
    expect(simulator.requests.count('login')).toBe(1);
  });

  test('a login that is answered with nonsense counts as one that failed', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'login', kind: 'empty' });
    await using client = connect(simulator);
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'decode' });
    expect(client.logins).toEqual({ tried: 1, failed: ['decode'] });
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

  test('logging out waits for a login no longer than it may', async () => {
    await using simulator = await simulate();
    simulator.fault({ endpoint: 'login', kind: 'hang' });
    await using client = connect(simulator);
    const poll = countNodes(client, AbortSignal.timeout(100));
    await expect(poll).rejects.toMatchObject({ reason: 'timeout' });
    const ended = client.session.logOut(AbortSignal.timeout(100));
    await expect(ended).rejects.toMatchObject({ reason: 'timeout' });
    expect(simulator.requests.count('logout')).toBe(0);
  });

  test('logging out ends the session that was made here, once', async () => {
    await using simulator = await simulate();
    await using client = connect(simulator);
    await countNodes(client);
    await client.session.logOut(AbortSignal.timeout(5_000));
    await client.session.logOut(AbortSignal.timeout(5_000));
    expect(simulator.requests.count('logout')).toBe(1);
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
  test('costs one login a minute and leaves the other endpoints alone', async () => {
    await using simulator = await simulate();
    let now = 0;
    await using client = connect(simulator, { monotonicMs: () => now });
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
    now = 60_001;
    await expect(askUsers()).rejects.toMatchObject({ reason: 'auth' });
    expect(simulator.requests.count('login')).toBe(3);
  });
});

describe('a ready token', () => {
  test('is read again after the server refused it', async () => {
    await using simulator = await simulate();
    await using minting = connect(simulator);
    await countNodes(minting);
    let token = 'bm90IGEgdG9rZW4=';
    await using client = createTestClient({
      urls: simulator.clusterUrls,
      token: () => Promise.resolve(token),
    });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth' });
    token = await mint(simulator);
    expect(await countNodes(client)).toBeGreaterThan(0);
    expect(client.logins.tried).toBe(0);
  });

  test('that is no base64 is answered with 400 and counts as an auth failure', async () => {
    await using simulator = await simulate();
    await using client = createTestClient({
      urls: simulator.clusterUrls,
      token: () => Promise.resolve('%%%'),
    });
    await expect(countNodes(client)).rejects.toMatchObject({ reason: 'auth', status: 400 });
  });
});

async function mint(simulator: Simulator): Promise<string> {
  const body = new URLSearchParams({
    username: simulator.username,
    password: simulator.password,
  });
  const answer = await fetch(`${simulator.clusterUrl}/api/v2/login/`, { method: 'POST', body });
  return (
    decodeValue(Buffer.from(await answer.arrayBuffer()), object({ session: string() })).value
      .session ?? ''
  );
}
