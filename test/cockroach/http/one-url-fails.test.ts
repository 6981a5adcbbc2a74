import { describe, expect, test } from 'vitest';
import type { TestClient } from '../../support/cluster.ts';
import { ask, connect } from '../../support/http-client.ts';
import { refusing, serve, type TestServer } from '../../support/http-server.ts';
import { NODES, SESSIONS } from './breakable.ts';

const INTERVAL_MS = 60_000;
const NODES_OF_CLUSTER = 9;

interface World extends AsyncDisposable {
  readonly client: TestClient;
  readonly servers: readonly TestServer[];
  /** Lets the second URL answer all requests for nodes, or everything, so, or with undefined well. */
  ail(answer: Ailment | undefined, scope?: 'node lists' | 'everything'): void;
  /** An interval passes. */
  pass(): void;
  /** The nodes that a scan does not read. */
  scan(): Promise<readonly number[]>;
}

interface Ailment {
  /** Absent for no response at all. */
  readonly status?: number;
  readonly retryAfter?: string;
}

/** Three URLs of nine nodes. */
async function createWorld(): Promise<World> {
  let ailment: Ailment | undefined;
  let isAll = false;
  let now = 0;
  let scans = 0;
  const servers = await Promise.all(
    [0, 1, 2].map((at) =>
      serve((request, response) => {
        const isSick = at === 1 && (isAll || request.url?.includes('/ranges/') === true);
        if (isSick && ailment !== undefined) {
          const { status, retryAfter } = ailment;
          if (status === undefined) return;
          response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
        }
        response.end('{"fine":true}');
      }),
    ),
  );
  const client = connect(
    servers.map(({ url }) => url),
    { runningMs: () => now, breakerOpenMs: 27_000, deadlines: { headersMs: 300 } },
  );
  return {
    client,
    servers,
    ail(answer, scope = 'node lists') {
      ailment = answer;
      isAll = scope === 'everything';
    },
    pass() {
      now += INTERVAL_MS;
    },
    async scan() {
      const unread: number[] = [];
      for (let node = 1; node <= NODES_OF_CLUSTER; node += 1) {
        const path = `/ranges/${node}`;
        const request = { endpoint: 'node_ranges', path, node, sentToken: true } as const;
        await ask(client, { ...request, firstUrl: node + scans }).catch(() => unread.push(node));
      }
      scans += 1;
      return unread;
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

describe('one of three URLs that fails every list of a node', () => {
  test.each<Ailment>([
    { status: 503, retryAfter: '2' },
    { status: 503, retryAfter: '8' },
    { status: 503, retryAfter: '120' },
    { status: 502, retryAfter: '120' },
    { status: 429, retryAfter: '120' },
    { status: 500 },
    { status: 502 },
    { status: 503 },
    { status: 401 },
    { status: 403 },
  ])('by %j leaves no node unread, in any scan', async (ailment) => {
    await using world = await createWorld();
    world.ail(ailment);
    for (let scan = 0; scan < 6; scan += 1) {
      expect(await world.scan()).toEqual([]);
      expect(await ask(world.client, NODES)).toBe('{"fine":true}');
      world.pass();
    }
    // No retry is needed, and no node is paused.
    expect(world.client.retried).toEqual([]);
    expect(world.client.http.pausedMs()).toBe(0);
  });

  test('and asks for a pause is asked once in it, and used again afterwards', async () => {
    await using world = await createWorld();
    const [, sick] = world.servers;
    world.ail({ status: 503, retryAfter: '3600' }, 'everything');
    // Intervals of a minute, pauses of two.
    for (const requests of [1, 1, 2, 2, 3]) {
      expect(await world.scan()).toEqual([]);
      expect(await ask(world.client, SESSIONS)).toBe('{"fine":true}');
      expect(sick?.requests).toHaveLength(requests);
      world.pass();
    }
    world.ail(undefined);
    world.pass();
    const before = sick?.requests.length ?? 0;
    await ask(world.client, NODES);
    await world.scan();
    expect(sick?.requests.length).toBeGreaterThan(before + 1);
    expect(world.client.http.upstreams().map(({ state }) => state)).toEqual(
      Array.from({ length: 3 }, () => 'closed'),
    );
  });
});

describe('one of three URLs that responds to nothing', () => {
  test('costs one wait in each interval, and no node', async () => {
    await using world = await createWorld();
    const [, silent] = world.servers;
    world.ail({}, 'everything');
    for (let interval = 1; interval <= 3; interval += 1) {
      for (const request of [SESSIONS, NODES]) {
        expect(await ask(world.client, { ...request, firstUrl: 1 })).toBe('{"fine":true}');
      }
      for (let scan = 0; scan < 3; scan += 1) expect(await world.scan()).toEqual([]);
      expect(silent?.requests).toHaveLength(interval);
      world.pass();
    }
    world.ail(undefined);
    await ask(world.client, NODES);
    expect(world.client.http.upstreams().map(({ state }) => state)).toEqual(
      Array.from({ length: 3 }, () => 'closed'),
    );
  });

  test('and is asked for the list of a node first does so, too', async () => {
    await using world = await createWorld();
    const [, silent] = world.servers;
    world.ail({}, 'everything');
    expect([await world.scan(), await world.scan()]).toEqual([[], []]);
    expect(silent?.requests).toHaveLength(1);
  });
});

describe('one node that every URL refuses', () => {
  test('is paused alone, after one request to each URL', async () => {
    const servers = await Promise.all(
      [0, 1, 2].map(() =>
        serve((request, response) => {
          const isOverloaded = request.url?.endsWith('/ranges/5') === true;
          if (isOverloaded) response.writeHead(503, { 'retry-after': '120' });
          response.end('{"fine":true}');
        }),
      ),
    );
    await using client = connect(
      servers.map(({ url }) => url),
      { runningMs: () => 0 },
    );
    for (let scan = 0; scan < 3; scan += 1) {
      const lists = [4, 5, 6].map((node) =>
        ask(client, { endpoint: 'node_ranges', path: `/ranges/${node}`, node }).catch(
          () => 'failed',
        ),
      );
      expect(await Promise.all(lists)).toEqual(['{"fine":true}', 'failed', '{"fine":true}']);
    }
    const asked = servers.flatMap(({ requests }) => requests);
    expect(asked.filter((path) => path.endsWith('/ranges/5'))).toHaveLength(3);
    expect(client.http.upstreams().map(({ state }) => state)).toEqual(
      Array.from({ length: 3 }, () => 'closed'),
    );
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  test('with a 500 is tried at one more URL, not at all', async () => {
    const servers = await Promise.all(
      [0, 1, 2].map(() => serve((_request, response) => response.writeHead(500).end())),
    );
    await using client = connect(servers.map(({ url }) => url));
    const list = ask(client, { endpoint: 'node_ranges', path: '/ranges/5', node: 5 });
    await expect(list).rejects.toMatchObject({ status: 500 });
    expect(client.finished).toHaveLength(2);
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
});

test('a request for one URL is sent to no other one, and says nothing of the endpoint', async () => {
  await using good = await serve((_request, response) => response.end('{"fine":true}'));
  await using throttled = await serve((_request, response) =>
    response.writeHead(503, { 'retry-after': '120' }).end(),
  );
  await using client = connect([good.url, throttled.url, await refusing()], {
    runningMs: () => 0,
  });
  const at = (onlyUrl: number): Promise<string> => ask(client, { onlyUrl, blames: 'url' });
  expect(await at(0)).toBe('{"fine":true}');
  await expect(at(1)).rejects.toMatchObject({ status: 503 });
  await expect(at(2)).rejects.toMatchObject({ reason: 'network' });
  for (let again = 0; again < 3; again += 1) await expect(at(2)).rejects.toThrow('failed too');
  expect(client.http.upstreams().map(({ state }) => state)).toEqual(['closed', 'open', 'open']);
  expect(await ask(client, { firstUrl: 1 })).toBe('{"fine":true}');
  expect([good.requests.length, throttled.requests.length]).toEqual([2, 1]);
});
