import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import type { Log } from '../log.ts';
import { clientNetwork } from './client-network.ts';
import type { Guard } from './guard.ts';
import { ADMITTED } from './response-events.ts';
import type { Route } from './routes.ts';
import { sendText } from './text.ts';
import { createTurns } from './turns.ts';

export interface HandlerOptions {
  readonly routes: readonly Route[];
  readonly guard: Guard;
  /** Probes are guarded like everything else. */
  readonly protectProbes: boolean;
  readonly log: Log;
}

/** Far longer than what Prometheus sends; the parser refuses what is above 16 KiB with all headers. */
const LONGEST_URL = 8_192;
const MOST_PARAMETERS = 256;
/** As Node finds it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Limits → guard → turn → route; what is no route is 404, another method 405. Probes do not wait for a turn. */
export function createHandler({
  routes,
  guard,
  protectProbes,
  log,
}: HandlerOptions): RequestListener {
  const probes = new Set(routes.filter(({ isProbe }) => isProbe).map(({ path }) => path));
  const takeTurn = createTurns();
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use(async (request, response, next) => {
    const isProbe = probes.has(request.path);
    const isAdmitted = await guard(request, response, isProbe && !protectProbes);
    // Nothing more would be heard of a client that has left meanwhile, not even that it has left.
    if (!isAdmitted || response.closed || !isAcceptable(request, response)) return;
    response.emit(ADMITTED);
    const answer = (): void => (response.closed ? undefined : next());
    if (isProbe) answer();
    else takeTurn(clientNetwork(request.socket.remoteAddress), answer);
  });
  for (const { path, methods, handle } of routes) {
    app.all(path, async (request, response) => {
      if (methods.includes(request.method)) await handle(request, response);
      else sendText(response, 405, 'method not allowed\n', { allow: methods.join(', ') });
    });
  }
  app.use((_request, response) => sendText(response, 404, 'not found\n'));
  app.use(answerError(log));
  return app;
}

function isAcceptable(
  { url = '', headers, headersDistinct: { host = [] } }: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (headers.expect !== undefined && !CONTINUE.test(headers.expect)) {
    sendText(response, 417, 'the Expect header can only be 100-continue\n');
    return false;
  }
  if (host.length > 1) {
    sendText(response, 400, 'the request has more than one Host header\n');
    return false;
  }
  if (url.length > LONGEST_URL) {
    sendText(response, 414, 'the URL is too long\n');
    return false;
  }
  const isSimple = url.split('&').length <= MOST_PARAMETERS;
  if (!isSimple) sendText(response, 400, 'the URL has too many parameters\n');
  return isSimple;
}

/** Express knows an error handler by its four parameters. */
function answerError(log: Log): express.ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    log.error({ err: error }, 'a request could not be answered');
    if (response.headersSent) response.destroy();
    else sendText(response, 500, 'internal error; see the log\n');
  };
}
