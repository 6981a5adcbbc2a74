import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ask, connect } from '../../support/http-client.ts';

interface Box extends AsyncDisposable {
  readonly url: string;
  /** Of all connections. */
  readonly counts: { connections: number; requests: number };
}

/** A box on the way that answers this many requests of a connection, and then ends it. */
async function forgetful(answers: number, end: (socket: Socket) => void): Promise<Box> {
  const counts = { connections: 0, requests: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    counts.connections += 1;
    sockets.add(socket);
    let left = answers;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      counts.requests += 1;
      left -= 1;
      if (left < 0) end(socket);
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

describe('a connection that is reset', () => {
  test.each<readonly [string, (socket: Socket) => void]>([
    ['reset', (socket) => socket.resetAndDestroy()],
    ['closed', (socket) => socket.end()],
  ])('(%s) before the second response costs a request nothing', async (_how, end) => {
    await using box = await forgetful(1, end);
    await using client = connect([box.url], { runningMs: () => 0 });
    for (let poll = 0; poll < 40; poll += 1) expect(await ask(client)).toBe('{}');
    for (let poll = 0; poll < 10; poll += 1) {
      const polls = Array.from({ length: 4 }, () => ask(client));
      expect(await Promise.all(polls)).toEqual(['{}', '{}', '{}', '{}']);
    }
    // It is shown as a retry, but the budget of five would have been spent.
    expect(client.retried.length).toBeGreaterThan(20);
    expect(client.http.upstreams()).toMatchObject([{ state: 'closed', lastFailure: undefined }]);
  });

  test('before the first response is a failure', async () => {
    await using box = await forgetful(0, (socket) => socket.resetAndDestroy());
    await using client = connect([box.url], { runningMs: () => 0 });
    await expect(ask(client)).rejects.toMatchObject({ reason: 'network' });
    expect(box.counts).toEqual({ connections: 3, requests: 3 });
  });

  test('is a failure for a request that changes something', async () => {
    await using box = await forgetful(1, (socket) => socket.resetAndDestroy());
    await using client = connect([box.url], { maxConcurrentRequests: 1 });
    await ask(client);
    const change = ask(client, { endpoint: 'login', method: 'POST' });
    await expect(change).rejects.toMatchObject({ reason: 'network' });
    expect(box.counts.requests).toBe(2);
  });

  test('on the way of a body is a failure', async () => {
    let isCut = false;
    await using box = await forgetful(1, (socket) => {
      isCut = true;
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{', () => socket.end());
    });
    await using client = connect([box.url], { maxConcurrentRequests: 1 });
    await ask(client);
    await expect(ask(client)).rejects.toMatchObject({ reason: 'network' });
    expect([isCut, box.counts.requests]).toEqual([true, 2]);
  });
});
