import { resolve } from 'node:path';
import * as v from 'valibot';
import { quote } from './issues.ts';
import { anyText, filledList, invalid, text, rejectIf } from './values.ts';

/** Where to listen, in the form that `server.listen()` takes. Without a host: all interfaces. */
export type ListenAddress =
  | { readonly host?: string | undefined; readonly port: number }
  | { readonly path: string };

const MAX_PORT = 65_535;
const ADDRESS = /^(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:/[\]]*)):(\d{1,5})$|^unix:(.+)$/;

/** `:10137`, `127.0.0.1:10137`, `[::1]:10137` or `unix:/run/crdb-exporter.sock`. */
export function listenAddress(folder: string) {
  return v.pipe(
    anyText,
    v.regex(
      ADDRESS,
      invalid('is not an address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path'),
    ),
    v.check(
      (address) => Number(ADDRESS.exec(address)?.[3] ?? 0) <= MAX_PORT,
      invalid(`has a port that is too large: at most ${MAX_PORT}`),
    ),
    v.transform((address) => parseAddress(address, folder)),
    v.metadata({ valueType: 'address', format: formatListenAddress }),
  );
}

function parseAddress(address: string, folder: string): ListenAddress {
  const [, six, host, port, socket] = ADDRESS.exec(address) ?? [];
  if (socket !== undefined) return { path: resolve(folder, socket) };
  return { host: six ?? (host === '' ? undefined : host), port: Number(port) };
}

/** The address as it is written in the file. */
function formatListenAddress(address: ListenAddress): string {
  if ('path' in address) return `unix:${address.path}`;
  const { host = '', port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A URL without a slash at the end, to which `end` is added when missing. */
export function apiUrl(example: string, end = '') {
  return v.pipe(
    text(),
    rejectIf((url) => {
      const fault = findFault(url, example);
      // Everything before an @ may be a password.
      return fault && `${quote(url.replace(/^.*@/s, '<secret>@'))} ${fault}`;
    }),
    // Editors know the pattern and not the check.
    v.metadata({ valueType: 'url', pattern: '^https?://[^@?#]+$' }),
    v.transform((url) => {
      const { origin, pathname } = new URL(url);
      const base = `${origin}${pathname}`.replace(/\/+$/, '');
      return base.endsWith(end) ? base : `${base}${end}`;
    }),
  );
}

function findFault(value: string, example: string): string | undefined {
  if (!/^https?:\/\//i.test(value)) {
    return `does not begin with https:// or http://: write it as ${example}`;
  }
  if (!URL.canParse(value)) return `is not a valid URL: write it as ${example}`;
  const { username, password } = new URL(value);
  if (username !== '' || password !== '') {
    return 'holds a user or a password: move them to username and password_file';
  }
  if (!/[?#]/.test(value)) return undefined;
  return 'has a query or a fragment: remove everything from the ? or # on';
}

/** The bases of the cluster API of the nodes of one cluster. */
export const clusterUrls = v.pipe(
  filledList(apiUrl('https://crdb-1:8080', '/api/v2')),
  rejectIf<readonly string[]>(findUrlConflict),
);

/** Returns the fault of the URLs of one cluster together, or undefined. */
function findUrlConflict(urls: readonly string[]): string | undefined {
  if (new Set(urls).size < urls.length) return 'a URL is listed twice: remove one';
  const isMixed = new Set(urls.map((url) => new URL(url).protocol)).size > 1;
  return isMixed ? 'http:// and https:// are mixed: use one of them for all nodes' : undefined;
}

/** Whether a URL leads to this host itself. */
export function isLoopback(url: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
