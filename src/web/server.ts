import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Config } from '../config/config.ts';
import { prepareClosing } from './closing.ts';
import { createRoutes, type RouteSources } from './routes.ts';
import { sendText } from './text.ts';

type ListenAddress = Config['web']['listenAddresses'][number];

/** A slow or idle client must not keep a socket for ever. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the usual scrape interval, so that Prometheus keeps its connection. */
const KEEP_ALIVE_MS = 90_000;

export interface WebServer {
  /** What is really listened on, as URLs or `unix:` paths; port 0 has become a number. */
  readonly addresses: readonly string[];
  /** Takes no new requests and lets the running ones end, but no longer than `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Listens on every address, or on none: rejects with the system's error of the first that fails. */
export async function startWebServer(
  addresses: readonly ListenAddress[],
  sources: RouteSources,
): Promise<WebServer> {
  const handler = createHandler(sources);
  const listeners: Listener[] = [];
  const close = async (graceMs: number): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.close(graceMs)));
  };
  try {
    for (const address of addresses) listeners.push(await listen(address, handler));
  } catch (error) {
    await close(0);
    throw error;
  }
  return { addresses: listeners.map(({ server }) => describeAddress(server)), close };
}

function createHandler(sources: RouteSources): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  for (const { path, methods, handle } of createRoutes(sources)) {
    app.all(path, async (request, response) => {
      if (methods.includes(request.method)) {
        await handle(request, response);
        return;
      }
      sendText(response, 405, 'method not allowed\n', { allow: methods.join(', ') });
    });
  }
  app.use((_request, response) => {
    sendText(response, 404, 'not found\n');
  });
  app.use(answerError(sources));
  return app;
}

/** Express knows an error handler by its four parameters. */
function answerError({ log }: RouteSources): express.ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    log.error({ err: error }, 'a request could not be answered');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    sendText(response, 500, 'internal error; see the log\n');
  };
}

interface Listener {
  readonly server: Server;
  close(graceMs: number): Promise<void>;
}

async function listen(address: ListenAddress, handler: RequestListener): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    handler,
  );
  const close = prepareClosing(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return { server, close };
}

function describeAddress(server: Server): string {
  const address: AddressInfo | string | null = server.address();
  if (address === null) return 'closed';
  if (typeof address === 'string') return `unix:${address}`;
  const any = address.address === '::' || address.address === '0.0.0.0';
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${any ? 'localhost' : host}:${address.port}`;
}
