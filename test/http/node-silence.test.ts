import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/http/errors.ts';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
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
const PAUSED = 'node_ranges of node 3: no response; paused for ';

describe('a node that sends no response', () => {
  test('is paused from its second silence on, for the waited time divided by its maximum duty', async () => {
    await using cluster = await frozen();
    const { clock, count, servers } = cluster;
    for (const round of [1, 2]) {
      await cluster.ask(NODES);
      await cluster.ask(OF_NODE_3);
      expect(count('/ranges/3')).toEqual([round]);
    }
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(await cluster.ask({ ...OF_NODE_3, path: '/ranges/4', node: 4 })).toBe(FINE);
    // It was waited for 500 ms twice, which is half of two seconds; a busy machine waits longer.
    clock.now += 1_900;
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(count('/ranges/3')).toEqual([2]);
    const left = Number(/ ([\d.]+) s$/.exec(await cluster.ask(OF_NODE_3))?.[1]);
    clock.now += left * 1_000;
    servers[0]?.faults.clear();
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
    expect(states(cluster.client)).toEqual(['closed']);
  });

  test.each([
    ['but stalls', 'stall'],
    ['but a 504 of its gateway', 'late 504'],
  ] as const)('%s is paused, too', async (_what, fault) => {
    await using cluster = await frozen();
    cluster.servers[0]?.faults.set('/ranges/3', fault);
    for (let scan = 0; scan < 3; scan += 1) {
      await cluster.ask(NODES);
      await cluster.ask(OF_NODE_3);
    }
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(cluster.count('/ranges/3')).toEqual([2]);
    expect(cluster.client.retried).toEqual([]);
  });

  test('is not paused for responses that were arriving when the poll ended', async () => {
    await using cluster = await frozen();
    cluster.servers[0]?.faults.set('/ranges/3', 'stall');
    for (let scan = 0; scan < 2; scan += 1) {
      await cluster.ask(NODES);
      // Longer than a poll that proves nothing, shorter than the deadline.
      await cluster.ask({ ...OF_NODE_3, signal: AbortSignal.timeout(400) });
    }
    cluster.servers[0]?.faults.clear();
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
  });

  test('is read as always when the whole API was silent', async () => {
    await using cluster = await frozen();
    const { servers } = cluster;
    await cluster.ask(NODES);
    servers[0]?.faults.set('', 'silence');
    for (let scan = 0; scan < 2; scan += 1) await cluster.ask(OF_NODE_3);
    servers[0]?.faults.clear();
    await cluster.ask(NODES);
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
  });

  test('is not paused after the silence of an API that recovers during the wait', async () => {
    await using cluster = await frozen();
    const { client, servers, clock } = cluster;
    await cluster.ask(OF_NODE_3);
    clock.now += 1;
    const waiting = ask(client, OF_NODE_3);
    await expect.poll(() => cluster.count('/ranges/3')).toEqual([2]);
    await cluster.ask(NODES);
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
    servers[0]?.faults.clear();
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
  });

  test('is read at another URL the next time', async () => {
    await using cluster = await frozen(2);
    await cluster.ask(NODES);
    await cluster.ask(OF_NODE_3);
    cluster.servers[1]?.faults.clear();
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
    expect(cluster.count('/ranges/3')).toEqual([1, 1]);
  });

  test('is read at another URL than a silent one', async () => {
    await using cluster = await frozen(2);
    cluster.servers[0]?.faults.set('', 'silence');
    cluster.servers[1]?.faults.clear();
    expect(await cluster.ask(NODES)).toBe(FINE);
    expect(await cluster.ask(OF_NODE_3)).toBe(FINE);
    expect(cluster.count('')).toEqual([1, 2]);
  });

  test('is paused, and no URL, when it is silent at each of them', async () => {
    await using cluster = await frozen(2);
    for (let scan = 0; scan < 3; scan += 1) {
      await cluster.ask(NODES);
      await cluster.ask({ ...OF_NODE_3, firstUrl: 1 });
      await cluster.ask({ ...RANGES, path: '/ranges/4', node: 4, firstUrl: 1 });
    }
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(states(cluster.client)).toEqual(['closed', 'closed']);
  });
});

/** The ranges of a node, to be asked for at the second URL. */
const of = (node: number) => ({ ...RANGES, path: `/ranges/${node}`, node, firstUrl: 1 });

describe('a URL at which nodes are silent that answer elsewhere', () => {
  test('is avoided for other nodes, and opened by the second of them', async () => {
    await using cluster = await frozen(3);
    for (const { faults } of cluster.servers) faults.clear();
    cluster.servers[1]?.faults.set('', 'silence');
    // As in a scan: both are under way when the first silence ends, and the others are read meanwhile.
    const both = [1, 2].map((node) => cluster.ask(of(node)));
    await expect.poll(() => cluster.count('/ranges/')).toEqual([0, 2, 0]);
    await cluster.ask(NODES);
    await Promise.all(both);
    expect(await cluster.ask(of(3))).toBe(FINE);
    expect(states(cluster.client)).toEqual(['closed', 'closed', 'closed']);
    for (const node of [1, 2]) expect(await cluster.ask(of(node))).toBe(FINE);
    expect(states(cluster.client)).toEqual(['closed', 'open', 'closed']);
    expect(cluster.count('/ranges/')).toEqual([0, 2, 3]);
  });

  test('is not avoided any more when one of them is silent elsewhere, too', async () => {
    await using cluster = await frozen(2);
    const silent = cluster.ask(of(3));
    await expect.poll(() => cluster.count('/ranges/')).toEqual([0, 1]);
    await cluster.ask(NODES);
    await silent;
    await cluster.ask(NODES);
    await cluster.ask(of(3));
    expect(cluster.count('/ranges/')).toEqual([1, 1]);
    expect(await cluster.ask(of(4))).toBe(FINE);
    expect(cluster.count('/ranges/4')).toEqual([0, 1]);
  });

  test('is not opened by nodes that were silent while nothing answered', async () => {
    await using cluster = await frozen(2);
    for (const { faults } of cluster.servers) faults.set('', 'silence');
    await Promise.all([1, 2].map((node) => cluster.ask(of(node))));
    cluster.servers[0]?.faults.clear();
    for (const node of [1, 2]) expect(await cluster.ask(of(node))).toBe(FINE);
    expect(states(cluster.client)).toEqual(['closed', 'closed']);
  });
});

/** The outcome of reading the ranges of node 3. */
async function readFrom(urls: readonly string[], route: 'proxy' | 'gateway'): Promise<string> {
  await using client = createTestClient({ urls });
  try {
    await client.api.nodeRanges(testStats(), {
      nodeId: 3,
      route,
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
  test('through a proxying gateway is that node’s: no other gateway is tried', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('/ranges/', 502);
    expect(await readFrom([first.url, second.url], 'proxy')).toBe('502, closed, closed');
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toEqual([]);
  });

  test('that the gateway reads itself is the gateway’s: the next one is tried', async () => {
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
