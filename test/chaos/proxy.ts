import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the network between the exporter and one address does. */
export type Weather =
  | { readonly kind: 'fine' }
  /** Every chunk arrives so much later, both ways. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Every connection, old and new, is torn down. */
  | { readonly kind: 'reset' }
  /** Connections are accepted and nothing gets through until the weather changes. */
  | { readonly kind: 'black-hole' }
  /** A connection ends after so many bytes of answers. */
  | { readonly kind: 'truncate'; readonly bytes: number };

/** A TCP proxy before one address. */
export interface Proxy extends AsyncDisposable {
  readonly url: string;
  setWeather(weather: Weather): void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly gone: AbortController;
}

/** Listens on a free port and hands everything on to the address of `url`; `onAnswer` sees what comes back. */
export async function openProxy(url: string, onAnswer: (chunk: Buffer) => void): Promise<Proxy> {
  const target = new URL(url);
  const pairs = new Set<Pair>();
  let weather: Weather = { kind: 'fine' };
  let changed = Promise.withResolvers<void>();

  async function relay(pair: Pair, isAnswer: boolean): Promise<void> {
    const [from, to] = isAnswer ? [pair.server, pair.client] : [pair.client, pair.server];
    let bytes = 0;
    for await (const chunk of from) {
      if (weather.kind === 'delay') await sleep(weather.ms, undefined, pair.gone);
      while (weather.kind === 'black-hole') await Promise.race([changed.promise, ended(pair)]);
      if (isAnswer) onAnswer(chunk);
      bytes += chunk.length;
      if (isAnswer && weather.kind === 'truncate' && bytes > weather.bytes) {
        to.end(chunk.subarray(0, weather.bytes));
        return;
      }
      to.write(chunk);
    }
    to.end();
  }

  const listener = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    const pair = { client, server, gone: new AbortController() };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      pair.gone.abort();
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('close', end).on('error', end);
    if (weather.kind === 'reset') client.resetAndDestroy();
    // What rejects is a connection that somebody has ended: that is what this is for.
    for (const isAnswer of [true, false]) relay(pair, isAnswer).catch(end);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    setWeather(next) {
      weather = next;
      if (next.kind === 'reset') for (const { client } of pairs) client.resetAndDestroy();
      changed.resolve();
      changed = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      await once(listener, 'close');
    },
  };
}

/** Rejects when the connection is over. */
function ended({ gone }: Pair): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (gone.signal.aborted) reject(gone.signal.reason);
    gone.signal.addEventListener('abort', () => reject(gone.signal.reason), { once: true });
  });
}
