import { getEventListeners } from 'node:events';
import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { ask, connect } from '../../support/http-client.ts';
import { good, serve } from '../../support/http-server.ts';
import { serveTls } from '../../support/https-server.ts';

describe('bounds', () => {
  test('never more requests in flight than configured', async () => {
    await using server = await serve((_request, response) => {
      setTimeout(() => response.end('{}'), 10);
    });
    await using client = connect([server.url], { maxConcurrentRequests: 3 });
    await Promise.all(Array.from({ length: 20 }, () => ask(client)));
    expect(server.flight.most).toBe(3);
  });

  test('a request that waits for a slot gives up with its poll', async () => {
    await using server = await serve(() => undefined);
    await using client = connect([server.url], { maxConcurrentRequests: 1 });
    const stop = new AbortController();
    const holding = ask(client, { signal: stop.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    const waiting = ask(client, { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toThrow('nodes: waiting for a free slot');
    await expect(waiting).rejects.toMatchObject({
      remedy: expect.stringContaining('raise cluster_api.max_concurrent_requests'),
    });
    // Nothing but its own end has ended it: the slot is still held.
    expect(server.flight.now).toBe(1);
    stop.abort();
    await expect(holding).rejects.toMatchObject({ name: 'RequestError' });
    expect(server.requests).toHaveLength(1);
  });

  test.each([{ node: 3 }, { blames: 'endpoint' }, { blames: 'nobody' }] as const)(
    'requests that wait for other nodes leave a slot: %o',
    async (waiting) => {
      await using server = await serve((request, response) => {
        if (request.url?.endsWith('/nodes/') === true) response.end('{"fine":true}');
      });
      await using client = connect([server.url], { maxConcurrentRequests: 3 });
      const stop = new AbortController();
      const frozen = Array.from({ length: 4 }, () =>
        ask(client, { path: '/frozen/', signal: stop.signal, ...waiting }),
      );
      await expect.poll(() => server.flight.now).toBe(2);
      expect(await ask(client)).toBe('{"fine":true}');
      expect(server.flight.most).toBe(3);
      stop.abort();
      const ends = await Promise.allSettled(frozen);
      expect(ends.map(({ status }) => status)).toEqual(frozen.map(() => 'rejected'));
    },
  );

  test.each([1, 2])('of %d slots none is kept', async (slots) => {
    await using server = await serve(() => undefined);
    await using client = connect([server.url], { maxConcurrentRequests: slots });
    const stop = new AbortController();
    const frozen = Array.from({ length: slots }, () =>
      ask(client, { node: 3, signal: stop.signal }),
    );
    await expect.poll(() => server.flight.now).toBe(slots);
    stop.abort();
    await Promise.allSettled(frozen);
  });

  test('an answer without headers is cancelled', async () => {
    await using server = await serve(() => undefined);
    await using client = connect([server.url], { deadlines: { headersMs: 100 } });
    const late = { reason: 'timeout', message: expect.stringContaining('no headers within 0.1 s') };
    await expect(ask(client)).rejects.toMatchObject(late);
  });

  test('an answer that falls silent is cancelled', async () => {
    await using server = await serve((_request, response) => response.write('{'));
    await using client = connect([server.url], {
      deadlines: { idleMs: 100 },
    });
    const asked = ask(client);
    await expect(asked).rejects.toMatchObject({ reason: 'timeout' });
    await expect(asked).rejects.toThrow('no data for 0.1 s');
  });

  test('an answer below the minimum rate is cancelled', async () => {
    await using server = await serve((_request, response) => {
      const drip = (): void => {
        if (!response.destroyed) response.write(' ', () => setTimeout(drip, 10));
      };
      drip();
    });
    await using client = connect([server.url], {
      deadlines: { minBytesPerSecond: 10_000, rateGraceMs: 1_000, idleMs: 600 },
    });
    const asked = ask(client);
    await expect(asked).rejects.toMatchObject({ reason: 'timeout' });
    await expect(asked).rejects.toThrow('slower than 10000 bytes per second');
  });

  test('a broken compressed answer is a decode failure', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end('this is no gzip');
    });
    await using client = connect([server.url], { compression: true });
    await expect(ask(client)).rejects.toMatchObject({ reason: 'decode' });
  });

  test.each([
    ['gzip', false],
    ['x-gzip', false],
    ['br', true],
    ['deflate', true],
    ['gzip, gzip', true],
    [['gzip', 'gzip'], true],
    [['identity', 'gzip'], false],
  ])(
    'an answer in %s (gzip requested: %s) is refused without unpacking it',
    async (encoding, compression) => {
      await using server = await serve((_request, response) => {
        response.setHeader('content-encoding', encoding);
        response.end(gzipSync('x'.repeat(200_000)));
      });
      const bytes: number[] = [];
      await using client = connect([server.url], {
        compression,
        requestFinished: (finished) => bytes.push(finished.bytes),
      });
      const refused = { reason: 'decode', message: expect.stringContaining('content-encoding') };
      await expect(ask(client)).rejects.toMatchObject(refused);
      await expect(ask(client)).rejects.toMatchObject(refused);
      expect(bytes).toEqual([0, 0]);
    },
  );

  test('an answer with an empty encoding is plain', async () => {
    await using server = await serve((_request, response) => {
      response.setHeader('content-encoding', '');
      response.end('{"fine":true}');
    });
    await using client = connect([server.url]);
    expect(await ask(client)).toBe('{"fine":true}');
  });

  test('a refusal with a long text, or one that never ends, leaves nothing behind', async () => {
    await using server = await serve((request, response) => {
      response.statusCode = 418;
      response.write('x'.repeat(300_000));
      if (request.url?.includes('long') === true) response.end();
    });
    await using client = connect([server.url], { deadlines: { idleMs: 60_000 } });
    const { signal } = new AbortController();
    const refused = { reason: 'http', status: 418 };
    for (const path of ['/long/', '/endless/', '/long/']) {
      await expect(ask(client, { path, signal })).rejects.toMatchObject(refused);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    await using elsewhere = await good();
    await using server = await serve((_request, response) => {
      response.writeHead(307, { location: elsewhere.url });
      response.end();
    });
    await using client = connect([server.url]);
    const failure = { reason: 'http', status: 307, leadsToHttps: false };
    await expect(ask(client)).rejects.toMatchObject(failure);
    expect(elsewhere.requests).toEqual([]);
  });

  test.each([
    ['http', 'https://elsewhere.example/login', false],
    ['http', 'HTTPS://127.0.0.1/', true],
    ['http', '/login', false],
    ['http', 'https', false],
    ['http', 'https://[', false],
    ['https', 'https://127.0.0.1/', true],
    ['https', 'https://elsewhere.example/login', false],
    ['https', '/login', false],
  ] as const)(
    'a redirect of %s to %s leads to https: %s',
    async (scheme, location, leadsToHttps) => {
      const identity = await (await createAuthority()).issue({ name: 'x', sans: ['ip:127.0.0.1'] });
      const answer: RequestListener = (_request, response) => {
        response.writeHead(302, { location }).end();
      };
      await using server =
        scheme === 'http' ? await serve(answer) : await serveTls(identity, answer);
      await using client = connect([server.url], { tls: { rejectUnauthorized: false } });
      await expect(ask(client)).rejects.toMatchObject({ status: 302, leadsToHttps });
    },
  );
});
