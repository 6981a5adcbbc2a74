import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';

/** What the network between the exporter and one address does. */
export type Weather =
  | { readonly kind: 'fine' }
  /** Every connection, old and new, is torn down. */
  | { readonly kind: 'reset' }
  /** Connections are accepted and nothing gets through until the weather changes. */
  | { readonly kind: 'black-hole' }
  /** A connection ends after this many bytes of responses. */
  | { readonly kind: 'truncate'; readonly bytes: number };

/** A TCP proxy before one address. */
export interface Proxy extends AsyncDisposable {
  readonly url: string;
  setWeather(weather: Weather): void;
}

/** Listens on a free port and passes everything on to the address of `url`; `onResponse` sees what comes back. */
export async function openProxy(url: string, onResponse: (chunk: Buffer) => void): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let weather: Weather = { kind: 'fine' };

  const listener = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    for (const socket of [client, server]) {
      sockets.add(socket);
      const end = (): void => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      };
      socket.on('close', end).on('error', end);
    }
    client.on('data', (chunk) => server.write(chunk)).on('end', () => server.end());
    let bytes = 0;
    server.on('data', (chunk: Buffer) => {
      onResponse(chunk);
      bytes += chunk.length;
      if (weather.kind === 'truncate' && bytes > weather.bytes) {
        client.end(chunk.subarray(0, weather.bytes));
      } else if (!client.writableEnded) client.write(chunk);
    });
    server.on('end', () => client.end());
    if (weather.kind === 'reset') client.resetAndDestroy();
    if (weather.kind === 'black-hole') for (const socket of [client, server]) socket.pause();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    setWeather(next) {
      weather = next;
      for (const socket of sockets) {
        if (next.kind === 'reset') socket.resetAndDestroy();
        else if (next.kind === 'black-hole') socket.pause();
        else socket.resume();
      }
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}
