import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';

/** Of TCP and TLS together; a black-holed host must not eat the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export interface TlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Where requests go before they go to their URL. */
export interface Proxy {
  readonly url: string;
  /** Hosts that are asked directly, separated by commas. */
  readonly exceptions: string;
}

export interface AgentOptions {
  readonly maxConcurrentRequests: number;
  /** Time to the headers of an answer, of which connecting is a part. */
  readonly headersMs: number;
  readonly proxy?: Proxy | undefined;
}

/** One connection pool whose TLS settings can be replaced: who is under way ends with the old ones. */
export interface Agents extends AsyncDisposable {
  readonly current: () => Dispatcher;
  readonly useTls: (tls: TlsOptions) => void;
}

export function createAgents(options: AgentOptions, tls: TlsOptions): Agents {
  let current = createAgent(options, tls);
  const retired = new Set<Dispatcher>();
  return {
    current: () => current,
    useTls(newTls) {
      const old = current;
      current = createAgent(options, newTls);
      retired.add(old);
      void old.close().finally(() => retired.delete(old));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([current, ...retired].map((agent) => agent.destroy()));
    },
  };
}

function createAgent(options: AgentOptions, tls: TlsOptions): Dispatcher {
  const timeout = Math.min(CONNECT_TIMEOUT_MS, options.headersMs);
  const connect = { ...describeTls(tls), timeout };
  const pool = {
    allowH2: false,
    connections: options.maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Our own watch knows when headers and chunks are due; undici's timers are coarse.
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

function describeTls({ ca, cert, key, servername, rejectUnauthorized }: TlsOptions) {
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    rejectUnauthorized,
    minVersion: 'TLSv1.2',
  } as const;
}
