import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGate } from './gate.ts';
import { landingPage } from './landing.ts';
import { type ScrapeSource, sendMetrics } from './metrics.ts';
import { sendText } from './text.ts';
import { type Reloaded, sendReload } from './reload.ts';

export interface Route {
  readonly path: string;
  readonly methods: readonly string[];
  /** Asked by whoever watches the process; open to all unless told otherwise. */
  readonly isProbe?: boolean;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;
}

export interface RouteSources {
  readonly telemetryPath: string;
  readonly version: string;
  /** Scrapes at a time; 0 for any number. */
  readonly maxRequests: number;
  readonly scrapeSource: ScrapeSource;
  /** True once every collector has had its first poll, or long enough to have it. */
  readonly isReady: () => boolean;
  /** Reads the configuration anew; undefined where that is not allowed over HTTP. */
  readonly reload: (() => Promise<Reloaded>) | undefined;
}

const READ = ['GET', 'HEAD'];
/** Pages of ours load nothing from elsewhere and run no script. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** What is answered where; everything else is 404, another method 405. */
export function createRoutes(sources: RouteSources): readonly Route[] {
  const mayScrape = createGate(sources.maxRequests);
  return [
    {
      path: sources.telemetryPath,
      methods: READ,
      async handle(request, response) {
        if (mayScrape(response)) await sendMetrics(sources.scrapeSource, request, response);
      },
    },
    {
      path: '/-/healthy',
      isProbe: true,
      methods: READ,
      handle: (_request, response) => sendText(response, 200, 'crdb-exporter is healthy\n'),
    },
    {
      path: '/-/ready',
      isProbe: true,
      methods: READ,
      handle(_request, response) {
        if (sources.isReady()) sendText(response, 200, 'crdb-exporter is ready\n');
        else sendText(response, 503, 'first polls are still running\n');
      },
    },
    {
      path: '/-/reload',
      methods: ['POST', 'PUT'],
      handle: (_request, response) => sendReload(sources.reload, response),
    },
    {
      path: '/',
      methods: READ,
      handle(_request, response) {
        sendPage(response, landingPage(sources));
      },
    },
  ];
}

/** What the web config file says of a header is said on purpose and stays. */
function sendPage(response: ServerResponse, page: string): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) {
    if (!response.hasHeader(name)) response.setHeader(name, value);
  }
  response.end(page);
}
