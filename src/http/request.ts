import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Endpoint } from '../vocabulary.ts';
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
import { type PollStats, recordAnswer } from './poll-stats.ts';
import type { Upstream } from './upstream.ts';

/** Enough of an error's body to recognize the known texts. */
const MAX_ERROR_TEXT = 4096;

export interface HttpRequest<T = unknown> {
  readonly endpoint: Endpoint;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the configured URL, beginning with `/`; may carry a query. */
  readonly path: string;
  /** The path is not below `/api/v2` but beside it: `https://proxy/crdb/_status/…` for `https://proxy/crdb/api/v2`. */
  readonly isBesideApi?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The poll that needs the response: its signal ends the request, its counts grow. */
  readonly stats: PollStats;
  /** The request carries a token, so a 400 may mean that it was not understood. */
  readonly sentToken?: boolean;
  /** The node that prepares the response behind the URL: its silence is not the URL's. */
  readonly node?: number;
  /** The URL's host forwards the request to the node: a 502 is about the node, and no other URL does better. */
  readonly proxied?: boolean;
  /** To the headers of the response, where that is not the time that the client allows. */
  readonly headersMs?: number;
  /** A table, which may fail without the other tables. */
  readonly part?: string;
  /** Index of the URL to begin with. */
  readonly firstUrl?: number;
  /** A single gateway may answer 500 to everything: try once more at the next URL. */
  readonly retryOn500?: boolean;
  /** Never sent again, also not to another URL: the next poll will do. */
  readonly isSentOnce?: boolean;
  /** Maximum of decoded bytes of a successful response, where that is less than the client allows. */
  readonly maxBytes?: number;
  /** Called before the first bytes of a successful response. */
  readonly onHeaders?: (response: HttpResponse) => void;
  /** Takes decoded bytes as they arrive; a chunk is only valid during the call. */
  readonly onChunk: (chunk: Uint8Array) => void;
  /** Returns the result of the request, or throws its failure. */
  readonly onEnd: (response: HttpResponse) => T;
}

export interface HttpResponse {
  /** Any 2xx. */
  readonly status: number;
  /** The header Date, ms since the epoch. */
  readonly dateMs: number | undefined;
  /** The header Age: how long a cache has kept the response. */
  readonly ageSeconds?: number | undefined;
  /** The configured URL that answered. */
  readonly url?: string;
}

/** The name of what a request is about: a node, a table or an endpoint. */
export function nameOf({ node, part, endpoint }: HttpRequest): string {
  return node === undefined ? (part ?? endpoint) : `node ${node}`;
}

/** What a failure of the request at this URL names. */
export function targetOf({ endpoint, node }: HttpRequest, { url }: Upstream): RequestTarget {
  return { endpoint, node, url: url.href };
}

/** The outcome of one request; reported once for each that was sent. */
export interface FinishedRequest {
  readonly endpoint: Endpoint;
  /** HTTP status, or `error` when no response came. */
  readonly code: number | 'error';
  readonly seconds: number;
  /** Decoded bytes of the response. */
  readonly bytes: number;
}

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

/** One try of a request at one URL, with what has been received. */
export interface Attempt {
  readonly upstream: Upstream;
  /** In place of the configured deadline. */
  readonly headersMs: number;
  readonly onHeaders: () => void;
  /** By the clock of the client. */
  readonly startMs: number;
  code: FinishedRequest['code'];
  /** Decoded bytes that were handed on. */
  bytes: number;
  /** A part of the body arrived. */
  hasBody: boolean;
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
  { url }: Upstream,
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
    // Without the text only the hint in the message is poorer.
    signal.throwIfAborted();
  }
  return text.slice(0, MAX_ERROR_TEXT);
}

/** The reader of a small response that is parsed as a whole. */
export function bufferBody<T>(
  maxBytes: number,
  parse: (body: Buffer, response: HttpResponse) => T,
) {
  const chunks: Uint8Array[] = [];
  return {
    maxBytes,
    onChunk: (chunk: Uint8Array) => chunks.push(Buffer.from(chunk)),
    onEnd: (response: HttpResponse) => parse(Buffer.concat(chunks), response),
  };
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
