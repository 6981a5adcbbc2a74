import { type CloudControl, createCloudApi } from './cloud/api.ts';
import { MAX_ANSWER_BYTES } from './cloud/calls.ts';
import { type ClusterApi, createClusterApi } from './cluster/api.ts';
import { type Connection, createConnection } from './cluster/connection.ts';
import { type ClusterTls, type Follow, openClusterTls } from './cluster-tls.ts';
import { isLoopback } from './config/addresses.ts';
import type { CloudApiConfig, ClusterApiConfig, ClusterConfig } from './config/schema.ts';
import type { ProxyConfig } from './config/proxy.ts';
import type { Proxy } from './http/agents.ts';
import { createHttpClient, type HttpClient, type RetriedRequest } from './http/client.ts';
import type { RequestError } from './http/errors.ts';
import type { FinishedRequest } from './http/exchange.ts';
import type { ClusterSelf } from './metrics/self.ts';
import type { Api } from './metrics/self-families.ts';

/** To the headers of an answer of what gave none before; the full timeout would hold a slot at every poll. */
const HEADERS_AFTER_SILENCE_MS = 5_000;
/** Longest silence within an answer. */
const IDLE_MS = 15_000;
/** An answer must keep the promised rate once it has had time to get going. */
const RATE_GRACE_MS = 15_000;
/** Of one call to the Cloud API, which answers with some hundred bytes. */
const CLOUD_TIMEOUT_MS = 30_000;
const CLOUD_MAX_REQUESTS = 2;
/** A bad URL is left alone for a little less than an interval, so that the next poll may try it. */
const BREAKER_SHARE_OF_INTERVAL = 0.9;
const MAX_BREAKER_MS = 30_000;
/** Where no ranges are collected. */
const DEFAULT_MAX_DUTY = 0.1;

/** The APIs of one configured cluster, with what must be closed when it is no longer watched. */
export interface Apis extends AsyncDisposable {
  readonly cluster?: { readonly api: ClusterApi; readonly http: HttpClient };
  /** When the certificate that is presented to the cluster expires, ms since the epoch. */
  readonly certificateNotAfterMs: () => number | undefined;
  /** Whether the TLS files as they are now are in force. */
  readonly areFilesInForce: () => boolean;
  readonly cloud?: { readonly api: CloudControl; readonly http: HttpClient };
  /** Ends the session that was created by a login here. */
  logOut(signal: AbortSignal): Promise<void>;
}

export interface ApisOptions {
  readonly config: ClusterConfig;
  readonly self: ClusterSelf;
  readonly userAgent: string;
  readonly monotonicMs: () => number;
  readonly random: () => number;
  /** How to follow the TLS files; who lives only for a moment reads them once. */
  readonly follow?: Follow;
}

/** Rejects when a TLS file cannot be used. */
export async function createApis(options: ApisOptions): Promise<Apis> {
  const { cluster_api, cloud_api } = options.config;
  const cluster = cluster_api && (await createCluster(cluster_api, options));
  const cloud = cloud_api && (await createCloud(cloud_api, options));
  return {
    ...(cluster && { cluster }),
    ...(cloud && { cloud }),
    certificateNotAfterMs: () => cluster?.tls.current().notAfterMs,
    areFilesInForce: () => cluster?.tls.isInForce() ?? true,
    async logOut(signal) {
      await cluster?.connection.logOut(signal);
    },
    async [Symbol.asyncDispose]() {
      cluster?.tls[Symbol.dispose]();
      await cluster?.http[Symbol.asyncDispose]();
      await cloud?.http[Symbol.asyncDispose]();
    },
  };
}

async function createCluster(
  config: ClusterApiConfig,
  options: ApisOptions,
): Promise<{ api: ClusterApi; http: HttpClient; connection: Connection; tls: ClusterTls }> {
  const { self, monotonicMs } = options;
  const timeoutMs = config.timeout * 1000;
  const tls = await openClusterTls(config.tls, options.follow);
  const http = createHttpClient({
    ...common('cluster', options),
    urls: config.urls,
    tls: tls.current(),
    proxy: await chooseProxy(options.config.proxy, config.urls),
    deadlines: deadlines(timeoutMs, config.min_rate),
    maxConcurrentRequests: config.max_concurrent_requests,
    maxResponseBytes: config.max_response_bytes,
    compression: config.compression,
  });
  tls.onChange((changed) => http.useTls(changed));
  const { username, password, token } = config;
  const connection = createConnection({
    http,
    session: {
      ...(username !== undefined &&
        password !== undefined && {
          credentials: { username, password: () => password.reveal() },
        }),
      ...(token !== undefined && { token: () => token.reveal() }),
      headerNames: config.session_headers,
      loginTried: self.loginTried,
      loginFailed: (error) => self.loginFailed(loginFailureReason(error)),
      monotonicMs,
    },
    loginTimeoutMs: timeoutMs,
    decodeErrors: self.decodeErrors,
  });
  return { api: createClusterApi(connection), http, connection, tls };
}

async function createCloud(
  config: CloudApiConfig,
  options: ApisOptions,
): Promise<{ api: CloudControl; http: HttpClient }> {
  const http = createHttpClient({
    ...common('cloud', options),
    urls: [config.url],
    tls: { rejectUnauthorized: true },
    proxy: await chooseProxy(options.config.proxy, [config.url]),
    deadlines: deadlines(CLOUD_TIMEOUT_MS, 0),
    maxConcurrentRequests: CLOUD_MAX_REQUESTS,
    maxResponseBytes: MAX_ANSWER_BYTES,
    compression: false,
  });
  const api = createCloudApi({
    http,
    clusterId: config.cluster_id,
    token: () => config.token.reveal(),
    apiVersion: config.api_version,
    decodeErrors: options.self.decodeErrors,
  });
  return { api, http };
}

function common(api: Api, { config, self, userAgent, monotonicMs, random }: ApisOptions) {
  const intervals = Object.values(config.collectors)
    .filter((collector) => collector.enabled)
    .map((collector) => collector.interval * 1000);
  return {
    userAgent,
    monotonicMs,
    random,
    maxDuty: config.collectors['ranges']?.max_duty ?? DEFAULT_MAX_DUTY,
    breakerOpenMs: Math.min(
      MAX_BREAKER_MS,
      BREAKER_SHARE_OF_INTERVAL * Math.min(...intervals, MAX_BREAKER_MS),
    ),
    requestFinished: (request: FinishedRequest) => self.requestFinished({ ...request, api }),
    requestRetried: (retry: RetriedRequest) => self.requestRetried({ ...retry, api }),
  };
}

/** The proxy for URLs of one scheme; those that lead to this host never need it. */
async function chooseProxy(
  { http, https, noProxy }: ProxyConfig,
  urls: readonly string[],
): Promise<Proxy | undefined> {
  const secret = urls.some((url) => url.startsWith('https:')) ? https : http;
  if (secret === undefined) return undefined;
  const direct = urls.filter(isLoopback).map((url) => new URL(url).hostname);
  return { url: await secret.reveal(), exceptions: [noProxy, ...direct].join(',') };
}

function deadlines(headersMs: number, minBytesPerSecond: number) {
  return {
    headersMs,
    headersAfterSilenceMs: HEADERS_AFTER_SILENCE_MS,
    idleMs: IDLE_MS,
    minBytesPerSecond,
    rateGraceMs: RATE_GRACE_MS,
  };
}

function loginFailureReason(error: RequestError) {
  if (error.reason === 'auth') return 'rejected';
  if (error.reason === 'timeout' || error.reason === 'network' || error.reason === 'tls') {
    return error.reason;
  }
  return 'http';
}
