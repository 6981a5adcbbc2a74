import { describe, expect, test } from 'vitest';
import { object, string } from '../../../src/json/index.ts';
import { testStats } from '../../support/cluster.ts';
import { ask, connect } from '../../support/http-client.ts';
import { good, refusing, serve } from '../../support/http-server.ts';

describe('several URLs', () => {
  test('the next one is not used once a part of the answer was handed on', async () => {
    await using first = await serve((_request, response) => {
      response.write('{"half":');
      setTimeout(() => response.destroy(), 20);
    });
    await using second = await good();
    await using client = connect([first.url, second.url]);
    await expect(ask(client)).rejects.toMatchObject({ reason: 'network' });
    expect(second.requests).toEqual([]);
    expect(await ask(client)).toBe('{"fine":true}');
  });

  test('the next one is used when no headers arrive in time, and first from then on', async () => {
    await using silent = await serve(() => undefined);
    await using second = await good();
    const options = { deadlines: { headersMs: 500 }, breakerOpenMs: 60_000 };
    await using client = connect([silent.url, second.url], options);
    for (let poll = 0; poll < 2; poll += 1) expect(await ask(client)).toBe('{"fine":true}');
    expect(silent.requests).toHaveLength(1);
    expect(client.retried).toEqual([]);
  });

  test.each([0.95, 0.2])(
    'the next request begins at the next one when the poll was over after %d of the wait for headers',
    async (share) => {
      await using silent = await serve(() => undefined);
      await using second = await good();
      const headersMs = 1_000;
      await using client = connect([silent.url, second.url], { deadlines: { headersMs } });
      const signal = AbortSignal.timeout(share * headersMs);
      await expect(ask(client, { signal })).rejects.toMatchObject({ reason: 'timeout' });
      expect(await ask(client)).toBe('{"fine":true}');
      expect(silent.requests).toHaveLength(1);
    },
  );

  test('the first one is used again after a request that was never sent to it', async () => {
    const gate = Promise.withResolvers<void>();
    await using first = await serve((_request, response) => {
      void gate.promise.then(() => response.end('{"fine":true}'));
    });
    await using second = await good();
    await using client = connect([first.url, second.url], { maxConcurrentRequests: 1 });
    const sent = ask(client);
    const waiting = ask(client, { signal: AbortSignal.timeout(20) });
    await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
    gate.resolve();
    await sent;
    expect(await ask(client)).toBe('{"fine":true}');
    expect([first.requests.length, second.requests.length]).toEqual([2, 0]);
  });

  test.each([
    ['a page of HTML', 200, '<html>maintenance</html>'],
    ['JSON of something else', 200, '{}'],
    ['a 404', 404, 'no such page'],
    ['a 500', 500, 'sick'],
  ])('the next poll begins at the next one after %s', async (_what, status, body) => {
    await using sick = await serve((_request, response) => {
      response.statusCode = status;
      response.end(body);
    });
    await using second = await serve((_request, response) => response.end('{"users":[]}'));
    await using client = connect([sick.url, second.url]);
    const shape = object({ username: string() });
    const poll = (): Promise<void> =>
      client.api.users(testStats(), { shape, onUser: () => undefined });
    await expect(poll()).rejects.toMatchObject({ message: expect.stringContaining('users') });
    for (let polls = 0; polls < 2; polls += 1) await poll();
    expect(sick.requests).toHaveLength(1);
  });

  test.each([401, 403])('the next request begins at the next one after a %d', async (status) => {
    await using first = await serve((_request, response) => response.writeHead(status).end());
    await using second = await good();
    await using client = connect([first.url, second.url]);
    await expect(ask(client)).rejects.toMatchObject({ status });
    expect(second.requests).toEqual([]);
    expect(await ask(client)).toBe('{"fine":true}');
  });

  test('a recovered URL is used again', async () => {
    const url = await refusing();
    await using second = await good();
    let now = 0;
    await using client = connect([url, second.url], {
      breakerOpenMs: 1_000,
      runningMs: () => now,
    });
    expect(await ask(client)).toBe('{"fine":true}');
    await using _first = await serve(
      (_request, response) => response.end('{"from":1}'),
      Number(new URL(url).port),
    );
    expect(await ask(client)).toBe('{"fine":true}');
    now = 1_000;
    expect(client.http.upstreams()[0]?.state).toBe('half_open');
    expect(await ask(client)).toBe('{"from":1}');
    expect(client.http.upstreams()[0]?.state).toBe('closed');
  });
});

describe('retries', () => {
  test('in a long outage at most one in ten requests', async () => {
    await using server = await serve((_request, response) => {
      response.statusCode = 429;
      response.end();
    });
    await using client = connect([server.url]);
    for (let poll = 0; poll < 200; poll += 1) {
      await expect(ask(client)).rejects.toMatchObject({ status: 429 });
    }
    expect(client.retried.length).toBeLessThanOrEqual(5 + 20);
    expect(client.retried.length).toBeGreaterThan(5);
  });

  test.each([1, 2, 4, 8])(
    'count when they are sent: %i parallel requests to a server that answers 503',
    async (parallel) => {
      await using server = await serve((_request, response) => response.writeHead(503).end());
      await using client = connect([server.url], { random: () => 0.5 });
      for (let poll = 0; poll < 3; poll += 1) {
        await Promise.allSettled(Array.from({ length: parallel }, () => ask(client)));
      }
      // Breakers keep some requests, and with them their retries, from being sent.
      const firsts = server.requests.length - client.retried.length;
      expect(firsts).toBeLessThanOrEqual(3 * parallel);
      expect(firsts).toBeGreaterThanOrEqual(Math.min(3, parallel));
      expect(client.finished).toHaveLength(server.requests.length);
    },
  );
});
