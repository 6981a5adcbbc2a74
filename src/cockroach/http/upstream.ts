import type { Breaker } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** One of the configured URLs of an API, with its health. */
export interface Upstream {
  readonly url: URL;
  /** host:port, as the label `target`; with the path where other URLs of the cluster have the same. */
  readonly name: string;
  /** Among the URLs of the API. */
  readonly index: number;
  readonly breaker: Breaker;
  /** The last failure that keeps the URL from being used, or kept it. */
  lastFailure: RequestError | undefined;
  /** How often headers or a part of a body have arrived: as long as this grows, the URL is not silent. */
  arrivals: number;
}

/** The end of a configured URL of the cluster API. */
export const API_PATH = /(?:\/api\/v2)?\/?$/;

/** A URL that is in use; `all` are those of the cluster, whose names must differ. */
export function createUpstream(
  text: string,
  index: number,
  all: readonly string[],
  breaker: Breaker,
): Upstream {
  const url = new URL(text);
  const address = addressOf(url);
  const isShared = all.some((other) => other !== text && addressOf(new URL(other)) === address);
  const name = isShared ? `${address}${url.pathname.replace(API_PATH, '')}` : address;
  return { url, name, index, breaker, lastFailure: undefined, arrivals: 0 };
}

function addressOf({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}
