import { describe, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { object } from '../../../src/json/index.ts';
import { createTestClient, testStats } from '../../support/cluster.ts';
import { ask, connect } from '../../support/http-client.ts';
import { good, serve } from '../../support/http-server.ts';
import { breakable, IMPATIENT, NODES, OF_NODE_3, RANGES, SESSIONS, states } from './breakable.ts';

describe.concurrent('an endpoint that fails', () => {
  test.for(['silence', 'reset', 'stall', 503, 502, 504] as const)(
    'by %s is left alone after three failures, and nothing else is',
    async (fault, { expect }) => {
      await using server = await breakable();
      server.faults.set('/sessions/', fault);
      let now = 0;
      await using client = connect([server.url], {
        ...IMPATIENT,
        breakerOpenMs: 1_000,
        runningMs: () => now,
      });
      for (let poll = 0; poll < 3; poll += 1) {
        await expect(ask(client, SESSIONS)).rejects.toMatchObject({ name: 'RequestError' });
      }
      const open = { reason: 'breaker_open', retryInMs: 1_000 };
      await expect(ask(client, SESSIONS)).rejects.toMatchObject(open);
      expect(server.requests.filter((path) => path.includes('/sessions/'))).toHaveLength(3);
      expect(await ask(client, NODES)).toBe('{"fine":true}');
      expect(await ask(client, RANGES)).toBe('{"fine":true}');
      expect(states(client)).toEqual(['closed']);
      expect(client.http.failedMs()).toBe(0);
      // One trial, that says what is really wrong, and no repeat.
      now = 1_000;
      await expect(ask(client, SESSIONS)).rejects.not.toMatchObject({ reason: 'breaker_open' });
      await expect(ask(client, SESSIONS)).rejects.toMatchObject(open);
      // The reset of a connection that has served others is no failure of the endpoint yet.
      const requests = fault === 'reset' ? 5 : 4;
      expect(server.requests.filter((path) => path.includes('/sessions/'))).toHaveLength(requests);
      now = 2_000;
      server.faults.clear();
      expect(await ask(client, SESSIONS)).toBe('{"fine":true}');
    },
  );
});

describe.concurrent('silence', () => {
  test('of one of several URLs fails over to the next one, and that URL gets a trial at a time', async ({
    expect,
  }) => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('', 'silence');
    let now = 0;
    await using client = connect([first.url, second.url], {
      deadlines: { headersMs: 400 },
      breakerOpenMs: 1_000,
      runningMs: () => now,
    });
    for (const openings of [1, 2]) {
      for (const request of [NODES, SESSIONS, OF_NODE_3]) {
        expect(await ask(client, request)).toBe('{"fine":true}');
      }
      expect(first.requests).toHaveLength(openings);
      expect(states(client)).toEqual(['open', 'closed']);
      now += 1_000;
    }
    first.faults.clear();
    await ask(client, NODES);
    expect(first.requests).toHaveLength(3);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test('of the only URL leaves it in use', async ({ expect }) => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], IMPATIENT);
    for (const request of [NODES, SESSIONS, OF_NODE_3, NODES]) {
      await expect(ask(client, request)).rejects.toMatchObject({ reason: 'timeout' });
    }
    expect(states(client)).toEqual(['closed']);
    server.faults.clear();
    expect(await ask(client, OF_NODE_3)).toBe('{"fine":true}');
  });
});

const FINE = '{"fine":true}';
const OF_NODE_4 = { ...OF_NODE_3, path: '/ranges/4', node: 4 };
const PAUSED = 'node_ranges of node 3: no response; paused for ';

describe.concurrent('a node whose URL responds to others', () => {
  test.for(['silence', 'stall', 'late 504'] as const)(
    'is paused after a %s for the waited time divided by its maximum duty, and then read',
    async (fault, { expect }) => {
      await using server = await breakable();
      server.faults.set('/ranges/3', fault);
      let passedMs = 0;
      const runningMs = (): number => performance.now() + passedMs;
      const options = { ...IMPATIENT, breakerOpenMs: 60_000, maxDuty: 0.005, runningMs };
      await using client = connect([server.url], options);
      /** What is answered, or what went wrong. */
      const read = (request: Parameters<typeof ask>[1] = OF_NODE_3): Promise<string> =>
        ask(client, request).catch((error: Error) => error.message);
      const first = read();
      // The URL responds to others meanwhile, however late the machine is.
      await expect
        .poll(() => server.requests.some((path) => path.includes('/ranges/3')))
        .toBe(true);
      await read(OF_NODE_4);
      expect(await first).not.toContain('paused');
      expect([await read(), await read(OF_NODE_4)]).toEqual([
        expect.stringContaining(PAUSED),
        FINE,
      ]);
      // It was waited for 100 ms at least, which is half a percent of twenty seconds; a busy machine waits longer.
      const pausedMs = 1_000 * Number(/ ([\d.]+) s$/.exec(await read())?.[1]);
      expect(pausedMs).toBeGreaterThanOrEqual(20_000);
      passedMs += pausedMs - 10_000;
      expect(await read()).toContain(PAUSED);
      expect(server.requests.filter((path) => path.includes('/ranges/3'))).toHaveLength(1);
      expect(client.retried).toEqual([]);
      passedMs += 10_000;
      server.faults.clear();
      expect(await read()).toBe(FINE);
      expect(states(client)).toEqual(['closed']);
    },
  );
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

describe.concurrent('a 502 for the ranges of a node', () => {
  test('through a proxying gateway is that node’s: no other gateway is tried', async ({
    expect,
  }) => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('/ranges/', 502);
    expect(await readFrom([first.url, second.url], 'proxy')).toBe('502, closed, closed');
    expect(first.requests).toHaveLength(1);
    expect(second.requests).toEqual([]);
  });

  test('that the gateway reads itself is the gateway’s: the next one is tried', async ({
    expect,
  }) => {
    await using first = await breakable();
    await using second = await serve((_request, response) => response.end('{"ranges":[]}'));
    first.faults.set('/ranges/', 502);
    expect(await readFrom([first.url, second.url], 'gateway')).toBe('read');
    expect(first.requests).toHaveLength(1);
  });

  test('is no failure of the node, however often it comes', async ({ expect }) => {
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
