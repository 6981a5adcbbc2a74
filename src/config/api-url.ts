import { acceptText } from './kinds.ts';
import { scalarKind, Refusal } from './kind.ts';
import type { Kind } from './kind.ts';
import { quote } from './raw.ts';
import type { Raw } from './raw.ts';

const CLUSTER_API_PATH = '/api/v2';

/** The base of the cluster API of a node, ending in `/api/v2`, which is added when missing. */
export const clusterUrl: Kind<string> = apiUrl('https://crdb-1:8080', (url) =>
  url.endsWith(CLUSTER_API_PATH) ? url : `${url}${CLUSTER_API_PATH}`,
);

/** The base of the Cloud API, without a slash at the end. */
export const cloudUrl: Kind<string> = apiUrl('https://cockroachlabs.cloud', (url) => url);

function apiUrl(example: string, complete: (url: string) => string): Kind<string> {
  return scalarKind({
    name: 'url',
    standIn: '',
    schema: { type: 'string', pattern: '^https?://[^@?#]+$' },
    show: showWithoutUser,
    accept(scalar) {
      const value = acceptText(scalar);
      if (value instanceof Refusal) return value;
      const reason = findFault(value, example);
      if (reason !== undefined) return new Refusal(reason);
      const { origin, pathname } = new URL(value);
      return complete(`${origin}${pathname}`.replace(/\/+$/, ''));
    },
  });
}

function findFault(value: string, example: string): string | undefined {
  if (!/^https?:\/\//i.test(value)) {
    return `does not begin with https:// or http://: write it as ${example}`;
  }
  if (!URL.canParse(value)) return `is not a valid URL: write it as ${example}`;
  const url = new URL(value);
  if (url.username !== '' || url.password !== '') {
    return 'holds a user or a password: move them to username and password_file';
  }
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(value)) {
    return 'has a query or a fragment: remove everything from the ? or # on';
  }
  return undefined;
}

/** Everything before an @ may be a password. */
function showWithoutUser(raw: Raw): string {
  if (raw.form !== 'scalar') return `a ${raw.form}`;
  return raw.value === null ? 'nothing' : quote(String(raw.value).replace(/^.*@/s, '<secret>@'));
}

/** True for `http://` to another host than this one: what is sent can be read on the way. */
export function isReadableOnTheWay(url: string): boolean {
  return new URL(url).protocol === 'http:' && !isLoopback(url);
}

/** Whether a URL leads to this host itself. */
export function isLoopback(url: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}
