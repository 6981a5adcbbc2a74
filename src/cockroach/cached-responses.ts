import { crc32 } from 'node:zlib';
import type { Endpoint } from '#base';
import { RequestError } from './http/errors.ts';
import type { HttpResponse } from './http/request.ts';

/** How old a response may be; also a fast proxy keeps one for a moment. */
const MAX_AGE_SECONDS = 5;
/** Responses that are remembered: three URLs with 3,000 nodes each. */
const MAX_REMEMBERED = 10_000;

/** A response that a cache has kept: its data is old. */
export class CachedResponseError extends RequestError {}

interface Remembered {
  readonly dateMs: number;
  readonly arrivedMs: number;
}

/**
 * Finds responses that a cache in front of the cluster has kept: by their header Age, and by a Date that a URL has sent
 * for the same request before. Example: `/nodes/` has the Date 12:00:00 at 12:00:01 and again when it is sent at 12:00:31.
 */
export class CachedResponses {
  /** By URL and path, the longest unseen first. Of a path only a checksum is kept: it may have 200 ids of ranges. */
  readonly #last = new Map<string, Remembered>();

  /** Throws a CachedResponseError when the response to a GET was kept by a cache. */
  check(
    request: { readonly endpoint: Endpoint; readonly path: string; readonly node?: number },
    response: HttpResponse,
  ): void {
    const { ageSeconds = 0, dateMs, sentMs } = response;
    if (ageSeconds > MAX_AGE_SECONDS) {
      throw cached(request, response, `the response was kept for ${ageSeconds} s (header Age)`);
    }
    if (dateMs === undefined) return;
    const key = `${response.url} ${crc32(request.path)}`;
    const last = this.#last.get(key);
    if (last?.dateMs !== dateMs) return this.#remember(key, response, dateMs);
    const agoSeconds = (sentMs - last.arrivedMs) / 1000;
    if (agoSeconds <= MAX_AGE_SECONDS) return;
    const what = `the same response as ${Math.round(agoSeconds)} s ago (header Date)`;
    throw cached(request, response, what);
  }

  #remember(key: string, { arrivedMs }: HttpResponse, dateMs: number): void {
    this.#last.delete(key);
    this.#last.set(key, { dateMs, arrivedMs });
    if (this.#last.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#last.keys()) {
      this.#last.delete(oldest);
      return;
    }
  }
}

function cached(
  { endpoint, node }: { readonly endpoint: Endpoint; readonly node?: number },
  { url }: HttpResponse,
  what: string,
): CachedResponseError {
  const text = `${endpoint} at ${url}: ${what}: a cache in front of the cluster answered, which must pass every request on`;
  return new CachedResponseError('decode', text, { endpoint, node });
}
