import { isIP } from 'node:net';
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { messageOf } from '#base';

/** Where requests go before they go to their URL, except for these hosts, separated by commas. */
export interface Proxy {
  readonly url: string;
  readonly exceptions: string;
}

/** Codes of what fails before the proxy has connected to the host of the URL. */
export const PROXY_LOGIN = 'PROXY_LOGIN';
export const PROXY_REFUSED = 'PROXY_REFUSED';
export const PROXY_SILENT = 'PROXY_SILENT';
export const PROXY_UNREACHABLE = 'PROXY_UNREACHABLE';

/** What undici says of a proxy that refuses to connect, or to send a request on: its codes are those of other failures. */
const REFUSAL = /^Proxy (?:response|Authentication Required) \((\d+)\)/;

/** The settings of a pool, and how it connects to the host of a URL. */
interface PoolOptions extends Omit<Pool.Options, 'connect'> {
  readonly connect: buildConnector.BuildOptions & {
    readonly timeout: number;
    readonly autoSelectFamilyAttemptTimeout: number;
  };
}

/** Sends the requests of a pool through a proxy, which has the time to connect twice: for itself, and for its response to CONNECT. */
export function createProxyAgent({ url, exceptions }: Proxy, pool: PoolOptions): Dispatcher {
  // The CAs of the cluster are not those of the proxy.
  const { timeout, autoSelectFamilyAttemptTimeout } = pool.connect;
  const connectTo = buildConnector({ timeout, autoSelectFamilyAttemptTimeout, allowH2: false });
  const connect: buildConnector.connector = ({ servername = '', ...options }, callback) =>
    // Node.js warns of an address as the name of the server.
    connectTo(isIP(servername) ? options : { ...options, servername }, (...[error, socket]) =>
      error === null ? callback(null, socket) : callback(toUnreachable(error), null),
    );
  const { href } = new URL(url);
  return new EnvHttpProxyAgent({
    ...pool,
    httpProxy: url,
    httpsProxy: url,
    noProxy: exceptions,
    requestTls: pool.connect,
    // Without a limit of its own, one CONNECT without a response would keep all requests waiting for five minutes.
    clientFactory: (proxy) => new Pool(proxy, { connect, headersTimeout: timeout }),
    // Requests to http:// URLs go to the proxy itself.
    factory: (origin, options) =>
      new Pool(origin, String(origin) === href ? { ...pool, connect } : options),
  });
}

function toUnreachable(error: Error): Error {
  const { code = '' } = error as NodeJS.ErrnoException;
  return code === 'UND_ERR_CONNECT_TIMEOUT'
    ? silentProxy()
    : proxyFault(PROXY_UNREACHABLE, `the proxy cannot be reached: ${messageOf(error)}`);
}

function silentProxy(): Error {
  return proxyFault(PROXY_SILENT, 'the proxy does not respond');
}

function proxyFault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The failure of the proxy behind an error of undici; undefined for another failure. */
export function findProxyFault(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === PROXY_SILENT || code === PROXY_UNREACHABLE) return error;
  // The requests of pools have no such limit.
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return silentProxy();
  if (code === 'UND_ERR_PRX_CONN') {
    return proxyFault(PROXY_UNREACHABLE, 'the proxy closed the connection');
  }
  const [, status] = REFUSAL.exec(message) ?? [];
  if (status === undefined) return undefined;
  const refusal = status === '407' ? PROXY_LOGIN : PROXY_REFUSED;
  return proxyFault(refusal, `the proxy refused the connection with HTTP ${status}`);
}
