import { describe, expect, test } from 'vitest';
import { ask, connect } from '../../support/http-client.ts';
import { serve, type TestServer } from '../../support/http-server.ts';

/** Refuses `/sick/` with this status and a Retry-After, answers everything else. */
function pausing(status: number, retryAfter: string): Promise<TestServer> {
  return serve((request, response) => {
    const isSick = request.url?.includes('/sick/') === true;
    if (isSick) response.setHeader('retry-after', retryAfter);
    response.statusCode = isSick ? status : 200;
    response.end('{"fine":true}');
  });
}

const SICK_ENDPOINT = { endpoint: 'sessions', path: '/sick/' } as const;
const SICK_NODE = { endpoint: 'node_ranges', path: '/sick/2', node: 2 } as const;

describe('Retry-After', () => {
  test.each([401, 403, 404, 501])('with a %d delays no other request', async (status) => {
    await using server = await pausing(status, '60');
    await using client = connect([server.url]);
    await expect(ask(client, { path: '/sick/' })).rejects.toMatchObject({ status });
    expect(client.http.pausedMs()).toBe(0);
    expect(await ask(client)).toBe('{"fine":true}');
  });

  test.each(['30', new Date(Date.now() + 60_000).toUTCString()])(
    'with a 429 (%s) applies to all requests',
    async (retryAfter) => {
      await using server = await pausing(429, retryAfter);
      await using client = connect([server.url]);
      await expect(ask(client, SICK_NODE)).rejects.toMatchObject({ status: 429 });
      for (let poll = 0; poll < 3; poll += 1) {
        await expect(ask(client)).rejects.toMatchObject({ reason: 'http', status: 429 });
      }
      expect(server.requests).toHaveLength(1);
      expect(client.http.pausedMs()).toBeGreaterThan(0);
    },
  );

  test.each([301, 400, 500, 502, 503, 504])(
    'with a %d applies to requests for the same node or endpoint',
    async (status) => {
      await using server = await pausing(status, '30');
      await using client = connect([server.url]);
      for (const sick of [SICK_NODE, SICK_ENDPOINT]) {
        const before = server.requests.length;
        for (let poll = 0; poll < 3; poll += 1) {
          await expect(ask(client, sick)).rejects.toMatchObject({ reason: 'http', status });
        }
        expect(server.requests).toHaveLength(before + 1);
      }
      expect(await ask(client)).toBe('{"fine":true}');
      expect(await ask(client, { ...SICK_NODE, path: '/fine/', node: 3 })).toBe('{"fine":true}');
      const pausedMs = client.http.pausedMs();
      expect(pausedMs).toBeGreaterThan(20_000);
      expect(pausedMs).toBeLessThanOrEqual(30_000);
    },
  );

  test.each(['999999999', new Date(Date.now() + 1e12).toUTCString()])(
    'of %s applies for two minutes',
    async (retryAfter) => {
      await using server = await pausing(429, retryAfter);
      let now = 0;
      await using client = connect([server.url], { runningMs: () => now });
      await expect(ask(client, { path: '/sick/' })).rejects.toMatchObject({ status: 429 });
      expect(client.http.pausedMs()).toBe(120_000);
      now = 110_000;
      await expect(ask(client)).rejects.toMatchObject({ status: 429 });
      now = 120_000;
      expect(await ask(client)).toBe('{"fine":true}');
      expect(client.http.pausedMs()).toBe(0);
    },
  );

  test('is not shortened by another answer', async () => {
    const held = Promise.withResolvers<void>();
    await using server = await serve((request, response) => {
      const isLong = request.url?.includes('/long/') === true;
      response.writeHead(429, { 'retry-after': isLong ? '100' : '10' });
      void (isLong ? Promise.resolve() : held.promise).then(() => response.end());
      response.flushHeaders();
    });
    await using client = connect([server.url], { runningMs: () => 0 });
    const short = ask(client, { path: '/short/' });
    await expect.poll(() => server.requests.length).toBe(1);
    await expect(ask(client, { path: '/long/' })).rejects.toMatchObject({ status: 429 });
    held.resolve();
    await expect(short).rejects.toMatchObject({ status: 429 });
    expect(client.http.pausedMs()).toBe(100_000);
  });

  test('is followed by one trial, for which all others wait', async () => {
    let isSick = true;
    const gate = Promise.withResolvers<void>();
    await using server = await serve((_request, response) => {
      if (isSick) response.writeHead(429, { 'retry-after': '3600' }).end();
      else void gate.promise.then(() => response.end('{"fine":true}'));
    });
    let now = 0;
    await using client = connect([server.url], { runningMs: () => now });
    await expect(ask(client)).rejects.toMatchObject({ status: 429 });
    now = 120_000;
    isSick = false;
    const asked = [ask(client), ask(client, SICK_ENDPOINT), ask(client, SICK_NODE)];
    await expect.poll(() => server.requests.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests).toHaveLength(2);
    gate.resolve();
    expect(await Promise.all(asked)).toHaveLength(3);
  });

  test('of a trial begins the next pause, with one request in two minutes', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(429, { 'retry-after': '3600' }).end();
    });
    let now = 0;
    await using client = connect([server.url], { runningMs: () => now });
    for (now = 0; now < 600_000; now += 10_000) {
      await Promise.allSettled([ask(client), ask(client, SICK_ENDPOINT)]);
    }
    expect(server.requests.length).toBeGreaterThanOrEqual(5);
    expect(server.requests.length).toBeLessThanOrEqual(6);
  });

  test('that is short is waited out by others, too', async () => {
    let isSick = true;
    await using server = await serve((_request, response) => {
      if (isSick) response.writeHead(429, { 'retry-after': '1' });
      isSick = false;
      response.end('{"fine":true}');
    });
    await using client = connect([server.url]);
    const first = ask(client);
    await expect.poll(() => client.http.pausedMs()).toBeGreaterThan(0);
    expect(await ask(client, SICK_NODE)).toBe('{"fine":true}');
    expect(await first).toBe('{"fine":true}');
  });

  test.each(Array.from({ length: 12 }, (_, looks) => looks))(
    'may end while a request is prepared, after %i looks at the clock',
    async (looks) => {
      await using server = await pausing(429, '60');
      let [left, isEnding] = [looks, false];
      const runningMs = (): number => {
        if (!isEnding) return 0;
        left -= 1;
        return left >= 0 ? 59_999 : 60_000;
      };
      await using client = connect([server.url], { runningMs });
      await expect(ask(client, SICK_NODE)).rejects.toMatchObject({ status: 429 });
      isEnding = true;
      expect(await ask(client)).toBe('{"fine":true}');
    },
  );
});

describe('Retry-After of one of several URLs', () => {
  test.each([429, 503])('with a %d pauses that URL alone, in the same call', async (status) => {
    await using sick = await serve((_request, response) => {
      response.writeHead(status, { 'retry-after': '3600' }).end();
    });
    await using good = await pausing(200, '1');
    let now = 0;
    await using client = connect([sick.url, good.url], { runningMs: () => now });
    for (let poll = 0; poll < 3; poll += 1) {
      expect(await ask(client)).toBe('{"fine":true}');
      expect(await ask(client, { ...SICK_NODE, firstUrl: 0 })).toBe('{"fine":true}');
      expect(await ask(client, { endpoint: 'login', method: 'POST' })).toBe('{"fine":true}');
    }
    expect(sick.requests).toHaveLength(1);
    expect(client.http.upstreams()).toMatchObject([
      { state: 'open', lastFailure: { status } },
      { state: 'closed' },
    ]);
    expect(client.http.pausedMs()).toBe(0);
    now = 120_000;
    expect(await ask(client)).toBe('{"fine":true}');
    expect(sick.requests).toHaveLength(2);
  });

  test('with a 503 from all pauses the endpoint alone, for the shortest of them', async () => {
    await using first = await pausing(503, '3600');
    await using second = await pausing(503, '60');
    await using client = connect([first.url, second.url], { runningMs: () => 0 });
    await expect(ask(client, SICK_NODE)).rejects.toMatchObject({ status: 503 });
    await expect(ask(client, SICK_ENDPOINT)).rejects.toMatchObject({ status: 503 });
    expect(client.http.pausedMs()).toBe(60_000);
    await expect(ask(client, SICK_ENDPOINT)).rejects.toMatchObject({ status: 503 });
    expect(await ask(client)).toBe('{"fine":true}');
    expect([first.requests.length, second.requests.length]).toEqual([3, 2]);
  });

  test('with a 429 from all lasts as long as the shortest', async () => {
    await using first = await pausing(429, '100');
    await using second = await pausing(429, '30');
    await using client = connect([first.url, second.url], { runningMs: () => 0 });
    await expect(ask(client, SICK_ENDPOINT)).rejects.toMatchObject({ status: 429 });
    expect(client.http.pausedMs()).toBe(30_000);
    // A poll fails for the pause, and is not skipped as if the URLs were down.
    expect(client.http.failedMs()).toBe(0);
    await expect(ask(client)).rejects.toMatchObject({ reason: 'http', status: 429 });
    expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  });

  test('is not ended by a response to an earlier request', async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await serve((request, response) => {
      if (request.url?.includes('/late/') === true) {
        void gate.promise.then(() => response.end('{"fine":true}'));
      } else response.writeHead(429, { 'retry-after': '3600' }).end();
    });
    await using client = connect([server.url], { runningMs: () => 1 });
    const late = ask(client, { path: '/late/' });
    await expect.poll(() => server.requests.length).toBe(1);
    await expect(ask(client)).rejects.toMatchObject({ status: 429 });
    gate.resolve();
    expect(await late).toBe('{"fine":true}');
    expect(client.http.pausedMs()).toBe(120_000);
  });
});
