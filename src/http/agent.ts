import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

/** For TCP and TLS together; a black-holed host must not use up the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export interface AgentOptions {
  readonly tls: Omit<ConnectionOptions, 'port'>;
  /** Where requests go before they go to their URL, except for these hosts, separated by commas. */
  readonly proxy?: { readonly url: string; readonly exceptions: string } | undefined;
  readonly maxConcurrentRequests: number;
}

/** A pool of connections. `headersMs`: time to the headers of an answer, connecting included. */
export function createAgent(
  { tls, proxy, maxConcurrentRequests }: AgentOptions,
  headersMs: number,
): Dispatcher {
  const timeout = Math.min(CONNECT_TIMEOUT_MS, headersMs);
  const connect = { ...tls, timeout, minVersion: 'TLSv1.2' as const };
  const pool = {
    allowH2: false,
    connections: maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // deadlines.ts watches headers and chunks; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  };
  if (proxy === undefined) return new Agent(pool);
  return new EnvHttpProxyAgent({
    ...pool,
    httpProxy: proxy.url,
    httpsProxy: proxy.url,
    noProxy: proxy.exceptions,
    requestTls: connect,
    connectTimeout: timeout,
  });
}
