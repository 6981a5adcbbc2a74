import type { ConnectionOptions } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

/** For TCP and TLS together; a black-holed host must not use up the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export type TlsOptions = Omit<ConnectionOptions, 'port'>;

/** Where requests go before they go to their URL. */
export interface Proxy {
  readonly url: string;
  /** Hosts that are connected to directly, separated by commas. */
  readonly exceptions: string;
}

export interface AgentOptions {
  readonly maxConcurrentRequests: number;
  /** Time to the headers of an answer, connecting included. */
  readonly headersMs: number;
  readonly proxy?: Proxy | undefined;
}

/** One connection pool whose TLS settings can be replaced; requests in flight end with the old ones. */
export class Agents implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #retired = new Set<Dispatcher>();
  #current: Dispatcher;

  constructor(options: AgentOptions, tls: TlsOptions) {
    this.#options = options;
    this.#current = createAgent(options, tls);
  }

  get current(): Dispatcher {
    return this.#current;
  }

  useTls(tls: TlsOptions): void {
    const old = this.#current;
    this.#current = createAgent(this.#options, tls);
    this.#retired.add(old);
    void old.close().finally(() => this.#retired.delete(old));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#current, ...this.#retired].map((agent) => agent.destroy()));
  }
}

function createAgent(options: AgentOptions, tls: TlsOptions): Dispatcher {
  const timeout = Math.min(CONNECT_TIMEOUT_MS, options.headersMs);
  const connect = { ...tls, timeout, minVersion: 'TLSv1.2' as const };
  const pool = {
    allowH2: false,
    connections: options.maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // deadlines.ts watches headers and chunks; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  };
  const { proxy } = options;
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
