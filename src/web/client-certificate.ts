import { SocketAddress } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerTls } from '../config/server-tls.ts';

/** One name of any type, as Node writes it: quoted as JSON when it holds a comma, a quote or a control character. */
const NAME = /([^:,"]+):(?:("(?:[^"\\]|\\.)*")|([^,"]*))(?:, (?=.)|$)/sy;
const COMPARED_TYPES: ReadonlySet<string> = new Set(['DNS', 'email', 'URI', 'IP Address']);

/** Whether the certificate of a client, or its lack, is what the settings ask for. */
export function isClientAdmitted(
  socket: TLSSocket,
  { clientAuth, allowedSans }: ServerTls,
): boolean {
  if (!clientAuth.asks) return true;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return !clientAuth.needs && allowedSans.length === 0;
  if (clientAuth.verifies && !socket.authorized) return false;
  if (allowedSans.length === 0) return true;
  const names = new Set(parseSans(certificate.subjectAltName ?? '').map(canonical));
  return allowedSans.some((san) => names.has(canonical(san)));
}

/**
 * The DNS, e-mail, URI and IP names of `DNS:a, IP Address:1.2.3.4, DirName:…`. Reads the whole text from its start, so that
 * the value of one name is never taken for another name; none of a text that is not written like this.
 */
export function parseSans(text: string): readonly string[] {
  const names: string[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < text.length) {
    const [, type = '', quoted, plain] = NAME.exec(text) ?? [];
    const name = quoted === undefined ? plain : unquote(quoted);
    if (name === undefined) return [];
    if (COMPARED_TYPES.has(type) && name !== '') names.push(name);
  }
  return names;
}

function unquote(quoted: string): string | undefined {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return undefined;
  }
}

/** An IPv6 address can be written in several ways. */
function canonical(name: string): string {
  if (!name.includes(':')) return name;
  try {
    return new SocketAddress({ address: name, family: 'ipv6' }).address;
  } catch {
    // A URI then.
    return name;
  }
}
