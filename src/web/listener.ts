import { once } from 'node:events';
import { chmod, stat, unlink } from 'node:fs/promises';
import http, { type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';
import { secureContextOptions, type ServerTls } from '../config/server-tls.ts';
import type { Log } from '../log.ts';
import { isClientAdmitted } from './client-certificate.ts';
import { closeServer } from './closing.ts';
import { Connections } from './connections.ts';
import { parseInSlices } from './parsing.ts';
import { handleInTurn } from './pipelining.ts';

/** As configured, or the descriptor of a socket that listens already. */
type ListenAddress = Config['web']['listen_address'][number] | { readonly fd: number };

/** How long others may be slow, in ms. */
export interface Patience {
  /** From the connection to the end of the headers of a request. */
  readonly headersMs: number;
  /** To the end of a request. */
  readonly requestMs: number;
  /** How often these two are looked at. */
  readonly checkMs: number;
  /** From the end of an answer's preparation until the client has taken it. */
  readonly sendMs: number;
}

export const PATIENCE: Patience = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 5_000,
  sendMs: 60_000,
};

const LIMITS = {
  /** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
  keepAliveTimeout: 90_000,
  maxHeaderSize: 16 * 1024,
};
const MOST_HEADERS = 100;
const MAX_CONNECTIONS = 1_000;
/** The user and the group may connect. */
const SOCKET_MODE = 0o660;

export interface ListenerOptions {
  readonly address: ListenAddress;
  readonly handler: RequestListener;
  /** The settings at present; plain text without. */
  readonly tls: () => ServerTls | undefined;
  readonly onNewTls: (listener: (tls: ServerTls) => void) => void;
  readonly patience: Patience;
  /** A connection was refused or closed because too many were open. */
  readonly onDropped: () => void;
  readonly log: Log;
}

/** Listens on one address. */
export interface Listener {
  /** What is really listened on: a URL or a `unix:` path; port 0 has become a number. */
  readonly address: string;
  /** No new connections; answers under way may end within `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Rejects with the system's error when the address cannot be had. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { address, patience, handler, tls, onDropped } = options;
  const connections = new Connections({ maxOpen: MAX_CONNECTIONS, onDropped });
  const limits = {
    ...LIMITS,
    headersTimeout: patience.headersMs,
    requestTimeout: patience.requestMs,
    connectionsCheckingInterval: patience.checkMs,
  };
  const server =
    tls() === undefined ? http.createServer(limits) : createTlsServer(options, limits, connections);
  const handleOne = handleInTurn(handler, connections);
  server.on('request', handleOne);
  // Node would answer these itself, as many as come.
  server.on('checkExpectation', handleOne);
  server.maxHeadersCount = MOST_HEADERS;
  server.on('connection', (socket) => connections.add(socket));
  server.on(tls() === undefined ? 'connection' : 'secureConnection', parseInSlices);
  await bind(server, address);
  return {
    address: describeAddress(server, tls() === undefined ? 'http' : 'https'),
    close: (graceMs) => closeServer(server, connections, graceMs),
  };
}

function createTlsServer(
  { tls, onNewTls, patience, log }: ListenerOptions,
  limits: http.ServerOptions,
  connections: Connections,
): Server {
  const current = (): ServerTls => {
    const settings = tls();
    if (settings === undefined) throw new Error('TLS cannot be turned off while listening');
    return settings;
  };
  const server = https.createServer({
    ...limits,
    ...secureContextOptions(current()),
    handshakeTimeout: patience.headersMs,
    requestCert: current().clientAuth.asks,
    // What a certificate must be is decided below, by the settings of the moment.
    rejectUnauthorized: false,
  });
  server.prependListener('secureConnection', (socket) => {
    if (!isAdmitted(socket, current(), log)) socket.destroy();
  });
  server.on('tlsClientError', ({ message }) => log.debug({ reason: message }, 'no TLS handshake'));
  let rules = clientRules(current());
  onNewTls((settings) => {
    server.setSecureContext(secureContextOptions(settings));
    const before = rules;
    rules = clientRules(settings);
    // Their certificates were accepted by the old settings, and may be revoked by the new ones.
    if (settings.clientAuth.asks && !isDeepStrictEqual(before, rules)) connections.endAll();
  });
  return server;
}

/** What decides which clients are admitted. */
function clientRules({ clientAuth, clientCas, allowedSans }: ServerTls): Partial<ServerTls> {
  return { clientAuth, clientCas, allowedSans };
}

/** A certificate that cannot be examined costs its own connection, not the process. */
function isAdmitted(socket: TLSSocket, settings: ServerTls, log: Log): boolean {
  try {
    if (isClientAdmitted(socket, settings)) return true;
    log.debug('a client was refused: its certificate is missing or not accepted');
  } catch (error) {
    log.debug({ err: error }, 'a client was refused: its certificate cannot be examined');
  }
  return false;
}

async function bind(server: Server, address: ListenAddress): Promise<void> {
  try {
    await listenOn(server, address);
  } catch (error) {
    if (!('path' in address) || !(await isStale(address.path))) throw error;
    await unlink(address.path);
    await listenOn(server, address);
  }
  if ('path' in address) await chmod(address.path, SOCKET_MODE);
}

async function listenOn(server: Server, address: ListenAddress): Promise<void> {
  server.listen(address);
  await once(server, 'listening');
}

/** Whether a socket was left behind by a process that ended without removing it. */
async function isStale(path: string): Promise<boolean> {
  if (!(await stat(path)).isSocket()) return false;
  const socket = net.connect(path);
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

function describeAddress(server: Server, scheme: 'http' | 'https'): string {
  const address: AddressInfo | string | null = server.address();
  if (address === null) return 'closed';
  if (typeof address === 'string') return `unix:${address}`;
  const isAny = address.address === '::' || address.address === '0.0.0.0';
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${isAny ? 'localhost' : host}:${address.port}`;
}
