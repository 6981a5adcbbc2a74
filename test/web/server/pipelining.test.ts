import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import net from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sendText } from '../../../src/web/respond.ts';
import type { Route } from '../../../src/web/server/app.ts';
import { startPolledOrchard, until } from '../orchard.ts';
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

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
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
      handle(request, response) {
        begun.push(request.url ?? '');
        pending.push(() => sendText(response, 200, `answer to ${request.url ?? ''}\n`));
      },
    },
  };
}

describe('requests sent without waiting for the responses', () => {
  test('are handled one at a time, in order', async () => {
    const { route, begun, answer } = controlled();
    const client = connect(await serveRoutes([route]));
    client.socket.write(['/?1', '/?2', '/?3', '/?4'].map(get).join(''));
    for (let count = 1; count <= 4; count += 1) {
      await until(() => begun.length === count);
      answer();
      await until(() => client.received().includes(`answer to /?${count}\n`));
    }
    expect(begun).toEqual(['/?1', '/?2', '/?3', '/?4']);
    client.socket.write(get('/?5'));
    await until(() => begun.length === 5);
  });

  test('may arrive in pieces of any size', async () => {
    const { route, begun, answer } = controlled();
    const client = connect(await serveRoutes([route]));
    const text = `GET /?1 HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(3_000)}\r\n\r\n${get('/?2')}`;
    for (const piece of text.match(/[^]{1,99}/g) ?? []) {
      client.socket.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let count = 1; count <= 2; count += 1) {
      await until(() => begun.length === count);
      answer();
    }
    await until(() => client.received().includes('answer to /?2\n'));
    expect(begun).toEqual(['/?1', '/?2']);
  });

  test('may have bodies', async () => {
    const { route, begun, answer } = controlled();
    const client = connect(await serveRoutes([route]));
    const body = 'x'.repeat(200_000);
    const post = `POST /?1 HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    client.socket.write(post + get('/?2'));
    await until(() => begun.length === 1);
    answer();
    await until(() => begun.length === 2);
    answer();
    await until(() => client.received().includes('answer to /?2\n'));
    expect(begun).toEqual(['/?1', '/?2']);
  });

  test.each([
    [9, false],
    [10, true],
  ])('%d at a time close the connection: %j', async (count, isClosed) => {
    const { route, begun, answer } = controlled();
    const client = connect(await serveRoutes([route]));
    client.socket.write(get('/').repeat(count));
    await until(() => begun.length === 1);
    // Not read before the others are answered.
    client.socket.write(get('/?later').repeat(5));
    if (isClosed) await until(client.isClosed);
    else {
      for (let done = 1; done <= count + 5; done += 1) {
        await until(() => begun.length === done);
        answer();
      }
      await until(() => client.received().split('answer to /?later\n').length === 6);
    }
    expect([client.isClosed(), client.received() === '']).toEqual([isClosed, isClosed]);
  });

  test('above the limit close the connection, and none of them is handled', async () => {
    const { route, begun } = controlled();
    const client = connect(await serveRoutes([route]));
    client.socket.write(get('/').repeat(2_000));
    await until(client.isClosed);
    expect(begun).toEqual(['/']);
    expect(client.received()).toBe('');
  });

  test('are not even parsed above the limit', async () => {
    const made: unknown[] = [];
    const count = (message: unknown): void => void made.push(message);
    const { route } = controlled();
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const client = connect(await serveRoutes([route]));
    client.socket.write(get('/').repeat(1_000));
    await until(client.isClosed);
    // One is handled, eight wait, and one is too many.
    expect(made).toHaveLength(10);
  });

  test.each(['Expect: something', 'X-Other: something'])(
    'above the limit close the connection with %s as well',
    async (header) => {
      const { route } = controlled();
      const client = connect(await serveRoutes([route]));
      client.socket.pause().write(`GET / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`.repeat(2_000));
      await new Promise((resolve) =>
        client.socket.once('error', resolve).once('end', resolve).resume(),
      );
      expect(client.received().match(/HTTP/g) ?? []).toEqual([]);
    },
  );

  test('are not handled for a client that has left', async () => {
    const { route, begun, answer } = controlled();
    const server = await serveRoutes([route]);
    const leaving = connect(server);
    leaving.socket.write(get('/?1') + get('/?2'));
    await until(() => begun.length === 1);
    leaving.socket.destroy();
    await until(leaving.isClosed);
    answer();
    const other = connect(server);
    other.socket.write(get('/?3'));
    await until(() => begun.length === 2);
    expect(begun).toEqual(['/?1', '/?3']);
  });

  test('do not delay other clients', async () => {
    const { url } = await startPolledOrchard();
    const { hostname: host, port } = new URL(url);
    const attackers = Array.from({ length: 5 }, () => connect({ host, port: Number(port) }));
    for (const { socket } of attackers) socket.pause().write(get('/').repeat(2_000));
    const healthy = connect({ host, port: Number(port) });
    healthy.socket.write(get('/-/healthy'));
    await until(() => healthy.received().includes('healthy\n'));
    for (const { socket } of attackers) socket.resume();
    await until(() => attackers.every(({ isClosed }) => isClosed()));
    const pages = attackers.flatMap(({ received }) => received().match(/HTTP\/1\.1 200 OK/g) ?? []);
    expect(pages.length).toBeLessThan(100);
  });
});
