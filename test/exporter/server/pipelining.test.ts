import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Route, sendText } from '../../../src/exporter/routes/respond.ts';
import { until } from '../routes/orchard.ts';
import { serveRoutes } from './serve-routes.ts';

const METHODS = ['GET', 'POST'];

function connect(target: string | { readonly host: string; readonly port: number }) {
  const socket = typeof target === 'string' ? net.connect(target) : net.connect(target);
  onTestFinished(() => void socket.destroy());
  let received = '';
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  return { socket, received: () => received, isClosed: () => isClosed };
}

function get(path: string, header = 'X-Other: something'): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`;
}

/** A route whose responses are sent by the test. */
function controlled(): {
  readonly route: Route;
  readonly begun: string[];
  readonly answer: () => void;
} {
  const begun: string[] = [];
  const pending: (() => void)[] = [];
  return {
    begun,
    answer: () => pending.shift()?.(),
    route: {
      path: '/',
      methods: METHODS,
      handle(response) {
        const { url = '' } = response.req;
        begun.push(url);
        pending.push(() => sendText(response, 200, `answer to ${url}\n`));
      },
    },
  };
}

describe('a connection', () => {
  test('serves one request after the other, in pieces of any size and with bodies', async () => {
    const { route, begun, answer } = controlled();
    const client = connect(await serveRoutes([route]));
    const body = 'x'.repeat(200_000);
    const texts = [
      get('/?1', `X-Long: ${'y'.repeat(3_000)}`),
      `POST /?2 HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      get('/?3'),
    ];
    for (const [index, text] of texts.entries()) {
      for (const piece of text.match(/[^]{1,999}/g) ?? []) {
        client.socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await until(() => begun.length === index + 1);
      answer();
      await until(() => client.received().includes(`answer to /?${index + 1}\n`));
    }
    expect(begun).toEqual(['/?1', '/?2', '/?3']);
  });

  test.each(['X-Other: something', 'Expect: something'])(
    'is closed when it sends a second request with %s before the first is answered',
    async (header) => {
      const { route, begun } = controlled();
      const client = connect(await serveRoutes([route]));
      client.socket.write(get('/?1'));
      await until(() => begun.length === 1);
      client.socket.write(get('/?2', header));
      await until(client.isClosed);
      expect([begun, client.received()]).toEqual([['/?1'], '']);
    },
  );

  test('is closed when it sends two thousand requests at once, and one of them is handled', async () => {
    const { route, begun } = controlled();
    const client = connect(await serveRoutes([route]));
    client.socket.write(get('/').repeat(2_000));
    await until(client.isClosed);
    expect([begun, client.received()]).toEqual([['/'], '']);
  });
});
