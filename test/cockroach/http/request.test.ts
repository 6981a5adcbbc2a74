import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import type { HttpRequest, HttpResponse } from '../../../src/cockroach/http/request.ts';
import { pauseSeconds } from '../../../src/cockroach/http/retry-policy.ts';
import type { FinishedRequest } from '../../../src/metrics/exporter-metrics.ts';
import { createTestHttp, type TestHttpOptions, testStats } from '../../support/cluster.ts';
import { serve } from '../../support/http-server.ts';

/** Sends one request; resolves to what became of it and what was reported. */
async function send(
  url: string,
  request: Partial<HttpRequest> = {},
  options: Partial<TestHttpOptions> = {},
) {
  const finished: FinishedRequest[] = [];
  const urls = [url];
  const requestFinished = (one: FinishedRequest): unknown => finished.push(one);
  await using http = createTestHttp({ urls, requestFinished, ...options });
  const stats = testStats();
  const outcome: unknown = await http
    .send({
      endpoint: 'nodes',
      method: 'GET',
      path: '/nodes/?limit=1',
      stats,
      onChunks: () => undefined,
      onEnd: (response: HttpResponse) => response,
      ...request,
    })
    .catch((error: unknown) => error);
  return { outcome, finished, pages: stats.pages, bytes: stats.bytes };
}

/** The failure of a request to a server that answers with this status. */
async function refuse(headers: Readonly<Record<string, string>>, text = ''): Promise<RequestError> {
  await using server = await serve((_request, response) => {
    response.writeHead(500, headers).end(text);
  });
  const { outcome } = await send(server.url);
  if (outcome instanceof RequestError) return outcome;
  throw new Error('the request did not fail');
}

describe('a request', () => {
  test.each([
    ['', {}, {}, 'GET /nodes/?limit=1', { 'accept-encoding': 'identity' }, ''],
    ['/', {}, { compression: true }, 'GET /nodes/?limit=1', { 'accept-encoding': 'gzip' }, ''],
    [
      '/base/api/',
      { method: 'POST', body: 'a=b', headers: { accept: 'text/plain', x: 'y' } },
      { userAgent: 'me/1' },
      'POST /base/api/nodes/?limit=1',
      {
        'accept-encoding': 'identity',
        accept: 'text/plain',
        x: 'y',
        'user-agent': 'me/1',
        'content-length': '3',
      },
      'a=b',
    ],
  ] as const)(
    'to a URL with the path "%s"',
    async (path, request, options, line, headers, body) => {
      const seen: unknown[] = [];
      await using server = await serve((message, response) => {
        let text = '';
        message.on('data', (chunk) => {
          text += String(chunk);
        });
        message.on('end', () => {
          seen.push([`${message.method} ${message.url}`, message.headers, text]);
          response.end();
        });
      });
      await send(server.url + path, request, options);
      const always = { host: new URL(server.url).host, connection: 'keep-alive' };
      const usual = {
        accept: 'application/json',
        'cache-control': 'no-cache',
        'user-agent': 'test',
      };
      expect(seen).toEqual([[line, { ...always, ...usual, ...headers }, body]]);
    },
  );

  test('reports its end, and gets status and date of the answer, with its URL and times', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(202, { date: 'Thu, 01 Jan 1970 00:01:00 GMT' }).end('{"fine":true}');
    });
    const { host } = new URL(server.url);
    const head = {
      status: 202,
      url: host,
      urlIndex: 0,
      sentMs: 7,
      arrivedMs: 7,
      dateMs: 60_000,
      ageSeconds: 0,
      isProtobuf: false,
    };
    expect(await send(server.url, {}, { runningMs: () => 7 })).toEqual({
      outcome: head,
      finished: [
        { endpoint: 'nodes', code: 202, bytes: 13, dateMs: 60_000, seconds: expect.any(Number) },
      ],
      pages: 1,
      bytes: 13,
    });
  });

  test.each([
    ['3600', 3600],
    ['-1', 0],
    ['old', 0],
  ])('gets the age %s of a response that a cache has kept', async (age, ageSeconds) => {
    await using server = await serve((_request, response) =>
      response.writeHead(200, { age }).end('{}'),
    );
    expect((await send(server.url)).outcome).toMatchObject({ ageSeconds });
  });

  test('shows status and date before the body', async () => {
    await using server = await serve((_request, response) => response.end('{}'));
    const order: unknown[] = [];
    await send(server.url, {
      onHeaders: ({ status }) => order.push(status),
      onChunks: () => order.push('body'),
    });
    expect(order).toEqual([200, 'body']);
  });

  test('reports a failure, whose bytes are no data', async () => {
    await using server = await serve((_request, response) => response.writeHead(500).end('sick'));
    const { finished, pages, bytes } = await send(server.url);
    const seconds = expect.any(Number);
    expect(finished).toEqual([{ endpoint: 'nodes', code: 500, bytes: 0, seconds }]);
    expect([pages, bytes]).toEqual([0, 0]);
  });

  test.each(['', 'soon'])('has no date where the server sends "%s"', async (date) => {
    await using server = await serve((_request, response) => {
      response.sendDate = false;
      if (date !== '') response.setHeader('date', date);
      response.end();
    });
    expect((await send(server.url)).outcome).toMatchObject({ dateMs: undefined });
  });

  test.each([
    [undefined, 10, true],
    [undefined, 9, false],
    [10, 100, true],
    [9, 100, false],
    [100, 9, false],
  ])('for at most %j of %i bytes reads ten: %s', async (maxBytes, maxResponseBytes, isRead) => {
    await using server = await serve((_request, response) => response.end('0123456789'));
    const limit = maxBytes === undefined ? {} : { maxBytes };
    const { outcome, pages, bytes } = await send(server.url, limit, { maxResponseBytes });
    expect([pages, bytes]).toEqual(isRead ? [1, 10] : [0, 0]);
    if (isRead) return;
    const message = `nodes at ${new URL(server.url).host}: the response is larger than 9 bytes`;
    expect(outcome).toMatchObject({ reason: 'limit', message });
  });
});

describe('a refusal', () => {
  test.each([
    ['7', 7],
    ['0', 0],
    ['999999999', 120],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    // The old form of C ends in a number, that of ISO 8601 begins with one.
    ['Sun Nov  6 08:49:37 1994', 0],
    ['1994-11-06', 0],
    ['later', undefined],
    ['', undefined],
  ])('with Retry-After "%s" asks for %j seconds', async (text, seconds) => {
    expect(pauseSeconds(await refuse({ 'retry-after': text }))).toBe(seconds);
  });

  test('with the time in a minute as Retry-After asks for a minute at most', async () => {
    const { retryAfterSeconds } = await refuse({
      'retry-after': new Date(Date.now() + 60_000).toUTCString(),
    });
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(retryAfterSeconds).toBeGreaterThan(31);
  });

  test('with a time as Retry-After counts from the time of the server, whatever that of this host is', async () => {
    const { retryAfterSeconds } = await refuse({
      date: 'Sun, 06 Nov 1994 08:49:00 GMT',
      'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT',
    });
    expect(retryAfterSeconds).toBe(37);
  });

  test('without Retry-After asks for no pause', async () => {
    expect(pauseSeconds(await refuse({}))).toBeUndefined();
  });

  test.each([0, 1, 4_095, 4_096, 4_097, 300_000])(
    'keeps at most 4096 characters of a text of %i',
    async (length) => {
      const text = 'é'.repeat(length);
      expect((await refuse({}, text)).serverText).toBe(text.slice(0, 4_096));
    },
  );

  test('keeps the text that arrived before the connection broke', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(401).write('sick');
      setTimeout(() => response.destroy(), 20);
    });
    const { outcome } = await send(server.url);
    expect(outcome).toMatchObject({ status: 401, serverText: 'sick' });
  });

  test.each([
    ['br', false, 'identity'],
    ['br', true, 'gzip'],
    ['X-GZIP', false, 'identity'],
  ])('in %s with gzip requested: %s', async (encoding, compression, requested) => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end('x');
    });
    const { outcome } = await send(server.url, {}, { compression });
    const what = `nodes at ${new URL(server.url).host}`;
    expect(outcome).toMatchObject({
      reason: 'decode',
      message: `${what}: the content-encoding is not ${requested}, as requested`,
      remedy: 'look for a proxy that changes the content-encoding of responses',
    });
  });
});
