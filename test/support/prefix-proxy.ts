import { once } from 'node:events';
import http from 'node:http';

/** A proxy that serves another server below a path, which it removes, and nothing else. */
export interface PrefixProxy extends AsyncDisposable {
  /** Ends with the path and a slash. */
  readonly url: string;
}

export async function serveBelow(prefix: string, target: string): Promise<PrefixProxy> {
  const server = http.createServer((request, response) => {
    const { url = '', method, headers } = request;
    if (!url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end();
      return;
    }
    const path = target + url.slice(prefix.length);
    const forwarded = http.request(path, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : '';
  return {
    url: `http://127.0.0.1:${port}${prefix}/`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
