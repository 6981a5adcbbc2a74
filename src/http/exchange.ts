import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { createAgents, type Proxy, type TlsOptions } from './agents.ts';
import { headerText, readBody, readErrorText } from './body.ts';
import { classifyStatus, classifyThrown, type RequestError } from './errors.ts';
import type { Target } from './targets.ts';
import { type RequestDeadlines, type RequestWatch, watchRequest } from './watch.ts';

/** The operation's name, as the label `endpoint`; never a path. */
export type Endpoint =
  | 'login'
  | 'logout'
  | 'nodes'
  | 'node_ranges'
  | 'sessions'
  | 'users'
  | 'table'
  | 'assistant'
  | 'other';

/** What became of one request; reported once for each that went out. */
export interface FinishedRequest {
  readonly endpoint: Endpoint;
  /** HTTP status, or `error` when no answer came. */
  readonly code: number | 'error';
  readonly seconds: number;
  /** Decoded bytes of the answer. */
  readonly bytes: number;
}

export interface ExchangeOptions {
  readonly tls: TlsOptions;
  readonly proxy?: Proxy | undefined;
  readonly deadlines: RequestDeadlines;
  readonly maxConcurrentRequests: number;
  readonly maxResponseBytes: number;
  /** Ask for gzip: saves network, costs the database node CPU. */
  readonly compression: boolean;
  readonly userAgent: string;
  readonly requestFinished: (request: FinishedRequest) => void;
}

export interface HttpRequest {
  readonly endpoint: Endpoint;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the configured URL, beginning with `/`; may carry a query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The request carries a token, so a 400 may mean that it was not understood. */
  readonly sentToken?: boolean;
  /** A 502 speaks of a node behind the URL: no other URL does better. */
  readonly proxied?: boolean;
  /** Most decoded bytes of the answer, where that is less than the client allows. */
  readonly maxBytes?: number;
  /** Gets the decoded bytes of a 2xx as they come; a chunk is only valid during the call. */
  readonly onChunk: (chunk: Uint8Array) => void;
}

export interface HttpAnswer {
  /** Any 2xx. */
  readonly status: number;
  /** Decoded bytes. */
  readonly bytes: number;
  /** The answer's Date header, ms since the epoch. */
  readonly dateMs: number | undefined;
}

/** What one try of a request is given besides what is asked. */
interface AttemptOptions {
  /** In place of the configured deadline. */
  readonly headersMs: number;
  readonly onHeaders: () => void;
}

/** One connection pool; sends one request to one URL. Redirects are not followed. */
export interface Exchange extends AsyncDisposable {
  /** Rejects with a RequestError, whatever went wrong. */
  send(target: Target, request: HttpRequest, options: AttemptOptions): Promise<HttpAnswer>;
  /** For connections from now on; requests under way end on theirs. */
  useTls(tls: TlsOptions): void;
}

/** What has come of an answer so far. */
interface Seen {
  code: FinishedRequest['code'];
  bytes: number;
}

interface Attempt {
  readonly target: Target;
  readonly request: HttpRequest;
  readonly watch: RequestWatch;
  readonly onHeaders: () => void;
  /** For messages: the operation and where it was sent. */
  readonly what: string;
}

export function createExchange(options: ExchangeOptions): Exchange {
  const { maxConcurrentRequests, proxy, deadlines } = options;
  const { headersMs } = deadlines;
  const agents = createAgents({ maxConcurrentRequests, headersMs, proxy }, options.tls);

  async function converse(attempt: Attempt, seen: Seen): Promise<HttpAnswer> {
    const { target, request, watch, what, onHeaders } = attempt;
    const response = await agents.current().request({
      origin: target.url.origin,
      path: target.url.pathname.replace(/\/$/, '') + request.path,
      method: request.method,
      headers: {
        accept: 'application/json',
        'accept-encoding': options.compression ? 'gzip' : 'identity',
        'user-agent': options.userAgent,
        ...request.headers,
      },
      body: request.body ?? null,
      signal: watch.signal,
    });
    watch.headersArrived();
    onHeaders();
    seen.code = response.statusCode;
    const { statusCode: status } = response;
    if (status < 200 || status > 299) throw await readRefusal(response, attempt);
    await readBody(response, {
      maxBytes: Math.min(request.maxBytes ?? Infinity, options.maxResponseBytes),
      acceptsGzip: options.compression,
      what,
      onArrived: (bytes) => watch.chunkArrived(bytes),
      onChunk: (chunk) => {
        seen.bytes += chunk.length;
        request.onChunk(chunk);
      },
    });
    return { status, bytes: seen.bytes, dateMs: readDate(response.headers) };
  }

  return {
    async send(target, request, { headersMs: thisHeadersMs, onHeaders }) {
      const what = `${request.endpoint} at ${target.name}`;
      if (request.signal.aborted) throw classifyThrown(request.signal.reason, what);
      const allowed = { ...options.deadlines, headersMs: thisHeadersMs };
      const watch = watchRequest(request.signal, allowed, what);
      const seen: Seen = { code: 'error', bytes: 0 };
      const startedAt = performance.now();
      try {
        return await converse({ target, request, watch, what, onHeaders }, seen);
      } catch (error) {
        throw judge(error, { request, watch, what });
      } finally {
        watch.stop();
        const seconds = (performance.now() - startedAt) / 1000;
        options.requestFinished({ endpoint: request.endpoint, seconds, ...seen });
      }
    },
    useTls: agents.useTls,
    [Symbol.asyncDispose]: () => agents[Symbol.asyncDispose](),
  };
}

async function readRefusal(
  response: Dispatcher.ResponseData,
  { request, watch, what }: Attempt,
): Promise<RequestError> {
  return classifyStatus(response.statusCode, what, {
    retryAfterSeconds: readRetryAfter(response.headers),
    serverText: await readErrorText(response.body, watch.signal),
    sentToken: request.sentToken === true,
  });
}

/** The failure as a RequestError that knows whether another URL may do better. */
function judge(
  error: unknown,
  { request, watch, what }: Pick<Attempt, 'request' | 'watch' | 'what'>,
): RequestError {
  // The abort's own reason says more than the library's AbortError.
  const isAbort = watch.signal.aborted && !(error instanceof Error && 'reason' in error);
  const judged = classifyThrown(isAbort ? watch.signal.reason : error, what);
  const speaksOfAnotherNode = request.proxied === true && judged.status === 502;
  return speaksOfAnotherNode ? judged.as(judged.reason, judged.message, false) : judged;
}

function readRetryAfter(headers: IncomingHttpHeaders): number | undefined {
  const text = headerText(headers['retry-after']).trim();
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

function readDate(headers: IncomingHttpHeaders): number | undefined {
  const milliseconds = Date.parse(headerText(headers.date));
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
