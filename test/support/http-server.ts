import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

/** A server that answers as a test wants, and remembers what it was asked. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: string[];
  /** Requests being answered now, and the most at one time. */
  readonly flight: { now: number; most: number };
}

/** On a free port, unless one is given. */
export async function serve(listener: RequestListener, wishedPort = 0): Promise<TestServer> {
  const requests: string[] = [];
  const flight = { now: 0, most: 0 };
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '');
    flight.now += 1;
    flight.most = Math.max(flight.most, flight.now);
    response.on('close', () => {
      flight.now -= 1;
    });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(wishedPort, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    flight,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers everything with a small document. */
export function good(): Promise<TestServer> {
  return serve((_request, response) => response.end('{"fine":true}'));
}

/** The URL of a port on which nothing listens. */
export async function refusing(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

/** A port on which nothing listens, below those that a system gives to whoever wants any: it stays free. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
