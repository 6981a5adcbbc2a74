import type { IncomingHttpHeaders } from 'node:http';
import pLimit from 'p-limit';
import { Agent, type Dispatcher } from 'undici';
import { orAborted } from './abort.ts';
import { readBody, readErrorText } from './body.ts';
import { classifyStatus, classifyThrown, RequestError } from './errors.ts';
import { createTargets, orderTargets, type Target, type TargetState } from './targets.ts';
import { type RequestDeadlines, type RequestWatch, watchRequest } from './watch.ts';

/** Of TCP and TLS together; a black-holed host must not eat the time that the next URL needs. */
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;

export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized: boolean;
}

/** What became of one attempt; reported once for each request that went out. */
export interface FinishedRequest {
  readonly endpoint: string;
  /** HTTP status, or `error` when no answer came. */
  readonly code: string;
  readonly seconds: number;
  /** Decoded bytes of the answer. */
  readonly bytes: number;
}

export interface HttpClientOptions {
  readonly urls: readonly string[];
  readonly tls: TlsOptions;
  readonly deadlines: RequestDeadlines;
  readonly maxConcurrentRequests: number;
  readonly maxResponseBytes: number;
  /** Ask for gzip: saves network, costs the database node CPU. */
  readonly compression: boolean;
  readonly userAgent: string;
  /** How long a bad URL is left alone. */
  readonly breakerOpenMs: number;
  readonly monotonicMs: () => number;
  readonly requestFinished: (request: FinishedRequest) => void;
}

export interface HttpRequest {
  /** The operation's name, as in metrics; never a path. */
  readonly endpoint: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the configured URL, beginning with `/`; may carry a query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The request carries a token, so a 400 may mean that it was not understood. */
  readonly sentToken?: boolean;
  /** Index of the URL to begin with. */
  readonly firstUrl?: number;
  /** A 502 speaks of a node behind the URL, not of the URL. */
  readonly proxied?: boolean;
  /** One sick gateway can answer 500 to everything: ask once more at the next URL. */
  readonly repeatOn500?: boolean;
  /** Gets the decoded bytes of a 200 as they come; the chunk is only valid during the call. */
  readonly onChunk: (chunk: Uint8Array) => void;
}

export interface HttpAnswer {
  /** Decoded bytes. */
  readonly bytes: number;
  /** The answer's Date header, ms since the epoch. */
  readonly dateMs: number | undefined;
}

export interface HttpClient extends AsyncDisposable {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** True while at least one URL may be asked. */
  available(): boolean;
  targets(): readonly TargetState[];
}

/**
 * The one door to one API of one cluster: bounded requests in flight, deadlines, no redirects, the
 * next URL when one is bad. Failures are RequestErrors with a reason of the closed list.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const targets = createTargets(options.urls, {
    openMs: options.breakerOpenMs,
    monotonicMs: options.monotonicMs,
  });
  const limit = pLimit(options.maxConcurrentRequests);
  const agent = new Agent({
    allowH2: false,
    connections: options.maxConcurrentRequests,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Our own watch knows when headers and chunks are due; undici's timers are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      ...options.tls,
      minVersion: 'TLSv1.2',
      timeout: Math.min(CONNECT_TIMEOUT_MS, options.deadlines.headersMs),
    },
  });

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    let lastError: RequestError | undefined;
    for (const target of orderTargets(targets, request.firstUrl ?? 0)) {
      if (!target.breaker.admit()) continue;
      try {
        return await attempt(target, request);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        const askNext = error.blamesUrl || (error.status === 500 && request.repeatOn500 === true);
        if (!askNext || request.signal.aborted) throw error;
        // A second 500 is the cluster's answer, not one gateway's.
        if (lastError?.status === 500 && error.status === 500) throw error;
        lastError = error;
      }
    }
    throw lastError ?? new RequestError('breaker_open', `${request.endpoint}: every URL is bad`);
  }

  /** One request to one URL; its breaker learns what that says of the URL. */
  async function attempt(target: Target, request: HttpRequest): Promise<HttpAnswer> {
    let learned = false;
    try {
      const answer = await orAborted(
        limit(() => exchange(target, request)),
        request.signal,
        `${request.endpoint}: waiting for a free slot`,
      );
      target.breaker.succeeded();
      learned = true;
      return answer;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.blamesUrl) target.breaker.failed();
      else if (error.status !== undefined) target.breaker.succeeded();
      else target.breaker.released();
      learned = true;
      throw error;
    } finally {
      if (!learned) target.breaker.released();
    }
  }

  async function exchange(target: Target, request: HttpRequest): Promise<HttpAnswer> {
    request.signal.throwIfAborted();
    const what = `${request.endpoint} at ${target.name}`;
    const watch = watchRequest(request.signal, options.deadlines, what);
    const startedAt = performance.now();
    const outcome = { code: 'error', bytes: 0 };
    try {
      return await converse(target, request, watch, { what, outcome });
    } catch (error) {
      throw judge(error, request, { watch, what, headersMs: options.deadlines.headersMs });
    } finally {
      watch.stop();
      options.requestFinished({
        endpoint: request.endpoint,
        seconds: (performance.now() - startedAt) / 1000,
        ...outcome,
      });
    }
  }

  async function converse(
    target: Target,
    request: HttpRequest,
    watch: RequestWatch,
    note: { readonly what: string; readonly outcome: { code: string; bytes: number } },
  ): Promise<HttpAnswer> {
    const response = await agent.request(describeRequest(target, request, watch.signal, options));
    watch.headersArrived();
    note.outcome.code = String(response.statusCode);
    if (response.statusCode !== 200) {
      throw classifyStatus(response.statusCode, note.what, {
        ...readRetryAfter(response.headers),
        serverText: await readErrorText(response.body, watch.signal),
        sentToken: request.sentToken === true,
      });
    }
    await readBody(response, {
      maxBytes: options.maxResponseBytes,
      what: note.what,
      onArrived: (bytes) => watch.chunkArrived(bytes),
      onChunk: (chunk) => {
        note.outcome.bytes += chunk.length;
        request.onChunk(chunk);
      },
    });
    return { bytes: note.outcome.bytes, dateMs: readDate(response.headers) };
  }

  return {
    send,
    available: () => targets.some((target) => target.breaker.state() !== 'open'),
    targets: () =>
      targets.map((target) => ({ target: target.name, state: target.breaker.state() })),
    async [Symbol.asyncDispose]() {
      limit.clearQueue();
      await agent.destroy();
    },
  };
}

function describeRequest(
  target: Target,
  request: HttpRequest,
  signal: AbortSignal,
  options: HttpClientOptions,
): Dispatcher.RequestOptions {
  return {
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
    signal,
  };
}

/** The failure as a RequestError that knows whether the URL is to blame. */
function judge(
  error: unknown,
  request: HttpRequest,
  known: { readonly watch: RequestWatch; readonly what: string; readonly headersMs: number },
): RequestError {
  const { watch, what, headersMs } = known;
  // The abort's own reason says more than the library's AbortError.
  const aborted = watch.signal.aborted && !(error instanceof RequestError);
  const judged = classifyThrown(aborted ? watch.signal.reason : error, what);
  // A poll that ended while the URL had long been silent: let the next poll begin elsewhere.
  if (judged.reason === 'timeout' && watch.silentMs() > headersMs / 2) {
    return judged.as('timeout', `${what}: no headers came`, true);
  }
  if (request.proxied !== true || judged.status !== 502) return judged;
  return judged.as(judged.reason, judged.message, false);
}

function readRetryAfter(headers: IncomingHttpHeaders): { retryAfterSeconds?: number } {
  const text = headers['retry-after'];
  if (text === undefined) return {};
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? { retryAfterSeconds: Math.max(0, seconds) } : {};
}

function readDate(headers: IncomingHttpHeaders): number | undefined {
  const milliseconds = Date.parse(headers.date ?? '');
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
