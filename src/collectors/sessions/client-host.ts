import { crc32 } from 'node:zlib';

/**
 * A number that stands for the host of a client address (`10.0.0.1:5432`, `[::1]:5432`): hosts are only
 * counted, so 4 bytes for each are kept instead of its text, which is nobody's business. Undefined without a host.
 */
export function fingerprintHost(address: string): number | undefined {
  const host = hostOf(address);
  // As a signed integer it takes no memory beside its place in a set.
  return host === '' ? undefined : crc32(host) | 0;
}

function hostOf(address: string): string {
  if (address.startsWith('[')) return address.slice(1, Math.max(1, address.indexOf(']')));
  const colon = address.indexOf(':');
  // Two colons and no brackets: an IPv6 address without a port.
  const hasPort = colon >= 0 && colon === address.lastIndexOf(':');
  return hasPort ? address.slice(0, colon) : address;
}
