import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { stringify } from 'yaml';
import { servedRunbooks } from '#alerts';
import { formatDuration, type Log, ROOT } from '#base';
import { COLLECTORS } from '#collectors';
import { describeConfig } from '#config';
import {
  type Companion,
  type Daemon,
  isForeignHost,
  logChanges,
  type Observation,
  readParameters,
  refusesRepeated,
  type Route,
  send,
  sendJson,
  sendPage,
  sendText,
  sendUnknownCluster,
  toJson,
} from '#exporter';
import { ClusterHistory } from './findings/history.ts';
import { toFindings } from './findings/problem.ts';
import type { CommandForm, Finding } from './findings/status.ts';
import type { PageLinks, PageOrigin } from './page/html.ts';
import { renderConfig, renderPage } from './page/page.ts';
import { createRenderCache, readStatus, readVersion, type StatusSource } from './read-status.ts';
import { createRunbookRoutes } from './runbooks.ts';

/**
 * The status of all clusters beside the daemon: page, /api/status, /runbooks and /config. `commandForm` is how users run the commands
 * that the page recommends. Throws when a file that pages load is missing.
 */
export function createStatus(daemon: Daemon, log: Log, commandForm: CommandForm): Companion {
  const { wallMs, monotonicMs } = daemon;
  // Of a cluster that was replaced or removed nothing is remembered.
  const histories = new WeakMap<symbol, ClusterHistory>();
  const historyOf = ({ identity }: Observation): ClusterHistory => {
    const history = histories.get(identity) ?? new ClusterHistory(daemon.config, monotonicMs);
    histories.set(identity, history);
    return history;
  };
  const problems = (): readonly Finding[] => {
    const nowMs = wallMs();
    return toFindings(daemon.problems(), () => nowMs);
  };
  const source = { ...daemon, historyOf, commandForm, problems };
  return {
    routes: createRoutes(source),
    polled(cluster, collector) {
      const nowMs = wallMs();
      const history = historyOf(cluster);
      const before = history.problems;
      history.record(cluster, collector, nowMs);
      logChanges(log.child({ cluster: cluster.name }), before, history.problems, nowMs);
    },
  };
}

/** The status page, its JSON, the running configuration, and what pages load. */
function createRoutes(source: StatusSource): readonly Route[] {
  const { web } = source.config();
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
      handle(response) {
        if (refusesRepeated(response, 'cluster')) return;
        const cluster = readParameters(response.req).get('cluster') ?? undefined;
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
      handle(response) {
        const { method, headers } = response.req;
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
    handle(response) {
      const { accept = '' } = response.req.headers;
      const config = describeConfig(source.config(), COLLECTORS);
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
    handle(response) {
      if (!isForeignHost(response.req, externalUrl)) return route.handle(response);
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
  return readFileSync(join(ROOT, 'src/status/page', name));
}

/** These parts as one, in which later rules win; its URL changes with its content. */
function createAsset(name: string, type: string, parts: readonly Buffer[]) {
  const content = Buffer.concat(parts);
  const version = crc32(content).toString(16).padStart(8, '0');
  const path = `-/${name}`;
  const headers = { 'content-type': type, 'cache-control': 'max-age=31536000, immutable' };
  const route: Route = {
    path: `/${path}`,
    handle: (response) => send(response, [content], headers),
  };
  return { url: `${path}?${version}`, route };
}
