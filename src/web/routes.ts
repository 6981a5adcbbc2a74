import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { stringify } from 'yaml';
import { servedRunbooks } from '../alerts/alert-settings.ts';
import { ROOT } from '../build.ts';
import type { Config } from '../config/keys-and-flags.ts';
import { formatDuration } from '../format.ts';
import { createDiscoveryRoutes } from './discovery.ts';
import { type ScrapeSource, sendMetrics } from './metrics.ts';
import { createProbe, type ServedCluster } from './probe-route.ts';
import {
  isCrossSite,
  isForeignHost,
  readParameters,
  type Route,
  send,
  sendJson,
  sendPage,
  sendText,
  sendBusy,
  sendUnknownCluster,
  toJson,
} from './respond.ts';
import { createRunbookRoutes } from './runbooks.ts';
import type { PageLinks, PageOrigin } from './status/page/html.ts';
import { renderConfig, renderPage } from './status/page/page.ts';
import {
  createRenderCache,
  readStatus,
  readVersion,
  type StatusSource,
} from './status/read-status.ts';

type WebSettings = Pick<
  Config['web'],
  'telemetry_path' | 'external_url' | 'max_requests' | 'max_probes'
>;

interface RouteSources extends StatusSource, ScrapeSource {
  readonly web: WebSettings;
  readonly clusters: () => readonly ServedCluster[];
  /** True once every collector has finished its first poll or had enough time for it. */
  readonly isReady: () => boolean;
  /**
   * Reloads the configuration; undefined when reloads over HTTP are not allowed. `error` has every problem and no secret, `note` what
   * has no effect yet.
   */
  readonly reload:
    | (() => Promise<{
        readonly isStopping?: boolean;
        readonly error?: string;
        readonly note?: string | undefined;
      }>)
    | undefined;
}

/** All paths of the exporter. Throws when a file that pages load is missing. */
export function createRoutes(sources: RouteSources): readonly Route[] {
  const { web, clusters } = sources;
  const limitScrapes = createConcurrencyLimit(web.max_requests, '--web.max-requests');
  const probe = createProbe(clusters, web.max_probes);
  return [
    {
      path: web.telemetry_path,
      handle: (_request, response) => limitScrapes(response, () => sendMetrics(sources, response)),
    },
    {
      path: '/-/healthy',
      isHealthCheck: true,
      handle: (_request, response) => sendText(response, 200, 'crdb-exporter is healthy\n'),
    },
    {
      path: '/-/ready',
      isHealthCheck: true,
      handle(_request, response) {
        if (sources.isReady()) sendText(response, 200, 'crdb-exporter is ready\n');
        else sendText(response, 503, 'first polls are still running\n');
      },
    },
    {
      path: '/-/reload',
      methods: ['POST', 'PUT'],
      handle: (_request, response) => handleReload(sources.reload, web.external_url, response),
    },
    {
      path: '/probe',
      handle: (_request, response) => probe(response),
    },
    ...createDiscoveryRoutes(clusters),
    ...createStatusRoutes(sources, web),
  ];
}

/**
 * Runs a handler unless `max` of them run already; then it sends 503. 0 is no limit, `flag` names the option that sets
 * it. A client that reads slowly does not count: the handler has ended when it has handed over the response.
 */
export function createConcurrencyLimit(max: number, flag: string) {
  let running = 0;
  return async (response: ServerResponse, handle: () => Promise<void>): Promise<void> => {
    if (max > 0 && running >= max) {
      sendBusy(response, flag);
      return;
    }
    running += 1;
    try {
      await handle();
    } finally {
      running -= 1;
    }
  };
}

async function handleReload(
  reload: RouteSources['reload'],
  externalUrl: string,
  response: ServerResponse,
) {
  if (reload === undefined) {
    sendText(response, 403, 'reload over HTTP is disabled: start with --web.enable-lifecycle\n');
  } else if (isCrossSite(response.req, externalUrl)) {
    const text =
      'reload is refused for pages of other sites: use a client such as curl, or set --web.external-url\n';
    sendText(response, 403, text);
  } else {
    const { isStopping, error, note } = await reload();
    const done = note === undefined ? '' : `; ${note}`;
    if (error === undefined) sendText(response, 200, `configuration reloaded${done}\n`);
    else sendText(response, isStopping ? 503 : 400, `${error}\n`);
  }
}

/** The status page, its JSON, the running configuration, and what pages load. */
function createStatusRoutes(
  source: StatusSource,
  web: Pick<WebSettings, 'telemetry_path' | 'external_url'>,
): readonly Route[] {
  const { urls, routes: assets } = loadAssets();
  const links = { ...urls, root: '', telemetryPath: web.telemetry_path.slice(1) };
  // Without an address the links in the JSON are relative to its own.
  const ownRunbooks = servedRunbooks(web.external_url) || '../runbooks';
  const origin = (): PageOrigin => ({
    version: source.version,
    startedAt: new Date(source.startedMs).toISOString(),
    at: new Date(source.wallMs()).toISOString(),
  });
  const cache = createRenderCache(source);
  const pages: readonly Route[] = [
    {
      path: '/',
      handle(request, response) {
        const cluster = readParameters(request).get('cluster') ?? undefined;
        const clusters = source.clusters();
        if (cluster !== undefined && !clusters.some(({ name }) => name === cluster)) {
          sendUnknownCluster(response, clusters);
          return;
        }
        const page = cache(`page ${cluster ?? ''}`, () =>
          Buffer.from(renderPage(readStatus(source, 'runbooks'), links, cluster)),
        );
        sendPage(response, page);
      },
    },
    {
      path: '/api/status',
      handle({ method, headers }, response) {
        // Changes when a poll begins or ends, so that a page can check for changes often and cheaply.
        const etag = `W/"${readVersion(source)}"`;
        if (headers['if-none-match'] === etag) {
          response.writeHead(304, { etag });
          response.end();
        } else if (method === 'HEAD') {
          response.writeHead(200, { etag, 'content-type': 'application/json; charset=utf-8' });
          response.end();
        } else {
          const json = cache('status', () => toJson(readStatus(source, ownRunbooks)));
          sendJson(response, json, { etag, 'cache-control': 'no-cache' });
        }
      },
    },
    createConfigRoute(source, origin, links),
    ...createRunbookRoutes(origin, links),
  ];
  return [...pages.map((route) => refuseForeignHosts(route, web.external_url)), ...assets];
}

/** The running configuration. */
function createConfigRoute(
  source: StatusSource,
  origin: () => PageOrigin,
  links: PageLinks,
): Route {
  return {
    path: '/config',
    // A page for browsers, JSON if requested, else YAML; secrets are `<secret>`.
    handle({ headers: { accept = '' } }, response) {
      const config = source.describedConfig();
      if (accept.includes('text/html')) {
        sendPage(response, Buffer.from(renderConfig(stringify(config), origin(), links)));
      } else if (accept.includes('application/json')) {
        sendJson(response, toJson(config), { vary: 'Accept' });
      } else {
        send(response, [Buffer.from(stringify(config))], {
          'content-type': 'application/yaml; charset=utf-8',
          'cache-control': 'no-store',
          vary: 'Accept',
        });
      }
    },
  };
}

/** The route, closed to requests under names that are not the exporter's. */
function refuseForeignHosts(route: Route, externalUrl: string): Route {
  return {
    ...route,
    handle(request, response) {
      if (!isForeignHost(request, externalUrl)) return route.handle(request, response);
      const text = `this exporter is not known under this name: use ${externalUrl} or change --web.external-url\n`;
      sendText(response, 403, text);
      return undefined;
    },
  };
}

/** The files that pages load. */
function loadAssets() {
  const css = [readPageFile('page.css'), readPageFile('panels.css')];
  const style = createAsset('page.css', 'text/css; charset=utf-8', css);
  const js = [
    Buffer.from(`const formatDuration = ${formatDuration.toString()};\n`),
    readPageFile('in-browser.js'),
  ];
  const script = createAsset('page.js', 'text/javascript; charset=utf-8', js);
  const icon = createAsset('icon.svg', 'image/svg+xml', [readPageFile('icon.svg')]);
  return {
    urls: { style: style.url, script: script.url, icon: icon.url },
    routes: [style, script, icon].map(({ route }) => route),
  };
}

function readPageFile(name: string): Buffer {
  return readFileSync(join(ROOT, 'src/web/status/page', name));
}

/** These parts as one, in which later rules win; its URL changes with its content. */
function createAsset(name: string, type: string, parts: readonly Buffer[]) {
  const content = Buffer.concat(parts);
  const version = crc32(content).toString(16).padStart(8, '0');
  const path = `-/${name}`;
  const headers = { 'content-type': type, 'cache-control': 'max-age=31536000, immutable' };
  const route: Route = {
    path: `/${path}`,
    handle: (_request, response) => send(response, [content], headers),
  };
  return { url: `${path}?${version}`, route };
}
