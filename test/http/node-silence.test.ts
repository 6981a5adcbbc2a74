import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/http/errors.ts';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testReading } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, serve } from '../support/http-server.ts';
import { breakable, IMPATIENT, NODES, OF_NODE_3, RANGES, states } from './breakable.ts';

/** The ranges of node 3 hang; the clock is the test's, and goes on with each request. */
async function frozen(urls = 1) {
  const servers = await Promise.all(Array.from({ length: urls }, breakable));
  for (const { faults } of servers) faults.set('/ranges/3', 'silence');
  const clock = { now: 0 };
  const client = connect(
    servers.map(({ url }) => url),
    { ...IMPATIENT, maxDuty: 0.5, monotonicMs: () => clock.now },
  );
  return {
    servers,
    clock,
    client,
    /** What is answered, or what went wrong. */
    async ask(request: Parameters<typeof ask>[1]): Promise<string> {
      clock.now += 1;
      return ask(client, request).catch((error: Error) => error.message);
    },
    count: (path: string): readonly number[] =>
      servers.map(({ requests }) => requests.filter((each) => each.includes(path)).length),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

const FINE = '{"fine":true}';
const LEFT_ALONE = 'node_ranges of node 3: gave no answer and is left alone for ';

describe('a node that gives no answer', () => {
  test('is left alone from the second silence on, for as long as its share of the time asks', async () => {
    await using world = await frozen();
    const { clock, count, servers } = world;
    for (const round of [1, 2]) {
      await world.ask(NODES);
      await world.ask(OF_NODE_3);
      expect(count('/ranges/3')).toEqual([round]);
    }
    expect(await world.ask(OF_NODE_3)).toContain(LEFT_ALONE);
    expect(await world.ask({ ...OF_NODE_3, path: '/ranges/4', node: 4 })).toBe(FINE);
    // It was waited for 500 ms twice, which is half of two seconds; a busy machine waits longer.
    clock.now += 1_900;
    expect(await world.ask(OF_NODE_3)).toContain(LEFT_ALONE);
    expect(count('/ranges/3')).toEqual([2]);
    const left = Number(/ ([\d.]+) s$/.exec(await world.ask(OF_NODE_3))?.[1]);
    clock.now += left * 1_000;
    servers[0]?.faults.clear();
    expect(await world.ask(OF_NODE_3)).toBe(FINE);
    expect(states(world.client)).toEqual(['closed']);
  });

  test.each([
    ['but stalls', 'stall'],
    ['but a 504 of its gateway', 'late 504'],
  ] as const)('%s is left alone, too', async (_what, fault) => {
    await using world = await frozen();
    world.servers[0]?.faults.set('/ranges/3', fault);
    for (let scan = 0; scan < 3; scan += 1) {
      await world.ask(NODES);
      await world.ask(OF_NODE_3);
    }
    expect(await world.ask(OF_NODE_3)).toContain(LEFT_ALONE);
    expect(world.count('/ranges/3')).toEqual([2]);
    expect(world.client.retried).toEqual([]);
  });

  test('is asked as always when the whole API was silent', async () => {
    await using world = await frozen();
    const { servers } = world;
    await world.ask(NODES);
    servers[0]?.faults.set('', 'silence');
    for (let scan = 0; scan < 2; scan += 1) await world.ask(OF_NODE_3);
    servers[0]?.faults.clear();
    await world.ask(NODES);
    expect(await world.ask(OF_NODE_3)).toBe(FINE);
  });

  test('is not blamed for the silence of an API that comes back while it is waited for', async () => {
    await using world = await frozen();
    const { client, servers, clock } = world;
    await world.ask(OF_NODE_3);
    clock.now += 1;
    const waiting = ask(client, OF_NODE_3);
    await expect.poll(() => world.count('/ranges/3')).toEqual([2]);
    await world.ask(NODES);
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
    servers[0]?.faults.clear();
    expect(await world.ask(OF_NODE_3)).toBe(FINE);
  });

  test('is asked for at another URL the next time', async () => {
    await using world = await frozen(2);
    await world.ask(NODES);
    await world.ask(OF_NODE_3);
    world.servers[1]?.faults.clear();
    expect(await world.ask(OF_NODE_3)).toBe(FINE);
    expect(world.count('/ranges/3')).toEqual([1, 1]);
  });

  test('is asked for at another URL than a silent one', async () => {
    await using world = await frozen(2);
    world.servers[0]?.faults.set('', 'silence');
    world.servers[1]?.faults.clear();
    expect(await world.ask(NODES)).toBe(FINE);
    expect(await world.ask(OF_NODE_3)).toBe(FINE);
    expect(world.count('')).toEqual([1, 2]);
  });

  test('is left alone, and no URL, when it is silent at each of them', async () => {
    await using world = await frozen(2);
    for (let scan = 0; scan < 3; scan += 1) {
      await world.ask(NODES);
      await world.ask({ ...OF_NODE_3, firstUrl: 1 });
      await world.ask({ ...RANGES, path: '/ranges/4', node: 4, firstUrl: 1 });
    }
    expect(await world.ask(OF_NODE_3)).toContain(LEFT_ALONE);
    expect(states(world.client)).toEqual(['closed', 'closed']);
  });
});

/** The ranges of a node, to be asked for at the second URL. */
const of = (node: number) => ({ ...RANGES, path: `/ranges/${node}`, node, firstUrl: 1 });

describe('a URL at which nodes are silent that answer elsewhere', () => {
  test('is avoided for other nodes, and opened by the second of them', async () => {
    await using world = await frozen(3);
    for (const { faults } of world.servers) faults.clear();
    world.servers[1]?.faults.set('', 'silence');
    // As in a scan: both are under way when the first silence ends, and the others are read meanwhile.
    const both = [1, 2].map((node) => world.ask(of(node)));
    await expect.poll(() => world.count('/ranges/')).toEqual([0, 2, 0]);
    await world.ask(NODES);
    await Promise.all(both);
    expect(await world.ask(of(3))).toBe(FINE);
    expect(states(world.client)).toEqual(['closed', 'closed', 'closed']);
    for (const node of [1, 2]) expect(await world.ask(of(node))).toBe(FINE);
    expect(states(world.client)).toEqual(['closed', 'open', 'closed']);
    expect(world.count('/ranges/')).toEqual([0, 2, 3]);
  });

  test('is not opened by nodes that were silent while nothing answered', async () => {
    await using world = await frozen(2);
    for (const { faults } of world.servers) faults.set('', 'silence');
    await Promise.all([1, 2].map((node) => world.ask(of(node))));
    world.servers[0]?.faults.clear();
    for (const node of [1, 2]) expect(await world.ask(of(node))).toBe(FINE);
    expect(states(world.client)).toEqual(['closed', 'closed']);
  });
});

/** What reading the ranges of node 3 comes to. */
async function readFrom(urls: readonly string[], route: 'proxy' | 'gateway'): Promise<string> {
  await using client = createTestClient({ urls });
  try {
    await client.api.nodeRanges(testReading(), {
      nodeId: 3,
      route,
      limit: 10,
      firstUrl: 0,
      shape: object({}),
      onRange: () => undefined,
    });
    return 'read';
  } catch (error) {
    const status = error instanceof RequestError ? error.status : undefined;
    return `${status}, ${states(client).join(', ')}`;
  }
}

describe('a 502 for the ranges of a node', () => {
  test('through a proxying gateway is that node’s: no other gateway is asked', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('/ranges/', 502);
    expect(await readFrom([first.url, second.url], 'proxy')).toBe('502, closed, closed');
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toEqual([]);
  });

  test('that the gateway was to read itself is the gateway’s: the next one is asked', async () => {
    await using first = await breakable();
    await using second = await serve((_request, response) => response.end('{"ranges":[]}'));
    first.faults.set('/ranges/', 502);
    expect(await readFrom([first.url, second.url], 'gateway')).toBe('read');
    expect(first.requests).toHaveLength(1);
  });

  test('is no failure of the node, however often it comes', async () => {
    await using server = await breakable();
    server.faults.set('/ranges/', 502);
    await using client = connect([server.url]);
    for (let poll = 0; poll < 5; poll += 1) {
      await expect(ask(client, { ...OF_NODE_3, proxied: true })).rejects.toMatchObject({
        status: 502,
      });
    }
    expect(server.requests).toHaveLength(5);
  });
});
