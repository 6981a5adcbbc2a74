import { once } from 'node:events';
import { chmod, stat, unlink } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import { connect, type ListenOptions, Server as NetServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendText } from '../routes/respond.ts';
import { createApp, SERVER_TIMEOUTS, type WebServerOptions } from './app.ts';
import { Connections } from './connections.ts';
import { createLineLimit } from './line-limit.ts';
import { PasswordThread } from './login.ts';
import { createRefusals, type RefuseClient } from './refusals.ts';

// An import would read each member of the module, and WebSocket loads 2 MiB of Node.js that nothing here uses.
const http = process.getBuiltinModule('node:http');

/** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
const KEEP_ALIVE_MS = 90_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** The user and the group may connect. */
const SOCKET_MODE = 0o660;

/** A running web server. */
export interface WebServer {
  /** The bound addresses, as URLs or `unix:` paths. */
  readonly addresses: readonly string[];
  /** Takes no new requests and lets the running ones end, but no longer than `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
}

/** Listens on every address, or on none: rejects with the system's error of the first that fails. */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { web, webConfig, sockets = [], tlsRefused, monotonicMs, log } = options;
  const threads = [new PasswordThread(), new PasswordThread()] as const;
  const app = createApp(options, threads[0].compare, threads[1].compare);
  const onDropped = countDrops(options);
  const refuse = createRefusals(tlsRefused, monotonicMs, log);
  const scheme = webConfig.current().config.tls === undefined ? 'http' : 'https';
  const listeners: { readonly server: Server; readonly connections: Connections }[] = [];
  const close = async (graceMs: number): Promise<void> => {
    webConfig[Symbol.dispose]();
    await Promise.all(
      listeners.map(({ server, connections }) => closeServer(server, connections, graceMs)),
    );
    for (const thread of threads) await thread[Symbol.asyncDispose]();
  };
  const inherited = sockets.map((fd) => ({ fd }));
  try {
    for (const address of inherited.length > 0 ? inherited : web.listen_address) {
      const connections = new Connections(onDropped);
      const server = await createServer(options, app, connections, refuse);
      await bind(server, address);
      listeners.push({ server, connections });
    }
  } catch (error) {
    await close(0);
    throw error;
  }
  return { addresses: listeners.map(({ server }) => describeAddress(server, scheme)), close };
}

/** Counts dropped connections, and logs them at most once a minute. */
function countDrops({ connectionDropped, monotonicMs, log }: WebServerOptions): () => void {
  const isLineDue = createLineLimit(monotonicMs);
  return () => {
    connectionDropped();
    if (!isLineDue('dropped')) return;
    log.warn(
      'too many open connections: those without a request for the longest time are closed; restrict who can reach the port, and see crdb_exporter_web_connections_dropped_total',
    );
  };
}

async function createServer(
  { webConfig, timeouts = SERVER_TIMEOUTS }: WebServerOptions,
  app: RequestListener,
  connections: Connections,
  refuse: RefuseClient,
): Promise<Server> {
  const server = http.createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkMs,
  });
  const { tls } = webConfig.current().config;
  if (tls) {
    // Loaded only where TLS is served.
    const { serveTls } = await import('./tls.ts');
    serveTls(server, { tls, webConfig, connections, handshakeMs: timeouts.headersMs, refuse });
  }
  server.on('request', connections.handle(app));
  server.on('checkExpectation', connections.handle(refuseExpectation));
  server.on('connection', (socket) => connections.add(socket));
  return server;
}

const refuseExpectation: RequestListener = (_request, response) =>
  sendText(response, 417, 'the Expect header can only be 100-continue\n');

/** Listens on an address, or with the descriptor of a socket that is already listening. */
async function bind(server: Server, address: ListenOptions & { fd?: number }): Promise<void> {
  const { path } = address;
  const listen = async (): Promise<void> => {
    server.listen(address);
    await once(server, 'listening');
  };
  try {
    await listen();
  } catch (error) {
    if (path === undefined || !(await isStale(path))) throw error;
    await unlink(path);
    await listen();
  }
  if (path !== undefined) await chmod(path, SOCKET_MODE);
}

/** Whether a socket was left behind by a process that ended without removing it. */
async function isStale(path: string): Promise<boolean> {
  // Its folder may be missing: that listening failed says more.
  const found = await stat(path).catch(() => undefined);
  if (!found?.isSocket()) return false;
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

/** Describes an address as a URL or a `unix:` path; port 0 has become a number. */
function describeAddress(server: Server, scheme: string): string {
  const address = server.address();
  if (address === null) return 'closed';
  if (typeof address === 'string') return `unix:${address}`;
  const isAny = address.address === '::' || address.address === '0.0.0.0';
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${isAny ? 'localhost' : host}:${address.port}`;
}

/** No new connections; running responses may end within `graceMs`, then everything is cut off. */
async function closeServer(server: Server, connections: Connections, graceMs: number) {
  const closed = once(server, 'close');
  // The server's own close() takes a response that is written but not yet sent for an idle connection.
  NetServer.prototype.close.call(server);
  connections.closeAll();
  await Promise.race([connections.responsesClosed(), sleep(graceMs, undefined, { ref: false })]);
  connections.destroyAll();
  server.close();
  await closed;
}
