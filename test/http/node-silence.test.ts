import { describe, expect, test } from 'vitest';
import { RequestError } from '../../src/http/errors.ts';
import { object } from '../../src/json/shape.ts';
import { createTestClient, testReading } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, serve } from '../support/http-server.ts';
import { breakable, IMPATIENT, NODES, OF_NODE_3, SESSIONS, states, USERS } from './breakable.ts';

/** The ranges of node 3 hang; the clock is the test's. */
async function frozen() {
  const server = await breakable();
  server.faults.set('/ranges/3', 'silence');
  const clock = { now: 0 };
  const client = connect([server.url], {
    ...IMPATIENT,
    maxDuty: 0.5,
    monotonicMs: () => clock.now,
  });
  const count = (): number => server.requests.filter((path) => path.includes('/3')).length;
  return {
    server,
    clock,
    client,
    count,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('a node that gives no answer', () => {
  test('is left alone for as long as its share of the time asks', async () => {
    await using world = await frozen();
    const { client, clock, count, server } = world;
    await ask(client, NODES);
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, OF_NODE_3)).rejects.toThrow(
      'node_ranges of node 3: gave no answer and is left alone for ',
    );
    expect(await ask(client, { ...OF_NODE_3, path: '/ranges/4', node: 4 })).toBe('{"fine":true}');
    expect(count()).toBe(1);
    // It was waited for 500 ms, which is half of a second.
    clock.now = 900;
    await ask(client, OF_NODE_3).catch(() => undefined);
    expect(count()).toBe(1);
    clock.now = 20_000;
    server.faults.clear();
    expect(await ask(client, OF_NODE_3)).toBe('{"fine":true}');
    expect(states(client)).toEqual(['closed']);
  });

  test('is forgiven when the URL turns out to be silent', async () => {
    await using world = await frozen();
    const { client, server } = world;
    server.faults.set('', 'silence');
    await ask(client, OF_NODE_3).catch(() => undefined);
    await ask(client, NODES).catch(() => undefined);
    server.faults.clear();
    expect(await ask(client, OF_NODE_3)).toBe('{"fine":true}');
  });

  test('is not blamed while its URL is silent', async () => {
    await using world = await frozen();
    const { client, server } = world;
    server.faults.set('', 'silence');
    await ask(client, NODES).catch(() => undefined);
    await ask(client, OF_NODE_3).catch(() => undefined);
    server.faults.clear();
    expect(await ask(client, OF_NODE_3)).toBe('{"fine":true}');
  });

  test('is not forgiven when it was silent before', async () => {
    await using world = await frozen();
    const { client, clock, server } = world;
    await ask(client, OF_NODE_3).catch(() => undefined);
    clock.now = 20_000;
    await ask(client, NODES);
    await ask(client, OF_NODE_3).catch(() => undefined);
    server.faults.set('', 'silence');
    await ask(client, SESSIONS).catch(() => undefined);
    server.faults.clear();
    await expect(ask(client, OF_NODE_3)).rejects.toThrow('is left alone');
  });

  test('is asked for at another URL than a silent one', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('', 'silence');
    await using client = connect([first.url, second.url], IMPATIENT);
    await expect(ask(client, NODES)).rejects.toMatchObject({ reason: 'timeout' });
    expect(await ask(client, OF_NODE_3)).toBe('{"fine":true}');
    expect(first.requests).toHaveLength(1);
  });

  test('is not forgiven when the URL has answered since', async () => {
    await using world = await frozen();
    const { client, clock, server, count } = world;
    await ask(client, OF_NODE_3).catch(() => undefined);
    clock.now = 10;
    await ask(client, NODES);
    clock.now = 20;
    server.faults.set('/sessions/', 'silence');
    server.faults.set('/users/', 'silence');
    for (const request of [SESSIONS, USERS]) await ask(client, request).catch(() => undefined);
    expect(states(client)).not.toEqual(['closed']);
    server.faults.clear();
    await expect(ask(client, OF_NODE_3)).rejects.toThrow('is left alone');
    expect(count()).toBe(1);
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
