import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createNetServer, type Server, type Socket } from 'node:net';
import type { Listen, SimulatorOptions } from '../options.ts';

/** An open port; closing it closes every connection at once. */
export interface Listener {
  readonly url: string;
  close(): Promise<void>;
}

/** Go's server, unlike Node's, has no timeouts by default. */
const NO_TIME_LIMITS = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;

/** Listens with plain http or, with key and certificate, with https; plain http then goes to `onPlain`. */
export async function openListener(
  listen: Listen,
  tls: SimulatorOptions['tls'],
  onRequest: RequestListener,
  onPlain: RequestListener,
): Promise<Listener> {
  const server =
    tls === undefined
      ? createServer(NO_TIME_LIMITS, onRequest)
      : createDualServer(tls, onRequest, onPlain);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // Disconnecting clients are expected.
    socket.on('error', () => sockets.delete(socket));
  });
  await listening(server, listen);
  const { host } = listen;
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${shown}:${portOf(server)}`,
    close: () => closeAll(server, sockets),
  };
}

/** One port for http and https: the first byte distinguishes TLS from plain http. */
function createDualServer(
  tls: NonNullable<SimulatorOptions['tls']>,
  onRequest: RequestListener,
  onPlain: RequestListener,
): Server {
  const secure = createHttpsServer({ ...tls, ...NO_TIME_LIMITS }, onRequest);
  const plain: HttpServer = createServer(NO_TIME_LIMITS, onPlain);
  return createNetServer((socket) => {
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      socket.unshift(chunk);
      (chunk[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
}

function listening(server: Server, listen: Listen): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('the simulator does not listen on a TCP port');
  }
  return address.port;
}

async function closeAll(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const socket of sockets) socket.destroy();
  await closed;
}
