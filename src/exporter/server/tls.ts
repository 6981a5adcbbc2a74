import type { Server } from 'node:http';
import { isIPv6, type Socket, SocketAddress } from 'node:net';
import tls, { type SecureContext, type TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { codeOf } from '#cockroach';
import type { ServerTls } from '#config';
import type { Connections } from './connections.ts';
import { type RefuseClient, sendRefusal } from './refusals.ts';
import type { WebConfigWatcher } from './web-config-watcher.ts';

/** Types of names that rules for clients can name. */
const COMPARED_TYPES: ReadonlySet<string> = new Set(['DNS', 'email', 'URI', 'IP Address']);
/** What OpenSSL finds wrong with a certificate that no CA of the file has issued. */
const UNKNOWN_CA =
  /^(?:UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED)/;
const EXPIRED = /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/;

/** How a server admits clients. */
interface TlsServerOptions {
  readonly tls: ServerTls;
  readonly webConfig: WebConfigWatcher;
  readonly connections: Connections;
  /** How long a client may take to its first byte and to the end of the handshake, and then to its first request. */
  readonly handshakeMs: number;
  readonly refuse: RefuseClient;
}

/**
 * Makes an HTTP server speak TLS. Its certificate, CAs and rules for clients follow the web config file. A client without
 * TLS, or whose certificate is not accepted, is told the reason before any of its request is read.
 */
export function serveTls(server: Server, options: TlsServerOptions): void {
  const { webConfig, connections, handshakeMs, refuse } = options;
  let settings = options.tls;
  const handshakes = tls.createServer({
    ...settings.context(),
    handshakeTimeout: handshakeMs,
    requestCert: settings.clientAuth.requested,
    // Certificates are checked below, by the present settings.
    rejectUnauthorized: false,
  });
  trustIntermediates(handshakes, settings);
  handshakes.on('tlsClientError', (error, socket) => {
    // A client that only leaves, as a probe of the port does, is not refused.
    if (codeOf(error) !== 'ECONNRESET') refuse('other', socket, error.message);
  });
  webConfig.onReload(({ config: { tls: changed } }) => {
    if (changed === undefined) return;
    handshakes.setSecureContext(changed.context());
    trustIntermediates(handshakes, changed);
    const isSame = isDeepStrictEqual(clientRules(settings), clientRules(changed));
    settings = changed;
    // The certificates of open connections were accepted by the old settings, and may be revoked by the new ones.
    if (changed.clientAuth.requested && !isSame) connections.closeAll();
  });
  // The server's own listener, which reads requests, gets a connection only after its handshake.
  const readers = server.rawListeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    onFirstByte(socket, handshakeMs, (byte) => {
      if (isLetter(byte)) sendRefusal(socket, refuse('plain_http', socket));
      else handshakes.emit('connection', socket);
    });
  });
  handshakes.on('secureConnection', (socket) => {
    const fault = findFault(socket, settings);
    if (fault === undefined) {
      for (const read of readers) Reflect.apply(read, server, [socket]);
      return;
    }
    const refusal = refuse(fault.reason, socket, fault.detail);
    onFirstByte(socket, handshakeMs, () => sendRefusal(socket, refusal));
  });
}

/**
 * Makes the CAs of clients trusted as they are, also one whose issuer is not in the file, as Go and curl do. Node.js passes
 * this option to clients only, and keeps the context of a server under this name.
 */
function trustIntermediates(
  server: tls.Server & { readonly _sharedCreds?: SecureContext },
  { clientCas }: ServerTls,
): void {
  if (clientCas !== undefined) server._sharedCreds?.context.setAllowPartialTrustChain();
}

/** Calls back when a connection has sent something, which stays unread. Closes it when nothing arrives in time. */
function onFirstByte(socket: Socket, withinMs: number, handle: (byte: number) => void): void {
  const timer = setTimeout(() => socket.destroy(), withinMs);
  socket.on('error', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
  socket.once('readable', () => {
    clearTimeout(timer);
    const chunk: unknown = socket.read();
    if (!(chunk instanceof Buffer)) {
      socket.destroy();
      return;
    }
    socket.unshift(chunk);
    handle(chunk[0] ?? 0);
  });
}

/** Every request begins with a letter, and no record of TLS does. */
function isLetter(byte: number): boolean {
  return /[A-Za-z]/.test(String.fromCharCode(byte));
}

/** The settings that decide which clients are admitted. */
function clientRules({ clientAuth, clientCas, allowedSans }: ServerTls): Partial<ServerTls> {
  return { clientAuth, clientCas, allowedSans };
}

/** Why the certificate of a client, or that it has none, is not accepted. */
interface Fault {
  readonly reason: 'no_certificate' | 'unknown_ca' | 'expired' | 'name' | 'other';
  readonly detail?: string;
}

/** A certificate that cannot be examined costs its own connection, not the process. */
function findFault(socket: TLSSocket, settings: ServerTls): Fault | undefined {
  try {
    return findCertificateFault(socket, settings);
  } catch {
    return { reason: 'other', detail: 'its certificate cannot be examined' };
  }
}

function findCertificateFault(
  socket: TLSSocket,
  { clientAuth, allowedSans }: ServerTls,
): Fault | undefined {
  if (!clientAuth.requested) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) {
    const isOptional = !clientAuth.required && allowedSans.length === 0;
    return isOptional ? undefined : { reason: 'no_certificate' };
  }
  if (clientAuth.verified && !socket.authorized) {
    const code = String(socket.authorizationError);
    if (UNKNOWN_CA.test(code)) return { reason: 'unknown_ca' };
    return EXPIRED.test(code) ? { reason: 'expired' } : { reason: 'other', detail: code };
  }
  if (allowedSans.length === 0) return undefined;
  const names = new Set(parseSans(certificate.subjectAltName ?? '').map(canonical));
  return allowedSans.some((san) => names.has(canonical(san))) ? undefined : { reason: 'name' };
}

/**
 * The DNS, e-mail, URI and IP names of `DNS:a, IP Address:1.2.3.4, DirName:…`. Node quotes names with unusual characters and
 * escapes their commas, so that the value of a name is never taken for another name; a quoted name is never accepted.
 */
export function parseSans(text: string): readonly string[] {
  return text.split(', ').flatMap((entry) => {
    const [, type = '', name = ''] = /^([^:]*):([^"].*)$/s.exec(entry) ?? [];
    return COMPARED_TYPES.has(type) ? [name] : [];
  });
}

/** An IPv6 address can be written in several ways. */
function canonical(name: string): string {
  return isIPv6(name) ? new SocketAddress({ address: name, family: 'ipv6' }).address : name;
}
