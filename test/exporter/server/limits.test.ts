import { once } from 'node:events';
import { rename, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../config/folder.ts';
import { createAuthority } from '../../support/certificates.ts';
import { measureSlowness } from '../../support/slowness.ts';
import { fetchPath } from '../routes/fetch-path.ts';
import {
  manyTrees,
  type OrchardOptions,
  startOrchard,
  startPolledOrchard,
} from '../routes/orchard.ts';

/** A busy machine reads also the requests of honest clients late. */
const SLOWNESS = Math.ceil(measureSlowness());
const SHORT_TIMEOUTS = {
  headersMs: 400 * SLOWNESS,
  requestMs: 800 * SLOWNESS,
  checkMs: 20,
  sendMs: 60_000,
  sendAllMs: 60_000,
};

function connect(url: string): net.Socket {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  return socket.on('error', () => undefined);
}

/** However it ends: with a reset too. */
function ended(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on('close', () => resolve());
  });
}

/** Everything received until the server closes the connection. */
async function exchange(url: string, request: string): Promise<string> {
  const socket = connect(url);
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString();
  });
  socket.write(request);
  await ended(socket);
  return answer;
}

describe('slow clients', () => {
  test('two hundred that send a header byte by byte are disconnected and do not disturb scrapes', async () => {
    const { url } = await startPolledOrchard({ app: { timeouts: SHORT_TIMEOUTS } });
    const slow = Array.from({ length: 200 }, () => connect(url));
    const ends = slow.map(ended);
    const dripping = slow.map(async (socket) => {
      socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nX: ');
      while (!socket.destroyed) {
        socket.write('y');
        await sleep(10);
      }
    });
    while (slow.some((socket) => !socket.destroyed)) {
      expect((await fetchPath(url)).status).toBe(200);
    }
    await Promise.all([...ends, ...dripping]);
  });

  test('one that sends nothing is disconnected', async () => {
    const { url } = await startOrchard({ app: { timeouts: SHORT_TIMEOUTS } });
    expect(await exchange(url, '')).toMatch(/^(?:HTTP\/1\.1 408 Request Timeout\r\n|$)/);
  });

  test('one that never ends a request is disconnected', async () => {
    const { url } = await startOrchard({ app: { timeouts: SHORT_TIMEOUTS } });
    const answer = await exchange(
      url,
      'POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('one without a TLS handshake is disconnected', async () => {
    const authority = await createAuthority();
    const { cert, key } = await authority.issue({ name: 'exporter', sans: ['ip:127.0.0.1'] });
    const { url } = await startOrchard({
      webConfig: 'tls_server_config: { cert_file: server.crt, key_file: server.key }\n',
      files: { 'server.crt': cert, 'server.key': key },
      app: { timeouts: SHORT_TIMEOUTS },
    });
    expect(await exchange(url, '')).toBe('');
  });

  test('a connection may be idle between scrapes and is reused', async () => {
    const { url } = await startOrchard({ app: { timeouts: SHORT_TIMEOUTS } });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const sockets = new Set<unknown>();
    agent.on('free', (socket) => sockets.add(socket));
    for (let round = 0; round < 3; round += 1) {
      const { headers } = await fetchPath(url, '/-/healthy', { agent });
      // Prometheus keeps a connection between scrapes for this long.
      expect(headers['keep-alive']).toBe('timeout=90');
      await sleep(SHORT_TIMEOUTS.headersMs + SHORT_TIMEOUTS.checkMs);
    }
    expect(sockets.size).toBe(1);
  });
});

describe('oversized and malformed requests', () => {
  test('large headers are refused with 431, without detail', async () => {
    const { url } = await startOrchard();
    const answer = await exchange(
      url,
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
    );
    expect(answer).toBe(
      'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n',
    );
  });

  test('more than one Host header is refused with 400', async () => {
    const { url } = await startOrchard();
    const answer = await exchange(
      url,
      'GET /-/healthy HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('more than one Host header');
  });

  test('other protocols than HTTP are refused with 400, without detail', async () => {
    const { url } = await startOrchard();
    for (const request of ['marker\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', '\0\0\0\0\r\n\r\n']) {
      expect(await exchange(url, request)).toBe(
        'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n',
      );
    }
  });
});

/** A scrape whose response is not read. */
async function hold(url: string): Promise<http.IncomingMessage> {
  const request = http.get(`${url}/metrics`, { agent: false });
  const [response]: http.IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('no response');
  return response;
}

describe('--web.max-requests', () => {
  test('does not count scrapes whose clients read slowly', async () => {
    const { url } = await startPolledOrchard({
      collectors: [manyTrees(150_000)],
      flags: { 'web.max-requests': '2' },
    });
    const held = [await hold(url), await hold(url), await hold(url)];
    expect(held.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect((await fetchPath(url)).status).toBe(200);
    for (const response of held) response.destroy();
  });
});

function listenAt(socket: string): OrchardOptions {
  return { flags: { 'web.listen-address': [`unix:${socket}`] } };
}

describe('a unix socket', () => {
  test('is accessible to the user and the group', async () => {
    const socket = path.join(await makeFolder(), 'exporter.sock');
    await startOrchard(listenAt(socket));
    expect((await stat(socket)).mode & 0o777).toBe(0o660);
  });

  test('left behind by a dead process is replaced', async () => {
    const socket = path.join(await makeFolder(), 'exporter.sock');
    await leaveSocket(socket);
    const { url } = await startOrchard(listenAt(socket));
    expect((await fetchPath(url, '/-/healthy')).status).toBe(200);
  });

  test('used by another process is not replaced', async () => {
    const socket = path.join(await makeFolder(), 'exporter.sock');
    const { url } = await startOrchard(listenAt(socket));
    await expect(startOrchard(listenAt(socket))).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect((await fetchPath(url, '/-/healthy')).status).toBe(200);
  });

  test('does not replace a file', async () => {
    const file = path.join(await makeFolder(), 'precious');
    await writeFile(file, 'precious');
    await expect(startOrchard(listenAt(file))).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect((await stat(file)).size).toBe(8);
  });
});

/** A server moved its socket away, so that closing it cannot remove it. */
async function leaveSocket(file: string): Promise<void> {
  const server = net.createServer().listen(`${file}.first`);
  await once(server, 'listening');
  await rename(`${file}.first`, file);
  server.close();
  await once(server, 'close');
}
