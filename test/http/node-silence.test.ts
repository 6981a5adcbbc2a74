import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/http/errors.ts';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, serve } from '../support/http-server.ts';
import { breakable, IMPATIENT, NODES, OF_NODE_3, RANGES, states } from './breakable.ts';

/** The ranges of node 3 hang; time passes as it does, and by what a test adds to `skipped`. */
async function frozen(urls = 1) {
  const servers = await Promise.all(Array.from({ length: urls }, breakable));
  for (const { faults } of servers) faults.set('/ranges/3', 'silence');
  const time = { skippedMs: 0 };
  const client = connect(
    servers.map(({ url }) => url),
    {
      ...IMPATIENT,
      breakerOpenMs: 60_000,
      maxDuty: 0.05,
      monotonicMs: () => performance.now() + time.skippedMs,
    },
  );
  return {
    servers,
    time,
    client,
    /** What is answered, or what went wrong. */
    async ask(request: Parameters<typeof ask>[1]): Promise<string> {
      return ask(client, request).catch((error: Error) => error.message);
    },
    /** Reads node 3 while its URL lists node 4, as in a scan. */
    async scan(
      request: typeof OF_NODE_3 & { readonly firstUrl?: number } = OF_NODE_3,
    ): Promise<string> {
      const silent = this.ask(request);
      // The URL responds in the second half of the wait.
      await new Promise((resolve) => setTimeout(resolve, 350));
      await this.ask({ ...request, path: '/ranges/4', node: 4 });
      return silent;
    },
    count: (path: string): readonly number[] =>
      servers.map(({ requests }) => requests.filter((each) => each.includes(path)).length),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

/** Begins at the second URL. */
const OF_NODE_3_AT_SECOND = { ...OF_NODE_3, firstUrl: 1 };
const FINE = '{"fine":true}';
const PAUSED = 'node_ranges of node 3: no response; paused for ';

describe('a node that sends no response', () => {
  test('is paused for the waited time divided by its maximum duty, and then read', async () => {
    await using cluster = await frozen();
    const { time, count, servers } = cluster;
    expect(await cluster.scan()).toContain('no headers');
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(await cluster.ask({ ...OF_NODE_3, path: '/ranges/4', node: 4 })).toBe(FINE);
    // It was waited for 500 ms, which is a twentieth of ten seconds; a busy machine waits longer.
    const left = Number(/ ([\d.]+) s$/.exec(await cluster.ask(OF_NODE_3))?.[1]);
    expect(left).toBeGreaterThan(5);
    time.skippedMs += (left - 5) * 1_000;
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(count('/ranges/3')).toEqual([1]);
    time.skippedMs += 5_000;
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
    await cluster.ask(OF_NODE_3);
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(cluster.count('/ranges/3')).toEqual([1]);
    expect(cluster.client.retried).toEqual([]);
  });

  test('is not paused for responses that were arriving when the poll ended', async () => {
    await using cluster = await frozen();
    cluster.servers[0]?.faults.set('/ranges/3', 'stall');
    // Longer than a poll that proves nothing, shorter than the deadline.
    await cluster.ask({ ...OF_NODE_3, signal: AbortSignal.timeout(400) });
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

  test('is paused, and no URL', async () => {
    await using cluster = await frozen(2);
    await cluster.ask(NODES);
    await cluster.scan(OF_NODE_3_AT_SECOND);
    expect(await cluster.ask(OF_NODE_3)).toContain(PAUSED);
    expect(cluster.count('/ranges/3')).toEqual([0, 1]);
    expect(states(cluster.client)).toEqual(['closed', 'closed']);
  });
});

test('a URL of several at which two nodes are silent is left alone, and they are read elsewhere', async () => {
  await using cluster = await frozen(3);
  for (const { faults } of cluster.servers) faults.clear();
  cluster.servers[1]?.faults.set('', 'silence');
  /** The ranges of a node, to be asked for at the second URL. */
  const read = (node: number): Promise<string> =>
    cluster.ask({ ...RANGES, path: `/ranges/${node}`, node, firstUrl: 1 });
  await Promise.all([1, 2].map(read));
  expect(states(cluster.client)).toEqual(['closed', 'open', 'closed']);
  for (const node of [1, 2, 3]) expect(await read(node)).toBe(FINE);
  expect(cluster.count('/ranges/')).toEqual([0, 2, 3]);
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
