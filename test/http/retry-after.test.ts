import { describe, expect, test } from 'vitest';
import { ask, connect } from '../support/http-client.ts';
import { serve, type TestServer } from '../support/http-server.ts';

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
      expect(client.http.pausedMs()).toBe(0);
      client.http.endPause();
      expect(await ask(client, { ...SICK_ENDPOINT, path: '/fine/' })).toBe('{"fine":true}');
    },
  );

  test('is read with spaces around it', async () => {
    await using server = await pausing(429, ' 30 ');
    await using client = connect([server.url]);
    await expect(ask(client, SICK_ENDPOINT)).rejects.toMatchObject({ retryAfterSeconds: 30 });
  });

  test.each(['999999999', new Date(Date.now() + 1e12).toUTCString()])(
    'of %s applies for fifteen minutes',
    async (retryAfter) => {
      await using server = await pausing(429, retryAfter);
      let now = 0;
      await using client = connect([server.url], { monotonicMs: () => now });
      await expect(ask(client, { path: '/sick/' })).rejects.toMatchObject({ status: 429 });
      expect(client.http.pausedMs()).toBe(900_000);
      now = 890_000;
      await expect(ask(client)).rejects.toMatchObject({ status: 429 });
      now = 900_000;
      expect(await ask(client)).toBe('{"fine":true}');
      expect(client.http.pausedMs()).toBe(0);
    },
  );

  test('is not shortened by another answer', async () => {
    const held = Promise.withResolvers<void>();
    await using server = await serve((request, response) => {
      const isLong = request.url?.includes('/long/') === true;
      response.writeHead(429, { 'retry-after': isLong ? '600' : '10' });
      void (isLong ? Promise.resolve() : held.promise).then(() => response.end());
      response.flushHeaders();
    });
    await using client = connect([server.url], { monotonicMs: () => 0 });
    const short = ask(client, { path: '/short/' });
    await expect.poll(() => server.requests.length).toBe(1);
    await expect(ask(client, { path: '/long/' })).rejects.toMatchObject({ status: 429 });
    held.resolve();
    await expect(short).rejects.toMatchObject({ status: 429 });
    expect(client.http.pausedMs()).toBe(600_000);
  });

  test('can be ended', async () => {
    await using server = await pausing(429, '60');
    await using client = connect([server.url]);
    await expect(ask(client, { path: '/sick/' })).rejects.toMatchObject({ status: 429 });
    client.http.endPause();
    expect(await ask(client)).toBe('{"fine":true}');
  });
});
