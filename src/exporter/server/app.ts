import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import express from 'express';
import type { Log, TlsRefusal } from '#base';
import type { Config, WebConfig } from '#config';
import { type Route, SENDING, sendText } from '../routes/respond.ts';
import { type ComparePassword, createAuthenticator } from './login.ts';
import type { WebConfigWatcher } from './web-config-watcher.ts';

export interface WebServerOptions {
  readonly web: Pick<Config['web'], 'listen_address' | 'protect_probes'>;
  readonly routes: readonly Route[];
  /** Disposed with the server. */
  readonly webConfig: WebConfigWatcher;
  /** Descriptors of sockets that are already listening; used instead of the addresses when there are any. */
  readonly sockets?: readonly number[] | undefined;
  /** Counts a connection that was refused or closed because too many were open. */
  readonly connectionDropped: () => void;
  /** Counts a client that was refused because of TLS. */
  readonly tlsRefused: (reason: TlsRefusal) => void;
  readonly timeouts?: Readonly<typeof SERVER_TIMEOUTS> | undefined;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** How long clients may be slow. */
export const SERVER_TIMEOUTS = {
  /** A client has this time from the connection to the end of the headers of a request. */
  headersMs: 10_000,
  /** A client has this time to the end of a request. */
  requestMs: 30_000,
  /** How often these two are checked. */
  checkMs: 5_000,
  /** A client that takes nothing of its response for this long is cut off. */
  sendMs: 60_000,
  /** A client that has not taken all of its response after this time is cut off: until then the response stays in memory. */
  sendAllMs: 120_000,
};

/** Far longer than what Prometheus sends; the parser refuses more than 16 KiB with all headers. */
const MAX_URL_LENGTH = 8_192;
const MAX_PARAMETERS = 256;

/** Rate limit and headers, then authentication: the order of the exporter toolkit. */
export function createApp(
  { web, routes, webConfig, monotonicMs, log, timeouts = SERVER_TIMEOUTS }: WebServerOptions,
  compare: ComparePassword,
  compareSlow: ComparePassword,
): RequestListener {
  const healthChecks = routes.filter(({ isHealthCheck }) => isHealthCheck);
  const openPaths = web.protect_probes ? [] : healthChecks.map(({ path }) => path);
  const isOpen = (path: string): boolean => openPaths.includes(path);
  const isWithinRate = createRateLimiter(monotonicMs);
  const authenticate = createAuthenticator(
    () => webConfig.current().config.users,
    compare,
    compareSlow,
  );
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use((request, response, next) => {
    response.once(SENDING, () => {
      response.setTimeout(timeouts.sendMs);
      const timer = setTimeout(() => response.destroy(), timeouts.sendAllMs);
      response.once('close', () => clearTimeout(timer));
    });
    const { rateLimit, headers } = webConfig.current().config;
    if (rateLimit !== undefined && !isOpen(request.path) && !isWithinRate(rateLimit)) {
      sendText(response, 429, 'too many requests\n');
      return;
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    next();
  });
  app.use(async (request, response, next) => {
    const isAdmitted = isOpen(request.path) || (await authenticate(request, response));
    // A client that has left meanwhile causes no further events: its request would never end.
    if (isAdmitted && !response.closed) next();
  });
  app.use(refuseMalformed);
  for (const { path, methods = ['GET', 'HEAD'], handle } of routes) {
    app.route(path).all(async (request, response) => {
      if (methods.includes(request.method)) await handle(response);
      else sendText(response, 405, 'method not allowed\n', { allow: methods.join(', ') });
    });
  }
  // Nothing of the request is repeated.
  app.use((_request, response) => sendText(response, 404, 'not found; the status page is at /\n'));
  app.use(handleError(log));
  return app;
}

function refuseMalformed(
  { url, headersDistinct: { host = [] } }: IncomingMessage & { readonly url: string },
  response: ServerResponse,
  next: () => void,
): void {
  if (host.length > 1) {
    sendText(response, 400, 'the request has more than one Host header\n');
  } else if (url.length > MAX_URL_LENGTH) {
    sendText(response, 414, 'the URL is too long\n');
  } else if (url.split('&').length > MAX_PARAMETERS) {
    sendText(response, 400, 'the URL has too many parameters\n');
  } else {
    next();
  }
}

/** A token bucket: `burst` tokens at first, one more for each interval, one spent for each request. */
function createRateLimiter(
  monotonicMs: () => number,
): (limit: NonNullable<WebConfig['rateLimit']>) => boolean {
  let last: WebConfig['rateLimit'];
  let tokens = 0;
  let atMs = 0;
  return (limit) => {
    const nowMs = monotonicMs();
    const earned = (nowMs - atMs) / 1000 / limit.intervalSeconds;
    tokens = isDeepStrictEqual(limit, last) ? Math.min(limit.burst, tokens + earned) : limit.burst;
    last = limit;
    atMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/** Express recognizes an error handler by its four parameters. */
function handleError(log: Log): express.ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    log.error({ err: error }, 'internal error while handling a request');
    if (response.headersSent) response.destroy();
    else sendText(response, 500, 'internal error; see the log\n');
  };
}
