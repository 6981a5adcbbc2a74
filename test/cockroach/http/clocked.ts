import { RequestError, statusError, toRequestError } from '../../../src/cockroach/http/errors.ts';
import { Health } from '../../../src/cockroach/http/health.ts';
import type { HttpRequest } from '../../../src/cockroach/http/request.ts';
import type { Upstream } from '../../../src/cockroach/http/upstream.ts';
import { testStats } from '../../support/cluster.ts';

export const REQUEST: HttpRequest = {
  endpoint: 'nodes',
  method: 'GET',
  path: '/nodes/',
  stats: testStats(),
  onChunks: () => undefined,
  onEnd: () => undefined,
};
export const USERS: HttpRequest = { ...REQUEST, endpoint: 'users' };
export const OF_NODE_3: HttpRequest = { ...REQUEST, endpoint: 'node_ranges', node: 3 };
export const OF_NODE_4: HttpRequest = { ...OF_NODE_3, node: 4 };
export const LATE = new RequestError('timeout', 'no headers', { late: 'headers' });

export function failure(code: string): RequestError {
  return toRequestError(Object.assign(new Error('failed'), { code }), 'nodes');
}

/** The error of a response with this status, with this Retry-After, about this node. */
export function status(code: number, retryAfterSeconds?: number, node?: number): RequestError {
  return statusError(code, 'nodes', { retryAfterSeconds, node });
}

/** A request whose poll is over. */
export function over(request: HttpRequest = REQUEST): HttpRequest {
  return { ...request, stats: { ...request.stats, signal: AbortSignal.abort() } };
}

/** The health of the URLs a, b and so on. The clock is the test's. */
export function create(urls: number) {
  const clock = { now: 100_000 };
  const health = new Health(
    Array.from({ length: urls }, (_, at) => `http://${'abcdef'[at]}`),
    {
      breakerOpenMs: 10_000,
      deadlines: { headersMs: 30_000 },
      maxDuty: 0.1,
      runningMs: () => clock.now,
    },
  );
  const upstream = (at: number) => {
    const found = health.upstreams[at];
    if (found === undefined) throw new Error(`there is no URL ${at}`);
    return found;
  };
  return {
    clock,
    health,
    upstream,
    /** The URLs that a round of this request goes through, as `abc`. */
    order: (request: HttpRequest = REQUEST): string => {
      const tried = new Map<Upstream, RequestError>();
      for (let next = health.choose(request, tried); next; next = health.choose(request, tried)) {
        tried.set(next, LATE);
      }
      return Array.from(tried.keys(), ({ url }) => url.hostname).join('');
    },
    /** What is left of the pause of these requests. */
    pausedMs: (request: HttpRequest): number =>
      Math.max(0, (health.pauseOf(request)?.untilMs ?? 0) - clock.now),
    states: (): readonly string[] => health.upstreams.map(({ breaker }) => breaker.state),
    /** A request to this URL that is answered after 10 ms. */
    answer: (at: number, request = REQUEST): void => {
      const attempt = health.begin(upstream(at), request);
      clock.now += 10;
      upstream(at).arrivals += 1;
      health.succeeded(attempt);
    },
    /** A request to this URL that fails after 60 ms; with a code after headers. Returns whether the URL seems silent. */
    fail: (
      at: number,
      error: RequestError,
      request = REQUEST,
      code: number | 'error' = 'error',
    ): boolean => {
      const attempt = health.begin(upstream(at), request);
      clock.now += 60;
      if (code !== 'error') upstream(at).arrivals += 1;
      return health.failed({ ...attempt, code }, error);
    },
    /** A request to this URL that gets no headers in so much time, in which the URL sends other things or not. */
    silence: (
      at: number,
      request = REQUEST,
      { ms = 30_000, others = false }: { readonly ms?: number; readonly others?: boolean } = {},
    ): boolean => {
      const attempt = health.begin(upstream(at), request);
      clock.now += ms;
      if (others) upstream(at).arrivals += 1;
      return health.failed(attempt, LATE);
    },
    deadline: (at: number, request = REQUEST): number =>
      health.begin(upstream(at), request).headersMs,
  };
}
