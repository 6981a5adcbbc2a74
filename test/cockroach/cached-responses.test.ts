import { describe, expect, test } from 'vitest';
import { CachedResponseError, CachedResponses } from '../../src/cockroach/cached-responses.ts';
import type { ClusterApi } from '../../src/cockroach/cluster-api.ts';
import type { PollStats } from '../../src/cockroach/http/poll-stats.ts';
import { object } from '../../src/json/index.ts';
import { createTestClient, testStats } from '../support/cluster.ts';
import { serve } from '../support/http-server.ts';

const shape = object({});
const ignore = (): void => undefined;
const BODY = JSON.stringify({
  nodes: [{ node_id: 1 }],
  ranges: [],
  sessions: [],
  users: [],
  results: [],
});

/** Every method of the API that reads. */
const READS: Readonly<Record<string, (api: ClusterApi, stats: PollStats) => Promise<unknown>>> = {
  nodes: (api, stats) => api.nodes(stats, { limit: 7, shape, onNode: ignore }),
  node_ranges: (api, stats) => {
    const request = { nodeId: 3, route: 'proxy', firstUrl: 0 } as const;
    return api.nodeRanges(stats, { ...request, shape, onRange: ignore });
  },
  sessions: (api, stats) => api.sessions(stats, { limit: 7, shape, onSession: ignore }),
  users: (api, stats) => api.users(stats, { shape, onUser: ignore }),
  table: (api, stats) => api.table(stats, { database: 'd', table: 't', shape }),
  table_metadata: (api, stats) => api.tableMetadata(stats, { shape, onTable: ignore }),
};

interface Headers {
  readonly age?: string;
  /** Seconds of the header Date. */
  readonly date?: number;
}

/** A cluster behind a cache, by the test's clock; `read` resolves to what is wrong, or `fine`. */
async function behindCache() {
  const clock = { seconds: 100 };
  let headers: Headers = {};
  const server = await serve((_request, response) => {
    const { age, date = clock.seconds } = headers;
    if (age !== undefined) response.setHeader('age', age);
    response.setHeader('date', new Date(1000 * date).toUTCString());
    response.end(BODY);
  });
  const client = createTestClient({
    urls: [server.url],
    runningMs: () => 1000 * clock.seconds,
  });
  const what = ` at ${new URL(server.url).host}: `;
  return {
    clock,
    async read(endpoint: string, given: Headers = {}): Promise<string> {
      headers = given;
      const result = await READS[endpoint]?.(client.api, testStats()).catch(
        (error: unknown) => error,
      );
      if (!(result instanceof Error)) return 'fine';
      if (!(result instanceof CachedResponseError)) return `another error: ${result.message}`;
      expect(result).toMatchObject({ reason: 'decode', endpoint });
      return result.message.replace(`${endpoint}${what}`, '');
    },
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const CACHE = 'a cache in front of the cluster answered, which must pass every request on';

describe.each(Object.keys(READS))('a response to %s', (endpoint) => {
  test('with a header Age above 5 is refused', async () => {
    await using cluster = await behindCache();
    expect(await cluster.read(endpoint, { age: '5' })).toBe('fine');
    expect(await cluster.read(endpoint, { age: '6' })).toBe(
      `the response was kept for 6 s (header Age): ${CACHE}`,
    );
  });

  test('with the Date of an earlier one is refused when more than 5 s have passed', async () => {
    await using cluster = await behindCache();
    expect(await cluster.read(endpoint, { date: 90 })).toBe('fine');
    cluster.clock.seconds += 5;
    expect(await cluster.read(endpoint, { date: 90 })).toBe('fine');
    cluster.clock.seconds += 1;
    expect(await cluster.read(endpoint, { date: 90 })).toBe(
      `the same response as 6 s ago (header Date): ${CACHE}`,
    );
    cluster.clock.seconds += 60;
    expect(await cluster.read(endpoint, { date: 90 })).toContain('66 s ago');
    expect(await cluster.read(endpoint, { date: 91 })).toBe('fine');
    expect(await cluster.read(endpoint, { date: 90 })).toBe('fine');
  });
});

describe('a Date', () => {
  test('is compared for the same request alone', async () => {
    await using cluster = await behindCache();
    for (const endpoint of Object.keys(READS)) {
      expect(await cluster.read(endpoint, { date: 90 })).toBe('fine');
      cluster.clock.seconds += 10;
    }
  });

  test('may be that of an earlier request that took longer', async () => {
    const gate = Promise.withResolvers<void>();
    let seconds = 0;
    await using server = await serve((_request, response) => {
      response.setHeader('date', 'Thu, 01 Jan 1970 00:00:20 GMT');
      const isFirst = server.requests.length === 1;
      void (isFirst ? gate.promise : Promise.resolve()).then(() => response.end(BODY));
    });
    await using client = createTestClient({
      urls: [server.url],
      runningMs: () => 1000 * seconds,
    });
    const read = (): Promise<unknown> =>
      client.api.users(testStats(), { shape, onUser: ignore }).then(() => 'fine');
    const first = read();
    await expect.poll(() => server.requests.length).toBe(1);
    seconds = 19;
    const second = read();
    expect(await second).toBe('fine');
    seconds = 30;
    gate.resolve();
    expect(await first).toBe('fine');
  });
});

/** A cache before the ranges of a node; the result is whether the response to this request was kept. */
function cacheOfRanges() {
  const responses = new CachedResponses();
  return (path: string, sentMs: number, dateMs = 1_000): string => {
    const response = { status: 200, url: 'a:80', sentMs, arrivedMs: sentMs, dateMs };
    try {
      responses.check({ endpoint: 'node_ranges', path }, response);
      return 'fine';
    } catch (error) {
      return error instanceof CachedResponseError ? 'cached' : String(error);
    }
  };
}

test('a cache that is seen first is remembered for the last 10,000 requests', () => {
  const sent = cacheOfRanges();
  for (let node = 0; node < 10_000; node += 1) expect(sent(`/ranges/${node}`, 0)).toBe('fine');
  expect(sent('/ranges/0', 6_000)).toBe('cached');
  expect(sent('/ranges/10000', 0)).toBe('fine');
  expect([sent('/ranges/0', 6_000), sent('/ranges/1', 6_000)]).toEqual(['fine', 'fine']);
  expect([sent('/ranges/10000', 6_000), sent('/ranges/9999', 6_000)]).toEqual(['cached', 'cached']);
});

test('a request that is repeated is remembered, however many others are sent once', () => {
  const sent = cacheOfRanges();
  for (let request = 0; request < 10_000; request += 1) sent(`/ranges/${request}`, 0);
  expect(sent('/ranges/0', 1_000, 2_000)).toBe('fine');
  expect(sent('/ranges/10000', 1_000)).toBe('fine');
  expect(sent('/ranges/0', 7_000, 2_000)).toBe('cached');
});
