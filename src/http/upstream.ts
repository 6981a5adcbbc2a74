import type { Breaker } from './breaker.ts';
import type { RequestError } from './errors.ts';

/** One of the configured URLs of an API, with its health. */
export interface Upstream {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  readonly breaker: Breaker;
  /** The last failure because of which the URL is not used, or was not. */
  lastFailure: RequestError | undefined;
  /** How often headers or a part of a body have arrived: as long as this grows, the URL is not silent. */
  arrivals: number;
}

export function createUpstream(text: string, breaker: Breaker): Upstream {
  const url = new URL(text);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const name = `${url.hostname}:${port}`;
  return { url, name, breaker, lastFailure: undefined, arrivals: 0 };
}
