import type { Breaker, Pause } from './breaker.ts';
import type { RequestError } from './errors.ts';
import type { HttpRequest } from './request.ts';
import type { Upstream } from './upstream.ts';

// Pauses that servers request by Retry-After: of a URL, or of an endpoint, table or node.

/** A server that requests a longer pause gets one request then: a balancer may ask for years. */
export const MAX_PAUSE_MS = 2 * 60_000;
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;
/** Statuses that do not pass with time: their Retry-After is ignored. */
const LASTING_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 501]);

/** Undefined when the response requests none. */
export function pauseLengthMs({ status = 0, retryAfterSeconds }: RequestError): number | undefined {
  if (retryAfterSeconds === undefined || LASTING_STATUSES.has(status)) return undefined;
  return Math.min(retryAfterSeconds * 1000, MAX_PAUSE_MS);
}

/** Whether the URL is to be paused: after a 429, and after a 503 while another URL is free; else what was requested. */
export function isAboutUrl(
  { status }: RequestError,
  { node }: HttpRequest,
  isOtherFree: boolean,
): boolean {
  return (
    status === TOO_MANY_REQUESTS || (status === UNAVAILABLE && isOtherFree && node === undefined)
  );
}

/** The shortest pause of all URLs, where every one has a pause; of a URL the longest of its breakers counts. */
export function pauseEverywhere<T>(
  urls: readonly T[],
  breakersOf: (url: T) => readonly Breaker[],
): Pause | undefined {
  const pauses = urls.map((url) => {
    const [longest] = breakersOf(url)
      .flatMap(({ pause }) => pause ?? [])
      .toSorted((a, b) => b.untilMs - a.untilMs);
    return longest;
  });
  if (pauses.includes(undefined)) return undefined;
  return pauses.reduce((one, other) => ((other?.untilMs ?? 0) < (one?.untilMs ?? 0) ? other : one));
}

/** The longest pause that keeps an endpoint from all URLs. */
export function longestPause(upstreams: readonly Upstream[]): Pause | undefined {
  const names = new Set(upstreams.flatMap(({ endpoints }) => [...endpoints.keys()]));
  const ofUrls = pauseEverywhere(upstreams, ({ breaker }) => [breaker]);
  const ofEndpoints = [...names].map((name) =>
    pauseEverywhere(upstreams, (upstream) => [upstream.breaker, upstream.endpoint(name).breaker]),
  );
  const pauses = [ofUrls, ...ofEndpoints].filter((pause) => pause !== undefined);
  return pauses.toSorted((a, b) => b.untilMs - a.untilMs)[0];
}
