import type { ServerOptions } from 'node:http';
import https, { type Server } from 'node:https';
import { isIPv6, SocketAddress } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { ServerTls } from '../../config/server-tls.ts';
import type { Log } from '../../log.ts';
import type { Connections } from './connections.ts';
import type { WebConfigWatcher } from './web-config-watcher.ts';

/** Types of names that rules for clients can name. */
const COMPARED_TYPES: ReadonlySet<string> = new Set(['DNS', 'email', 'URI', 'IP Address']);

/** A server whose certificate, CAs and rules for clients follow the web config file. */
export function createTlsServer(
  options: ServerOptions & { readonly handshakeTimeout: number },
  tls: ServerTls,
  webConfig: WebConfigWatcher,
  connections: Connections,
  log: Log,
): Server {
  let settings = tls;
  const server = https.createServer({
    ...options,
    ...settings.context(),
    requestCert: settings.clientAuth.requested,
    // Certificates are checked below, by the present settings.
    rejectUnauthorized: false,
  });
  server.prependListener('secureConnection', (socket) => {
    if (!isAdmitted(socket, settings, log)) socket.destroy();
  });
  server.on('tlsClientError', ({ message }) =>
    log.debug({ reason: message }, 'TLS handshake failed'),
  );
  webConfig.onReload(({ config: { tls: changed } }) => {
    if (changed === undefined) return;
    server.setSecureContext(changed.context());
    const isSame = isDeepStrictEqual(clientRules(settings), clientRules(changed));
    settings = changed;
    // The certificates of open connections were accepted by the old settings, and may be revoked by the new ones.
    if (changed.clientAuth.requested && !isSame) connections.closeAll();
  });
  return server;
}

/** The settings that decide which clients are admitted. */
function clientRules({ clientAuth, clientCas, allowedSans }: ServerTls): Partial<ServerTls> {
  return { clientAuth, clientCas, allowedSans };
}

/** A certificate that cannot be examined costs its own connection, not the process. */
function isAdmitted(socket: TLSSocket, settings: ServerTls, log: Log): boolean {
  try {
    if (hasAcceptedCertificate(socket, settings)) return true;
    log.debug('client refused: its certificate is missing or not accepted');
  } catch (error) {
    log.debug({ err: error }, 'client refused: its certificate cannot be examined');
  }
  return false;
}

function hasAcceptedCertificate(socket: TLSSocket, { clientAuth, allowedSans }: ServerTls) {
  if (!clientAuth.requested) return true;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return !clientAuth.required && allowedSans.length === 0;
  if (clientAuth.verified && !socket.authorized) return false;
  if (allowedSans.length === 0) return true;
  const names = new Set(parseSans(certificate.subjectAltName ?? '').map(canonical));
  return allowedSans.some((san) => names.has(canonical(san)));
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
