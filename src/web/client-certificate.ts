import { SocketAddress } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerTls } from '../config/server-tls.ts';

const SAN = /(DNS|email|URI|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g;

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

/** The names of `DNS:a, IP Address:1.2.3.4`; one with a comma or quote in it is written as JSON. */
export function parseSans(text: string): readonly string[] {
  return Array.from(text.matchAll(SAN), ([, , name = '']) => {
    const unquoted: unknown = name.startsWith('"') ? JSON.parse(name) : name;
    return String(unquoted);
  });
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
