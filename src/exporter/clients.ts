import {
  beginDeadline,
  type Clock,
  type Api,
  type Build,
  CLUSTER_ENDPOINTS,
  type Log,
} from '#base';
import {
  ApiLogin,
  CloudControl,
  ClusterApi,
  HttpClient,
  type HttpClientOptions,
  MAX_CLOUD_RESPONSE_BYTES,
  POLICY,
  type RequestError,
} from '#cockroach';
import {
  type ClientTls,
  type CloudApiConfig,
  type ClusterApiConfig,
  type ClusterConfig,
  type FileWatch,
  isLoopback,
  type ProxyConfig,
  readClientTls,
  watchFiles,
} from '#config';
import type { ClusterMetrics } from '#metrics';

const DEADLINES = {
  /** Limits the time between two chunks of a response. */
  idleMs: 15_000,
  /** Before the minimum rate of a response is enforced. */
  rateGraceMs: 15_000,
};
/** A request to the Cloud API has this time: its responses are small. */
const CLOUD_TIMEOUT_MS = 30_000;
const CLOUD_MAX_REQUESTS = 2;
/** How long a logout, and a login before it that is under way, may delay the end of the process. */
const LOGOUT_MS = 3_500;
/** The share applies where no collector reads single nodes. */
const DEFAULT_MAX_DUTY = 0.1;

/** The client of a cluster's API. */
interface ClusterClient {
  readonly api: ClusterApi;
  readonly http: HttpClient;
  readonly session: ApiLogin;
  readonly tls: FileWatch<ClientTls>;
}

/** The client of the Cloud API. */
interface CloudClient {
  readonly api: CloudControl;
  readonly http: HttpClient;
}

/** The API clients of one configured cluster. Disposing them ends the session that was created by a login here. */
export interface Clients extends AsyncDisposable {
  readonly cluster: ClusterClient | undefined;
  readonly cloud: CloudClient | undefined;
}

interface ClientsOptions {
  readonly config: ClusterConfig;
  readonly metrics: ClusterMetrics;
  readonly build: Pick<Build, 'version'>;
  readonly clock: Pick<Clock, 'runningMs' | 'wallMs'>;
  readonly random: () => number;
  /** Maximum share of the time that a node without a response may hold requests. */
  readonly maxDuty?: number | undefined;
  /** Called when the server does not end the session soon. */
  readonly logoutFailed: (error: unknown) => void;
  /** How to follow the TLS files; a command reads them once. */
  readonly follow?: { readonly everyMs: number; readonly log: Log };
}

/** Rejects when a TLS file cannot be used. */
export async function createClients(options: ClientsOptions): Promise<Clients> {
  const { cluster_api, cloud_api, proxy } = options.config;
  const proxies = await Promise.all([proxy.http?.reveal(), proxy.https?.reveal()]);
  const nodes = cluster_api?.tls.ca_file ? [] : (cluster_api?.urls ?? []);
  const urls = [cloud_api?.url, ...nodes, ...proxies];
  if (urls.some((url) => url?.startsWith('https:'))) trustSystemCertificates();
  // What was created before something fails is ended, too.
  await using opened = new AsyncDisposableStack();
  const cluster = cluster_api && (await createCluster(cluster_api, options, opened));
  const cloud = cloud_api && (await createCloud(cloud_api, options, opened));
  const all = opened.move();
  return { cluster, cloud, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/**
 * Trusts the certificates of the operating system, or those of SSL_CERT_FILE and SSL_CERT_DIR, from now on beside the
 * list of Node.js: what `--use-system-ca` does, however the process was started. It takes time and memory, so call it
 * only if connections without a `ca_file` use TLS.
 */
function trustSystemCertificates(): void {
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule('node:tls');
  const trusted = getCACertificates('default');
  const all = new Set([...trusted, ...getCACertificates('system')]);
  if (all.size > trusted.length) setDefaultCACertificates([...all]);
}

async function createCluster(
  config: ClusterApiConfig,
  options: ClientsOptions,
  opened: AsyncDisposableStack,
): Promise<ClusterClient> {
  const { metrics, follow, logoutFailed } = options;
  const timeoutMs = config.timeout * 1000;
  const { ca_file, cert_file, key_file } = config.tls;
  const files = [ca_file, cert_file, key_file].filter((file) => file !== undefined);
  const tls = await watchFiles({
    files: () => files,
    read: () => readClientTls(config.tls),
    everyMs: follow?.everyMs,
    onChange: () => follow?.log.info('TLS files reloaded'),
    onError: (err) =>
      follow?.log.error({ err }, 'TLS files not reloaded, keeping the previous ones'),
  });
  opened.use(tls);
  metrics.prepareLogins();
  metrics.prepareEndpoints(CLUSTER_ENDPOINTS);
  const http = new HttpClient({
    ...(await common('cluster', config.urls, options)),
    ...(config.virtual_cluster && { headers: { 'x-cockroach-tenant': config.virtual_cluster } }),
    tls: tls.current(),
    deadlines: { ...DEADLINES, headersMs: timeoutMs, minBytesPerSecond: config.min_rate },
    maxConcurrentRequests: config.max_concurrent_requests,
    maxResponseBytes: config.max_response_bytes,
    compression: config.compression,
  });
  opened.use(http);
  tls.onReload((changed) => http.useTls(changed));
  const secret = config.password ?? config.token;
  const session = new ApiLogin({
    http,
    username: config.username,
    secret: secret && (() => secret.reveal()),
    loginTimeoutMs: timeoutMs,
    loginTried: metrics.loginTried,
    loginFailed: (error) => metrics.loginFailed(loginFailureReason(error)),
    runningMs: options.clock.runningMs,
    wallMs: options.clock.wallMs,
  });
  opened.defer(async () => {
    using deadline = beginDeadline(LOGOUT_MS);
    await session.logOut(deadline.signal).catch(logoutFailed);
  });
  const file = secret?.file;
  if (file !== undefined && follow !== undefined) {
    const changes = await watchFiles({
      files: () => [file],
      // It is read for each login.
      read: () => Promise.resolve(true),
      everyMs: follow.everyMs,
      onChange: () => session.retry(),
    });
    opened.use(changes);
  }
  const api = new ClusterApi(session, metrics.decodeErrors, { protobuf: config.protobuf });
  return { api, http, session, tls };
}

async function createCloud(
  config: CloudApiConfig,
  options: ClientsOptions,
  opened: AsyncDisposableStack,
): Promise<CloudClient> {
  options.metrics.prepareEndpoints(['assistant']);
  const http = new HttpClient({
    ...(await common('cloud', [config.url], options)),
    tls: { rejectUnauthorized: true },
    deadlines: { ...DEADLINES, headersMs: CLOUD_TIMEOUT_MS, minBytesPerSecond: 0 },
    maxConcurrentRequests: CLOUD_MAX_REQUESTS,
    maxResponseBytes: MAX_CLOUD_RESPONSE_BYTES,
    compression: false,
  });
  opened.use(http);
  const api = new CloudControl({
    http,
    clusterId: config.cluster_id,
    token: () => config.token.reveal(),
    apiVersion: config.api_version,
    decodeErrors: options.metrics.decodeErrors,
  });
  return { api, http };
}

async function common(
  api: Api,
  urls: readonly string[],
  { config, metrics, build, clock, random, maxDuty = DEFAULT_MAX_DUTY }: ClientsOptions,
) {
  const intervals = Object.values(config.collectors)
    .filter((collector) => collector.enabled)
    .map((collector) => collector.interval * 1000);
  const { cluster_api, cloud_api } = config;
  return {
    urls,
    clusterUrls: [...(cluster_api?.urls ?? []), ...(cloud_api ? [cloud_api.url] : [])],
    proxy: await chooseProxy(config.proxy, urls),
    userAgent: `crdb-exporter/${build.version}`,
    runningMs: clock.runningMs,
    random,
    maxDuty,
    breakerOpenMs:
      POLICY.breakerShareOfInterval * Math.min(...intervals, POLICY.maxBreakerIntervalMs),
    requestFinished: (request) => metrics.requestFinished(api, request),
    requestRetried: (endpoint, reason) => metrics.requestRetried(api, endpoint, reason),
  } satisfies Partial<HttpClientOptions>;
}

/** The proxy for URLs of one scheme; URLs of this host never use it. */
async function chooseProxy({ http, https, noProxy }: ProxyConfig, urls: readonly string[]) {
  const secret = urls.some((url) => url.startsWith('https:')) ? https : http;
  if (secret === undefined) return undefined;
  const direct = urls.filter(isLoopback).map((url) => new URL(url).hostname);
  return { url: await secret.reveal(), exceptions: [noProxy, ...direct].join(',') };
}

function loginFailureReason(error: RequestError) {
  if (error.reason === 'auth' || error.reason === 'forbidden') return 'rejected';
  if (error.reason === 'timeout' || error.reason === 'network' || error.reason === 'tls') {
    return error.reason;
  }
  return 'http';
}
