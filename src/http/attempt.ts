import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { readBody } from './body.ts';
import { type RequestDeadlines, watchDeadlines } from './deadlines.ts';
import {
  type FailureDetails,
  isNodeTimeout,
  RequestError,
  type RequestTarget,
  statusError,
  toRequestError,
} from './errors.ts';
import { recordAnswer } from './poll-stats.ts';
import {
  type Attempt,
  type FinishedRequest,
  type HttpRequest,
  type HttpResponse,
  targetOf,
} from './request.ts';

/** Enough of an error's body to recognize the known texts. */
const MAX_ERROR_TEXT = 4096;

export interface RequestOptions {
  readonly deadlines: RequestDeadlines;
  readonly maxResponseBytes: number;
  /** Request gzip: saves network, costs the database node CPU. */
  readonly compression: boolean;
  readonly userAgent: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly requestFinished: (request: FinishedRequest) => void;
  readonly monotonicMs: () => number;
}

/** Sends one request to one URL; redirects are not followed. Rejects with a RequestError, whatever went wrong. */
export async function performRequest<T>(
  request: HttpRequest<T>,
  attempt: Attempt,
  dispatcher: Dispatcher,
  options: RequestOptions,
): Promise<T> {
  const { endpoint, stats } = request;
  const what = `${endpoint} at ${attempt.upstream.name}`;
  const deadlines = { ...options.deadlines, headersMs: attempt.headersMs };
  const target = targetOf(request, attempt.upstream);
  const watch = watchDeadlines(stats.signal, deadlines, what, target);
  let failure: RequestError | undefined;
  try {
    const response = await dispatcher.request({
      ...describeRequest(request, attempt.upstream, options),
      signal: watch.signal,
    });
    watch.headersArrived();
    attempt.code = response.statusCode;
    attempt.onHeaders();
    if (response.statusCode < 200 || response.statusCode > 299) {
      const text = await readErrorText(response.body, watch.signal);
      throw readStatusError(request, response, what, { ...target, serverText: text });
    }
    const head = readHead(response, attempt);
    request.onHeaders?.(head);
    response.body.on('data', (chunk: Buffer) => {
      attempt.hasBody = true;
      watch.chunkArrived(chunk.length);
    });
    const maxBytes = Math.min(request.maxBytes ?? Infinity, options.maxResponseBytes);
    const body = unpack(response, options.compression, what, target);
    const take = (chunk: Uint8Array): void => {
      if (attempt.bytes + chunk.length > maxBytes) {
        const text = `${what}: the response is larger than ${maxBytes} bytes`;
        throw new RequestError('limit', text, { ...target, limit: 'bytes' });
      }
      attempt.bytes += chunk.length;
      request.onChunk(chunk);
    };
    // Zlib uses its buffers again.
    await readBody(body, take, { frees: body === response.body });
    stats.pages += 1;
    stats.bytes += attempt.bytes;
    return request.onEnd(head);
  } catch (error) {
    // The abort's own reason is more precise than the library's AbortError.
    const isAbort = watch.signal.aborted && !(error instanceof RequestError);
    failure = toRequestError(isAbort ? watch.signal.reason : error, what, target);
    throw failure;
  } finally {
    watch.stop();
    const { code, bytes, startMs } = attempt;
    const endMs = options.monotonicMs();
    options.requestFinished({ endpoint, seconds: (endMs - startMs) / 1000, code, bytes });
    const isAnswer = code !== 'error' && !(failure && isIncomplete(failure, request));
    if (isAnswer) recordAnswer(stats, startMs, endMs);
  }
}

/** The end of a configured URL. */
const API_PATH = /(?:\/api\/v2)?\/?$/;

function describeRequest(
  { method, path, isBesideApi, headers, body }: HttpRequest,
  { url }: Attempt['upstream'],
  { compression, userAgent, headers: commonHeaders }: RequestOptions,
) {
  return {
    origin: url.origin,
    path: url.pathname.replace(isBesideApi === true ? API_PATH : /\/$/, '') + path,
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

function readStatusError(
  request: HttpRequest,
  { statusCode, headers }: Dispatcher.ResponseData,
  what: string,
  details: FailureDetails,
): RequestError {
  return statusError(statusCode, what, {
    ...details,
    retryAfterSeconds: readRetryAfter(headers),
    sentToken: request.sentToken === true,
    proxied: request.proxied === true,
  });
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
  const isGzip = encoding === 'gzip' || encoding === 'x-gzip';
  // Errors reach the reader through the stream that is returned.
  if (isGzip && acceptsGzip) return pipeline(body, createGunzip(), () => undefined);
  body.on('error', () => undefined).destroy();
  const name = isGzip ? 'gzip' : 'another one';
  const requested = acceptsGzip ? 'gzip' : 'identity';
  throw new RequestError(
    'decode',
    `${what}: the content-encoding is ${name}, although ${requested} was requested: look for a proxy that changes it`,
    target,
  );
}

/** Whether no response arrived, or only a part of one. */
function isIncomplete(failure: RequestError, request: HttpRequest): boolean {
  if (failure.status !== undefined) return isNodeTimeout(failure, request);
  return failure.reason === 'timeout' || failure.reason === 'network';
}

/** The start of an error's body as text. A body that breaks off proves no more than its status. */
async function readErrorText(body: Readable, signal: AbortSignal): Promise<string> {
  let text = '';
  try {
    for await (const chunk of body.setEncoding('utf8')) {
      text += chunk;
      if (text.length >= MAX_ERROR_TEXT) break;
    }
  } catch {
    // A body that broke off costs only the hint in the message.
    signal.throwIfAborted();
  }
  return text.slice(0, MAX_ERROR_TEXT);
}

/** A header as one text; undici gives a list where the server sent it several times. */
function headerText(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '').trim();
}

function readRetryAfter(headers: IncomingHttpHeaders): number | undefined {
  const text = headerText(headers, 'retry-after');
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

function readHead(
  { statusCode, headers }: Dispatcher.ResponseData,
  { upstream }: Attempt,
): HttpResponse {
  const dateMs = Date.parse(headerText(headers, 'date')) || undefined;
  const ageSeconds = Number(/^\d+$/.exec(headerText(headers, 'age')) ?? 0);
  return { status: statusCode, dateMs, ageSeconds, url: upstream.url.href };
}
