import type { IncomingMessage } from 'node:http';

/** What stands behind the ? of a request. */
export function readParameters({ url = '' }: IncomingMessage): URLSearchParams {
  const query = url.indexOf('?');
  return new URLSearchParams(query === -1 ? '' : url.slice(query + 1));
}
