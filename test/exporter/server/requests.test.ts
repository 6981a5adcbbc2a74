import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Route, sendText } from '../../../src/exporter/routes/respond.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import { serveRoutes } from './serve-routes.ts';

const ROUTES: readonly Route[] = [
  { path: '/', handle: (response) => sendText(response, 200, 'done\n') },
  { path: '/post', methods: ['POST', 'PUT'], handle: () => undefined },
  {
    path: '/broken',
    handle() {
      throw new Error('secret');
    },
  },
  {
    path: '/half',
    handle(response) {
      response.writeHead(200, { 'content-length': 9 });
      response.write('half');
      throw new Error('secret');
    },
  },
];

async function start(): Promise<string> {
  return `unix:${await serveRoutes(ROUTES)}`;
}

/** What the server sends before it closes the connection. */
async function exchange(address: string, request: string): Promise<string> {
  const socket = net.connect(address.slice('unix:'.length));
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(request);
  await new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
  return received;
}

describe('a request', () => {
  test.each([
    [`/?${'x'.repeat(8_190)}`, 200, 'done\n'],
    [`/?${'x'.repeat(8_191)}`, 414, 'the URL is too long\n'],
    [`/?${'a&'.repeat(255)}a`, 200, 'done\n'],
    [`/?${'a&'.repeat(256)}a`, 400, 'the URL has too many parameters\n'],
    ['/post', 405, 'method not allowed\n'],
    ['/broken', 500, 'internal error; see the log\n'],
  ])('for %.20s… is answered with %i', async (path, status, text) => {
    expect(await fetchPath(await start(), path)).toMatchObject({ status, text });
  });

  test('that fails after its first bytes is cut off', async () => {
    const received = await exchange(await start(), 'GET /half HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(received).toMatch(/^$|half$/);
  });

  test.each([
    ['100-continue', 200],
    ['100-Continue', 200],
    ['x, 100-continue; y', 200],
    ['x100-continue', 417],
    ['100-continuex', 417],
    ['', 417],
  ])('that expects %j is answered with %i', async (expectation, status) => {
    const text = await exchange(
      await start(),
      `GET / HTTP/1.1\r\nHost: x\r\nExpect: ${expectation}\r\nConnection: close\r\n\r\n`,
    );
    const last = text.split('HTTP/1.1 ').at(-1) ?? '';
    expect(Number.parseInt(last, 10)).toBe(status);
    const body = status === 200 ? 'done\n' : 'the Expect header can only be 100-continue\n';
    expect(last.split('\r\n\r\n')[1]).toBe(body);
  });

  test('leaves its connection open for longer than the usual scrape interval', async () => {
    const { headers } = await fetchPath(await start(), '/', {
      headers: { connection: 'keep-alive' },
    });
    expect(headers['keep-alive']).toBe('timeout=90');
  });
});
