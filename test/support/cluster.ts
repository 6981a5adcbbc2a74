import { ApiLogin } from '../../src/cockroach/api-login.ts';
import { ClusterApi } from '../../src/cockroach/cluster-api.ts';
import { HttpClient, type HttpClientOptions } from '../../src/cockroach/http/client.ts';
import { type PollStats, createPollStats } from '../../src/cockroach/http/poll-stats.ts';

/** The client side of one cluster, as the exporter puts it together, with what it reported. */
export interface TestClient extends AsyncDisposable {
  readonly http: HttpClient;
  readonly session: ApiLogin;
  readonly api: ClusterApi;
  readonly finished: { readonly endpoint: string; readonly code: number | 'error' }[];
  readonly retried: { readonly endpoint: string; readonly reason: string }[];
  readonly logins: { tried: number; failed: string[] };
  readonly decodeErrors: Map<string, number>;
}

export interface TestHttpOptions extends Partial<Omit<HttpClientOptions, 'deadlines'>> {
  readonly urls: readonly string[];
  /** In place of seconds that no test should need. */
  readonly deadlines?: Partial<HttpClientOptions['deadlines']>;
}

export interface TestClientOptions extends TestHttpOptions {
  readonly username?: string;
  readonly password?: () => Promise<string>;
  readonly token?: () => Promise<string>;
  readonly loginTimeoutMs?: number;
  readonly protobuf?: boolean;
}

const DEADLINES = {
  headersMs: 5_000,
  idleMs: 5_000,
  minBytesPerSecond: 0,
  rateGraceMs: 5_000,
};

/** An HTTP client with patience, few requests at a time and nobody to report to. */
export function createTestHttp({ deadlines, ...rest }: TestHttpOptions): HttpClient {
  return new HttpClient({
    tls: { rejectUnauthorized: true },
    deadlines: { ...DEADLINES, ...deadlines },
    maxConcurrentRequests: 4,
    maxResponseBytes: 64 * 1024 * 1024,
    compression: false,
    userAgent: 'test',
    breakerOpenMs: 200,
    maxDuty: 0.1,
    runningMs: () => performance.now(),
    random: () => 0,
    requestFinished: () => undefined,
    requestRetried: () => undefined,
    ...rest,
  });
}

export function createTestClient(options: TestClientOptions): TestClient {
  const finished: TestClient['finished'] = [];
  const retried: TestClient['retried'] = [];
  const logins: TestClient['logins'] = { tried: 0, failed: [] };
  const decodeErrors = new Map<string, number>();
  const { username, password, token } = options;
  const http = createTestHttp({
    requestFinished: ({ endpoint, code }) => finished.push({ endpoint, code }),
    requestRetried: (endpoint, reason) => retried.push({ endpoint, reason }),
    ...options,
    urls: options.urls.map((url) => `${url}/api/v2`),
  });
  const session = new ApiLogin({
    http,
    username,
    secret: password ?? token,
    loginTimeoutMs: options.loginTimeoutMs ?? 5_000,
    loginTried: () => {
      logins.tried += 1;
    },
    loginFailed: (error) => logins.failed.push(error.reason),
    runningMs: options.runningMs ?? (() => performance.now()),
    wallMs: options.runningMs ?? Date.now,
  });
  const countErrors = (endpoint: string, count: number): void => {
    decodeErrors.set(endpoint, (decodeErrors.get(endpoint) ?? 0) + count);
  };
  const api = new ClusterApi(session, countErrors, { protobuf: options.protobuf ?? true });
  return {
    http,
    session,
    api,
    finished,
    retried,
    logins,
    decodeErrors,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

/** Stats with a deadline far beyond what a test takes. */
export function testStats(signal: AbortSignal = AbortSignal.timeout(20_000)): PollStats {
  return createPollStats(signal);
}
