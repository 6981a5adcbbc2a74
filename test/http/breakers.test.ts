import { describe, expect, test } from 'vitest';
import { createTestClient, testReading } from '../support/cluster.ts';
import { ask, connect } from '../support/http-client.ts';
import { good, refusing, serve, type TestServer } from '../support/http-server.ts';

type Fault = 'silence' | 'reset' | 'stall' | number;

/** A server of which single paths can be broken, or all of them by the path ''. */
interface BreakableServer extends TestServer {
  readonly faults: Map<string, Fault>;
}

async function breakable(): Promise<BreakableServer> {
  const faults = new Map<string, Fault>();
  const server = await serve((request, response) => {
    const found = [...faults].find(([path]) => request.url?.includes(path) === true);
    const fault = found?.[1];
    if (fault === 'silence') return;
    if (fault === 'reset') response.destroy();
    else if (fault === 'stall') response.write('{');
    else {
      response.statusCode = fault ?? 200;
      response.end('{"fine":true}');
    }
  });
  return { ...server, faults };
}

const NODES = { endpoint: 'nodes', path: '/nodes/' } as const;
const SESSIONS = { endpoint: 'sessions', path: '/sessions/' } as const;
const USERS = { endpoint: 'users', path: '/users/' } as const;
const RANGES = { endpoint: 'node_ranges', path: '/ranges/' } as const;
const OF_NODE_3 = { ...RANGES, path: '/ranges/3', node: 3 } as const;
const IMPATIENT = { deadlines: { headersMs: 100, headersAfterSilenceMs: 100, idleMs: 100 } };

function states({ http }: ReturnType<typeof connect>): readonly string[] {
  return http.targets().map(({ state }) => state);
}

describe('an endpoint that fails', () => {
  test.each(['silence', 'reset', 'stall', 503, 502, 504] as const)(
    'by %s is left alone after three failures, and nothing else is',
    async (fault) => {
      await using server = await breakable();
      server.faults.set('/sessions/', fault);
      let now = 0;
      await using client = connect([server.url], {
        ...IMPATIENT,
        breakerOpenMs: 1_000,
        monotonicMs: () => now,
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
      expect(client.http.blockedMs()).toBe(0);
      // One trial, that says what is really wrong, and no repeat.
      now = 1_000;
      await expect(ask(client, SESSIONS)).rejects.not.toMatchObject({ reason: 'breaker_open' });
      await expect(ask(client, SESSIONS)).rejects.toMatchObject(open);
      expect(server.requests.filter((path) => path.includes('/sessions/'))).toHaveLength(4);
      now = 2_000;
      server.faults.clear();
      expect(await ask(client, SESSIONS)).toBe('{"fine":true}');
    },
  );

  test('at one URL is asked for at another', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('/sessions/', 503);
    await using client = connect([first.url, second.url]);
    for (let poll = 0; poll < 3; poll += 1) {
      expect(await ask(client, SESSIONS)).toBe('{"fine":true}');
    }
    expect(first.requests).toHaveLength(1);
    await ask(client, NODES);
    expect(first.requests).toHaveLength(2);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test('is open for as long as counted from the start of its trial', async () => {
    await using server = await breakable();
    server.faults.set('/sessions/', 'silence');
    let now = 0;
    await using client = connect([server.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (let poll = 0; poll < 3; poll += 1) await ask(client, SESSIONS).catch(() => undefined);
    now = 1_000;
    const trial = ask(client, SESSIONS);
    await expect.poll(() => server.requests.length).toBe(4);
    now = 1_400;
    await expect(trial).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ retryInMs: 600 });
  });
});

describe('a table that takes too long', () => {
  test('is no reason not to ask for the others', async () => {
    await using server = await breakable();
    server.faults.set('/slow', 'silence');
    await using client = createTestClient({ urls: [server.url], ...IMPATIENT });
    for (let poll = 0; poll < 4; poll += 1) {
      const question = { database: 'db', table: `slow${poll}`, shape: {} as never };
      const read = client.api.table(testReading(), question);
      await expect(read).rejects.toMatchObject({ reason: 'timeout' });
    }
  });
});

describe('silence', () => {
  test('of two endpoints without an answer between opens the URL', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], { ...IMPATIENT, breakerOpenMs: 60_000 });
    for (const request of [NODES, NODES, OF_NODE_3]) {
      await expect(ask(client, request)).rejects.toMatchObject({ reason: 'timeout' });
    }
    expect(states(client)).toEqual(['closed']);
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open']);
    expect(client.http.blockedMs()).toBeGreaterThan(0);
  });

  test('of the ranges of the URL itself speaks of the URL', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], { ...IMPATIENT, breakerOpenMs: 60_000 });
    await expect(ask(client, RANGES)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open']);
  });

  test.each([
    ['an answer came between the two', [SESSIONS, NODES, USERS]],
    ['one of them was silent while the URL answered', [SESSIONS, NODES, SESSIONS, USERS]],
  ])('of two endpoints does not open the URL when %s', async (_when, requests) => {
    await using server = await breakable();
    server.faults.set('/sessions/', 'silence');
    server.faults.set('/users/', 'silence');
    await using client = connect([server.url], IMPATIENT);
    for (const request of requests) await ask(client, request).catch(() => undefined);
    expect(states(client)).toEqual(['closed']);
    expect(await ask(client, NODES)).toBe('{"fine":true}');
  });

  test('is waited for with a short deadline the next time, and at the tenth with the whole one', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    await using client = connect([server.url], {
      deadlines: { headersMs: 300, headersAfterSilenceMs: 20 },
      breakerOpenMs: 0,
    });
    const said: string[] = [];
    for (let attempt = 1; attempt <= 11; attempt += 1) {
      await ask(client, NODES).catch((error: Error) => said.push(error.message.slice(-6)));
    }
    expect(said).toEqual([' 0.3 s', ...Array(8).fill('0.02 s'), ' 0.3 s', '0.02 s']);
  });

  test('is waited for twice as long as the last answer took', async () => {
    let isSilent = false;
    await using server = await serve((_request, response) => {
      if (!isSilent) setTimeout(() => response.end('{}'), 100);
    });
    await using client = connect([server.url], {
      deadlines: { headersMs: 2_000, headersAfterSilenceMs: 20 },
    });
    await ask(client, NODES);
    isSilent = true;
    await expect(ask(client, NODES)).rejects.toThrow('within 2 s');
    const waited = await ask(client, NODES).catch((error: Error) => error.message);
    const seconds = Number(/within ([\d.]+) s/.exec(waited)?.[1]);
    expect(seconds).toBeGreaterThanOrEqual(0.19);
  });

  test('of a URL on trial is answered by the next one, after the short deadline', async () => {
    await using first = await breakable();
    await using second = await good();
    first.faults.set('', 'silence');
    let now = 0;
    await using client = connect([first.url, second.url], {
      deadlines: { headersMs: 300, headersAfterSilenceMs: 20 },
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    await expect(ask(client, NODES)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, SESSIONS)).rejects.toMatchObject({ reason: 'timeout' });
    expect(states(client)).toEqual(['open', 'closed']);
    now = 1_000;
    for (const request of [NODES, SESSIONS]) {
      expect(await ask(client, request)).toBe('{"fine":true}');
    }
    expect(first.requests).toHaveLength(3);
    first.faults.clear();
    now = 2_000;
    await ask(client, NODES);
    expect(first.requests).toHaveLength(4);
    expect(states(client)).toEqual(['closed', 'closed']);
  });

  test('of one endpoint on trial does not keep another from trying', async () => {
    await using server = await breakable();
    server.faults.set('', 'silence');
    let now = 0;
    await using client = connect([server.url], {
      ...IMPATIENT,
      breakerOpenMs: 1_000,
      monotonicMs: () => now,
    });
    for (const request of [NODES, SESSIONS]) await ask(client, request).catch(() => undefined);
    server.faults.clear();
    server.faults.set('/sessions/', 'silence');
    now = 1_000;
    const [sessions, nodes] = await Promise.allSettled([ask(client, SESSIONS), ask(client, NODES)]);
    expect([sessions.status, nodes.status]).toEqual(['rejected', 'fulfilled']);
    expect(states(client)).toEqual(['closed']);
  });
});

describe('a node that gives no answer', () => {
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
      ...{ server, clock, client, count },
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  test('is left alone for as long as its share of the time asks', async () => {
    await using world = await frozen();
    const { client, clock, count, server } = world;
    await ask(client, NODES);
    await expect(ask(client, OF_NODE_3)).rejects.toMatchObject({ reason: 'timeout' });
    await expect(ask(client, OF_NODE_3)).rejects.toThrow(
      'node_ranges of node 3: gave no answer and is left alone for 1 s',
    );
    expect(await ask(client, { ...OF_NODE_3, path: '/ranges/4', node: 4 })).toBe('{"fine":true}');
    expect(count()).toBe(1);
    // It was waited for 100 ms, which is half of 200 ms.
    clock.now = 150;
    await ask(client, OF_NODE_3).catch(() => undefined);
    expect(count()).toBe(1);
    clock.now = 1_000;
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

describe('a 502 for the ranges of a node', () => {
  async function readFrom(urls: readonly string[], route: 'proxy' | 'gateway'): Promise<string> {
    await using client = createTestClient({ urls });
    try {
      await client.api.nodeRanges(testReading(), {
        ...{ nodeId: 3, route, limit: 10, firstUrl: 0 },
        shape: {} as never,
        onRange: () => undefined,
      });
      return 'read';
    } catch (error) {
      return `${(error as { status?: number }).status}, ${states(client).join(', ')}`;
    }
  }

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

test('a URL that refuses is left alone, whatever was asked of it', async () => {
  await using client = connect([await refusing()], { breakerOpenMs: 60_000 });
  for (const request of [OF_NODE_3, SESSIONS]) await ask(client, request).catch(() => undefined);
  expect(states(client)).toEqual(['open']);
  expect(client.finished).toHaveLength(3);
});
