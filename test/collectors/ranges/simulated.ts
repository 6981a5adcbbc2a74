import { type ClusterApi, createClusterApi } from '../../../src/cluster/api.ts';
import { createConnection } from '../../../src/cluster/connection.ts';
import { createHttpClient } from '../../../src/http/client.ts';
import type { Simulator } from '../../../src/simulator/index.ts';

export interface SimulatedApi extends AsyncDisposable {
  readonly api: ClusterApi;
  /** Fields or elements of a wrong shape so far. */
  decodeErrors(): number;
}

/** The cluster API over real sockets to a simulator. */
export function simulatedApi(simulator: Simulator): SimulatedApi {
  let decodeErrors = 0;
  const http = createHttpClient({
    urls: simulator.clusterUrls.map((url) => `${url}/api/v2`),
    tls: { rejectUnauthorized: true },
    deadlines: { headersMs: 10_000, idleMs: 5_000, minBytesPerSecond: 0, rateGraceMs: 5_000 },
    maxConcurrentRequests: 4,
    maxResponseBytes: 1 << 30,
    compression: false,
    userAgent: 'test',
    breakerOpenMs: 10,
    monotonicMs: () => performance.now(),
    random: () => 0,
    requestFinished: () => undefined,
    requestRetried: () => undefined,
  });
  const connection = createConnection({
    http,
    session: {
      credentials: {
        username: simulator.username,
        password: () => Promise.resolve(simulator.password),
      },
      headerNames: ['X-Cockroach-API-Session', 'X-Service-API-Session'],
      loginTried: () => undefined,
      loginFailed: () => undefined,
      monotonicMs: () => performance.now(),
    },
    loginTimeoutMs: 10_000,
    decodeErrors: (_endpoint, count) => {
      decodeErrors += count;
    },
  });
  return {
    api: createClusterApi(connection),
    decodeErrors: () => decodeErrors,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
