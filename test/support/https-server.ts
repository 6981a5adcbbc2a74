import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import https, { type ServerOptions } from 'node:https';
import net from 'node:net';

/** A server that speaks TLS; what it was asked can be asked of it. */
export interface SecureServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly requests: IncomingMessage[];
}

export async function serveTls(
  options: ServerOptions,
  listener: RequestListener = (_request, response) => response.end('{"fine":true}'),
): Promise<SecureServer> {
  const requests: IncomingMessage[] = [];
  const server = https.createServer(options, (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A proxy that takes every host for 127.0.0.1; remembers the heads of what it was sent. */
export interface TestProxy extends AsyncDisposable {
  readonly url: string;
  readonly heads: string[];
}

/** Responds to each connection with the next status, the last one again and again. 0: it never responds. */
export async function serveProxy(...statuses: readonly number[]): Promise<TestProxy> {
  const heads: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    client.once('data', (chunk) => {
      const head = chunk.toString();
      heads.push(head);
      const [, method = '', port = ''] = /^(\S+) \S*?:(\d+)/.exec(head) ?? [];
      const status = statuses[heads.length - 1] ?? statuses.at(-1) ?? 200;
      if (status === 0) return;
      if (status !== 200) {
        client.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\n\r\n`);
        return;
      }
      const upstream = net.connect(Number(port), '127.0.0.1', () => {
        if (method === 'CONNECT') client.write('HTTP/1.1 200 Connected\r\n\r\n');
        else upstream.write(head.replace(/^(\S+) http:\/\/[^/]+/, '$1 '));
        client.pipe(upstream).pipe(client);
      });
      sockets.add(upstream);
      upstream.on('error', () => client.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    heads,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

function portOf(server: net.Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
