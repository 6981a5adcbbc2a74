import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { FinishedRequest } from '#metrics';
import { readErrorText } from '../protobuf/index.ts';
import { readBody } from './body.ts';
import { RequestError, type RequestTarget, statusError, toRequestError } from './errors.ts';
import { recordResponse } from './poll-stats.ts';
import {
  type HttpRequest,
  type HttpResponse,
  type RequestDeadlines,
  requestName,
  type RequestOptions,
} from './request.ts';
import { API_PATH, type Upstream } from './upstream.ts';

/** One request to one URL, with what has arrived of the response. */
export interface Attempt<T = unknown> {
  readonly request: HttpRequest<T>;
  readonly upstream: Upstream;
  /** How long it waits for the headers. */
  readonly headersMs: number;
  /** Shows whether a URL that was left alone works again, while another one works. */
  readonly isTrial: boolean;
  /** When the attempt began, by the clock of the client, ms. */
  readonly startMs: number;
  /** `arrivals` of the URL when the attempt was sent. */
  readonly arrivalsBefore: number;
  code: FinishedRequest['code'];
  /** The header Date of a response that succeeded, ms since the epoch. */
  dateMs?: number | undefined;
  /** A part of the body arrived. */
  hasBody: boolean;
}

/** Timers of a busy process run that late. */
const LATE_TIMER_MS = 1_000;

/** Enough of an error's body to recognize the known texts. */
const MAX_ERROR_TEXT = 4096;

/** Sends one request to one URL; redirects are not followed. Rejects with a RequestError, whatever went wrong. */
export async function performRequest<T>(
  attempt: Attempt<T>,
  dispatcher: Dispatcher,
  options: RequestOptions,
): Promise<T> {
  const { request, upstream } = attempt;
  const { endpoint, node, stats } = request;
  const { url, name } = upstream;
  const what = `${requestName(request)} at ${name}`;
  const target = { endpoint, node, url: url.href };
  const deadlines = { ...options.deadlines, headersMs: attempt.headersMs };
  const watch = watchDeadlines(stats.signal, deadlines, what, target);
  let received: Readable | undefined;
  let failure: RequestError | undefined;
  let bytes = 0;
  try {
    const response = await dispatcher.request({
      ...describeRequest(request, url, options),
      signal: watch.signal,
    });
    received = response.body;
    watch.headersArrived();
    attempt.code = response.statusCode;
    upstream.arrivals += 1;
    if (response.statusCode < 200 || response.statusCode > 299) {
      throw await readFailure(request, response, what, target);
    }
    const head = readHead(response, attempt, options.runningMs());
    attempt.dateMs = head.dateMs;
    request.onHeaders?.(head);
    const maxBytes = Math.min(request.maxBytes ?? Infinity, options.maxResponseBytes);
    const body = unpack(response, options.compression, what, target);
    const take = (chunks: readonly Uint8Array[], length: number): void => {
      attempt.hasBody = true;
      upstream.arrivals += 1;
      watch.chunkArrived(length);
      if (bytes + length > maxBytes) {
        const text = `${what}: the response is larger than ${maxBytes} bytes`;
        throw new RequestError('limit', text, { ...target, limit: 'bytes' });
      }
      bytes += length;
      request.onChunks(chunks);
    };
    // Zlib uses its buffers again.
    await readBody(body, take, { frees: body === response.body });
    watch.chunkArrived(0);
    stats.pages += 1;
    stats.bytes += bytes;
    return request.onEnd(head);
  } catch (error) {
    // The rest of a refused response is not read. Destroying it is an error of its own.
    received?.on('error', () => undefined).destroy();
    // The abort's own reason is more precise than the library's AbortError.
    const isAbort = watch.signal.aborted && !(error instanceof RequestError);
    failure = toRequestError(isAbort ? watch.signal.reason : error, what, target);
    throw failure;
  } finally {
    watch.stop();
    reportEnd(attempt, options, bytes, failure);
  }
}

/** Reports what came of an attempt, and when its response arrived if one did. */
function reportEnd(
  attempt: Attempt,
  { requestFinished, runningMs }: RequestOptions,
  bytes: number,
  failure: RequestError | undefined,
): void {
  const { request, code, dateMs, startMs } = attempt;
  const endMs = runningMs();
  const seconds = (endMs - startMs) / 1000;
  requestFinished({ endpoint: request.endpoint, seconds, code, bytes, dateMs });
  if (hasResponded(attempt, failure)) recordResponse(request.stats, startMs, endMs);
}

function describeRequest(
  { method, path, isBesideApi, headers, body }: HttpRequest,
  { origin, pathname }: URL,
  { compression, userAgent, headers: commonHeaders }: RequestOptions,
) {
  return {
    origin,
    path: pathname.replace(isBesideApi === true ? API_PATH : /\/$/, '') + path,
    method,
    headers: {
      accept: 'application/json',
      'accept-encoding': compression ? 'gzip' : 'identity',
      'cache-control': 'no-cache',
      'user-agent': userAgent,
      ...commonHeaders,
      ...headers,
    },
    body: body ?? null,
  };
}

/** The body as the server's application wrote it. An encoding that was not requested is refused without unpacking it. */
function unpack(
  { headers, body }: Dispatcher.ResponseData,
  acceptsGzip: boolean,
  what: string,
  target: RequestTarget,
): Readable {
  const encoding = headerText(headers, 'content-encoding').toLowerCase();
  if (encoding === '' || encoding === 'identity') return body;
  // Errors reach the reader through the stream that is returned.
  const isGzip = encoding === 'gzip' || encoding === 'x-gzip';
  if (isGzip && acceptsGzip) return pipeline(body, createGunzip(), () => undefined);
  const requested = acceptsGzip ? 'gzip' : 'identity';
  const text = `the content-encoding is not ${requested}, as requested`;
  const remedy = 'look for a proxy that changes the content-encoding of responses';
  throw new RequestError('decode', `${what}: ${text}`, { ...target, remedy });
}

/** Whether a whole response arrived. */
function hasResponded({ code }: Attempt, failure: RequestError | undefined): boolean {
  if (code === 'error' || failure === undefined) return code !== 'error';
  if (failure.status !== undefined) return !failure.isNodeTimeout;
  return failure.reason !== 'timeout' && failure.reason !== 'network';
}

/** The failure of a response that is not 2xx, with the start of its body as text. */
async function readFailure(
  request: HttpRequest,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  what: string,
  target: RequestTarget,
): Promise<RequestError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_ERROR_TEXT) break;
    }
  } catch {
    // A body that broke off costs only the hint in the message.
  }
  const start = Buffer.concat(chunks);
  const serverText = hasProtobuf(headers) ? readErrorText(start) : start.toString();
  return statusError(statusCode, what, {
    ...target,
    serverText: serverText.slice(0, MAX_ERROR_TEXT),
    retryAfterSeconds: readRetryAfter(headers),
    leadsToHttps: leadsToHttps(headers, target),
    sentToken: request.sentToken === true,
    proxied: request.proxied === true,
  });
}

/** The two names by which servers know the form. */
const PROTOBUF_TYPES = /^application\/x-(?:google-)?protobuf\b/i;

function hasProtobuf(headers: IncomingHttpHeaders): boolean {
  return PROTOBUF_TYPES.test(headerText(headers, 'content-type'));
}

/** A header as one text; undici gives a list where the server sent it several times. */
function headerText(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '').trim();
}

/** A time is one of the server's clock, which the Date shows; the clock of this host may be wrong. */
function readRetryAfter(headers: IncomingHttpHeaders): number | undefined {
  const text = headerText(headers, 'retry-after');
  const nowMs = Date.parse(headerText(headers, 'date')) || Date.now();
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** Whether a redirect leads to https of the same host, as a secure node sends it, and not to a login elsewhere. */
function leadsToHttps(headers: IncomingHttpHeaders, { url = '' }: RequestTarget): boolean {
  const [from, to] = [url, headerText(headers, 'location')].map((text) => URL.parse(text));
  return to?.protocol === 'https:' && from?.hostname === to.hostname;
}

function readHead(
  { statusCode, headers }: Dispatcher.ResponseData,
  { upstream, startMs }: Attempt,
  arrivedMs: number,
): HttpResponse {
  const dateMs = Date.parse(headerText(headers, 'date')) || undefined;
  const ageSeconds = Number(/^\d+$/.exec(headerText(headers, 'age')) ?? 0);
  return {
    status: statusCode,
    url: upstream.name,
    urlIndex: upstream.index,
    sentMs: startMs,
    arrivedMs,
    dateMs,
    ageSeconds,
    isProtobuf: hasProtobuf(headers),
  };
}

/**
 * Watches one request: the signal aborts with a RequestError (timeout) when headers, the next chunk or the minimum rate
 * are missing, or with the reason of `parent` when that aborts. A stalled or trickling server fails one request; it cannot hold a slot.
 */
export function watchDeadlines(
  parent: AbortSignal,
  deadlines: RequestDeadlines,
  what: string,
  target: RequestTarget = {},
) {
  const controller = new AbortController();
  const signal: AbortSignal = controller.signal;
  const fail = (late: RequestError['late'], text: string, ms = Infinity): void => {
    // Nobody knows how long a server took while this process was stopped.
    const blame = wasStopped(ms) ? ({ blames: 'nobody' } as const) : {};
    const details = { ...target, late, ...blame };
    controller.abort(new RequestError('timeout', `${what}: ${text}`, details));
  };
  const onParentAbort = (): void => controller.abort(parent.reason);
  parent.addEventListener('abort', onParentAbort, { once: true });

  const { headersMs, idleMs, minBytesPerSecond, rateGraceMs } = deadlines;
  const noHeaders = (): void =>
    fail('headers', `no headers within ${headersMs / 1000} s`, headersMs);
  const noData = (): void => fail('chunk', `no data for ${idleMs / 1000} s`, idleMs);
  let timer = setTimeout(noHeaders, headersMs);
  let startedAt = performance.now();
  let lastAt = startedAt;
  let received = 0;
  /** Whether the deadline was missed by far: its timer would have run before. */
  const wasStopped = (ms: number, nowMs = performance.now()): boolean =>
    nowMs - lastAt > ms + LATE_TIMER_MS;
  /**
   * Fails what is read long after its deadline: what arrives as the process is stopped is read before timers run. Example: a
   * response of 12:00:00 is read at 12:05:00, when a paused container goes on.
   */
  const assertInTime = (ms: number, missed: () => void): void => {
    const nowMs = performance.now();
    if (wasStopped(ms, nowMs)) missed();
    lastAt = nowMs;
    signal.throwIfAborted();
  };
  return {
    signal,
    headersArrived() {
      clearTimeout(timer);
      assertInTime(headersMs, noHeaders);
      startedAt = lastAt;
      timer = setTimeout(noData, idleMs);
    },
    chunkArrived(bytes: number) {
      received += bytes;
      timer.refresh();
      assertInTime(idleMs, noData);
      const elapsedMs = lastAt - startedAt;
      if (elapsedMs < rateGraceMs) return;
      if (received * 1000 < minBytesPerSecond * elapsedMs) {
        fail('body', `slower than ${minBytesPerSecond} bytes per second`);
      }
    },
    stop() {
      clearTimeout(timer);
      parent.removeEventListener('abort', onParentAbort);
    },
  };
}
