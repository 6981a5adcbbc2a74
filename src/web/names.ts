import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

// DNS rebinding: a page of another site lets its own name resolve to the address of the exporter, and the browser then takes
// the exporter for that site. Such a request names the site as Host and Origin, never an address.

/** The name in `example.com:10137` or `[::1]:10137`, in lower case; undefined for what is no host. */
function nameOf(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;
}

/** Whether users can reach the exporter by this name: an IP address, the name of the machine, or the one of `externalUrl`. */
function isOwnName(name: string, externalUrl: string): boolean {
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true;
  const external = externalUrl === '' ? [] : [new URL(externalUrl).hostname];
  return ['localhost', hostname().toLowerCase(), ...external].includes(name);
}

/** Whether a browser sends this request for a page of another site; only browsers send these headers. */
export function isCrossSite({ headers }: IncomingMessage, externalUrl: string): boolean {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site !== 'none' && site !== 'same-origin') return true;
  const { origin } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || !isOwnName(new URL(origin).hostname, externalUrl);
}

/** Whether a page may be sent: with an external URL only under a name that users reach the exporter by. */
export function isForeignHost(
  { headers: { host } }: IncomingMessage,
  externalUrl: string,
): boolean {
  if (externalUrl === '' || host === undefined) return false;
  const name = nameOf(host);
  return name === undefined || !isOwnName(name, externalUrl);
}
