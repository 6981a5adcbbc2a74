import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import type { Config } from '../../config/schema.ts';
import type { Log } from '../../log.ts';
import { sendPage, sendText } from '../respond.ts';
import { createAuthenticator } from './authenticate.ts';
import { ADMITTED, clientNetwork } from './connections.ts';
import { createFairQueue, createRateLimiter, createUnsentLimit } from './limits.ts';
import type { PasswordChecker } from './password-checker.ts';
import type { WebConfigWatcher } from './web-config-watcher.ts';

export interface Route {
  readonly path: string;
  /** GET and HEAD when absent. */
  readonly methods?: readonly string[];
  /** Requested by process monitors: open to all unless configured otherwise. */
  readonly isProbe?: boolean;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
}

export interface WebServerOptions {
  readonly web: Pick<Config['web'], 'listen_address' | 'protect_probes'>;
  readonly routes: readonly Route[];
  /** Disposed with the server. */
  readonly webConfig: WebConfigWatcher;
  /** Descriptors of sockets that are already listening; used instead of the addresses when there are any. */
  readonly sockets?: readonly number[] | undefined;
  /** Counts a connection that was refused or closed because too many were open. */
  readonly connectionDropped: () => void;
  readonly timeouts?: Readonly<typeof SERVER_TIMEOUTS> | undefined;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** How long clients may be slow. */
export const SERVER_TIMEOUTS = {
  /** From the connection to the end of the headers of a request. */
  headersMs: 10_000,
  /** To the end of a request. */
  requestMs: 30_000,
  /** How often these two are checked. */
  checkMs: 5_000,
  /** From the first byte of a response until the client has taken the last. */
  sendMs: 60_000,
};

/** Far longer than what Prometheus sends; the parser refuses more than 16 KiB with all headers. */
const MAX_URL_LENGTH = 8_192;
const MAX_PARAMETERS = 256;
/** As Node recognizes it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

const NOT_FOUND_PAGE = Buffer.from(
  '<!doctype html><html lang="en"><title>Not found</title><h1>Not found</h1><p><a href="/">Status page of crdb-exporter</a></p></html>\n',
);

/** Rate limit and headers, then authentication: the order of the exporter toolkit. Probes wait for no other request. */
export function createApp(
  { web, routes, webConfig, monotonicMs, log, timeouts = SERVER_TIMEOUTS }: WebServerOptions,
  checker: PasswordChecker,
): RequestListener {
  const probes = new Set(routes.filter(({ isProbe }) => isProbe).map(({ path }) => path));
  const isOpen = (path: string): boolean => probes.has(path) && !web.protect_probes;
  const limitUnsent = createUnsentLimit(timeouts.sendMs);
  const isWithinRate = createRateLimiter(monotonicMs);
  const authenticate = createAuthenticator(() => webConfig.current().config.users, checker);
  const enqueue = createFairQueue();
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use((request, response, next) => {
    limitUnsent(response);
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
  app.use((request, response, next) => {
    response.emit(ADMITTED);
    if (probes.has(request.path)) next();
    else
      enqueue(clientNetwork(request.socket.remoteAddress), () => {
        if (!response.closed) next();
      });
  });
  for (const { path, methods = ['GET', 'HEAD'], handle } of routes) {
    app.all(path, async (request, response) => {
      if (methods.includes(request.method)) await handle(request, response);
      else sendText(response, 405, 'method not allowed\n', { allow: methods.join(', ') });
    });
  }
  app.use((_request, response) => sendNotFound(response));
  app.use(handleError(log));
  return app;
}

function refuseMalformed(
  { url, headers, headersDistinct: { host = [] } }: IncomingMessage & { readonly url: string },
  response: ServerResponse,
  next: () => void,
): void {
  if (headers.expect !== undefined && !CONTINUE.test(headers.expect)) {
    sendText(response, 417, 'the Expect header can only be 100-continue\n');
  } else if (host.length > 1) {
    sendText(response, 400, 'the request has more than one Host header\n');
  } else if (url.length > MAX_URL_LENGTH) {
    sendText(response, 414, 'the URL is too long\n');
  } else if (url.split('&').length > MAX_PARAMETERS) {
    sendText(response, 400, 'the URL has too many parameters\n');
  } else {
    next();
  }
}

/** 404 with the way back; nothing of the request is repeated. */
function sendNotFound(response: ServerResponse): void {
  response.statusCode = 404;
  if (response.req.headers.accept?.includes('text/html')) sendPage(response, NOT_FOUND_PAGE);
  else sendText(response, 404, 'not found; the status page is at /\n');
}

/** Express recognizes an error handler by its four parameters. */
function handleError(log: Log): express.ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    log.error({ err: error }, 'internal error while handling a request');
    if (response.headersSent) response.destroy();
    else sendText(response, 500, 'internal error; see the log\n');
  };
}
