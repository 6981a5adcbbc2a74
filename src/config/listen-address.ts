import path from 'node:path';
import { acceptText } from './kinds.ts';
import { scalarKind, Refusal } from './kind.ts';
import type { Kind } from './kind.ts';

/** Where to listen, in the form that `server.listen()` takes. Without a host: all interfaces. */
export type ListenAddress =
  | { readonly host?: string | undefined; readonly port: number }
  | { readonly path: string };

const HIGHEST_PORT = 65_535;
const ADDRESS = /^(?:\[(?<six>[0-9A-Fa-f:.%\w]+)\]|(?<host>[^\s:/[\]]*)):(?<port>\d{1,5})$/;

/** `:10137`, `127.0.0.1:10137`, `[::1]:10137` or `unix:/run/crdb-exporter.sock`. */
export const listenAddress: Kind<ListenAddress> = scalarKind({
  name: 'address',
  standIn: { port: 0 },
  schema: { type: 'string', pattern: `${ADDRESS.source.replaceAll(/\?<\w+>/g, '')}|^unix:.+$` },
  write: formatListenAddress,
  accept(scalar): ListenAddress | Refusal {
    const value = acceptText(scalar);
    if (value instanceof Refusal) return value;
    if (value.startsWith('unix:') && value.length > 'unix:'.length) {
      return { path: path.resolve(scalar.place.folder, value.slice('unix:'.length)) };
    }
    return parseAddress(value);
  },
});

function parseAddress(value: string): ListenAddress | Refusal {
  const { six, host, port } = ADDRESS.exec(value)?.groups ?? {};
  if (port === undefined) {
    return new Refusal('is no address: write :10137, 127.0.0.1:10137, [::1]:10137 or unix:/path');
  }
  if (Number(port) > HIGHEST_PORT) {
    return new Refusal(`has a port that is too large: at most ${HIGHEST_PORT}`);
  }
  const name = six ?? host;
  return { host: name === '' ? undefined : name, port: Number(port) };
}

/** The address as it is written in the file. */
function formatListenAddress(address: ListenAddress): string {
  if ('path' in address) return `unix:${address.path}`;
  const { host = '', port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
