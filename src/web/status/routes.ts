import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { formatYaml } from '../../config/document.ts';
import type { Config } from '../../config/schema.ts';
import {
  isForeignHost,
  readParameters,
  send,
  sendJson,
  sendPage,
  sendText,
  sendUnknownCluster,
  toJson,
} from '../respond.ts';
import type { Route } from '../server/app.ts';
import { frame, html, type PageLinks } from './page/html.ts';
import { renderPage } from './page/page.ts';
import { createRenderCache, readStatus, readVersion, type StatusSource } from './status.ts';

const YAML_HEADERS = {
  'content-type': 'application/yaml; charset=utf-8',
  'cache-control': 'no-store',
  vary: 'Accept',
};

/** The status page, its JSON, the running configuration, and what pages load. Throws when a file is missing. */
export function createStatusRoutes(
  source: StatusSource,
  web: Pick<Config['web'], 'telemetry_path' | 'external_url'>,
): readonly Route[] {
  const assets = loadAssets();
  const links = { ...assets.urls, telemetryPath: web.telemetry_path };
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
          Buffer.from(renderPage(readStatus(source), source.findingSettings(), links, cluster)),
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
          const json = cache('status', () => toJson(readStatus(source)));
          sendJson(response, json, { etag, 'cache-control': 'no-cache' });
        }
      },
    },
    {
      path: '/config',
      // A page for browsers, JSON if requested, else YAML; secrets are `<secret>`.
      handle({ headers: { accept = '' } }, response) {
        if (accept.includes('text/html')) {
          const page = cache('config page', () => Buffer.from(renderConfig(source, links)));
          sendPage(response, page);
        } else if (accept.includes('application/json')) {
          const json = cache('config', () => toJson(source.describedConfig()));
          sendJson(response, json, { vary: 'Accept' });
        } else {
          const yaml = cache('config yaml', () =>
            Buffer.from(formatYaml(source.describedConfig())),
          );
          send(response, [yaml], YAML_HEADERS);
        }
      },
    },
  ];
  return [...pages.map((route) => refuseForeignHosts(route, web.external_url)), ...assets.routes];
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
  const style = loadAsset('page.css', 'text/css; charset=utf-8', 'page.css', 'panels.css');
  // The file is not named page.js: page.ts becomes that in the package.
  const script = loadAsset('page.js', 'text/javascript; charset=utf-8', 'in-browser.js');
  const icon = loadAsset('icon.svg', 'image/svg+xml', 'icon.svg');
  return {
    urls: { style: style.url, script: script.url, icon: icon.url },
    routes: [style, script, icon].map(({ route }) => route),
  };
}

/** These files as one, in which later rules win. */
function loadAsset(name: string, type: string, ...files: readonly string[]) {
  const parts = files.map((file) => readFileSync(new URL(`page/${file}`, import.meta.url)));
  const content = Buffer.concat(parts);
  const version = createHash('sha256').update(content).digest('hex').slice(0, 8);
  const path = `/-/${name}`;
  // Its URL changes with its content.
  const headers = { 'content-type': type, 'cache-control': 'max-age=31536000, immutable' };
  const route: Route = {
    path,
    handle: (_request, response) => send(response, [content], headers),
  };
  return { url: `${path}?${version}`, route };
}

function renderConfig(source: StatusSource, links: PageLinks): string {
  const main = html`<h2>Running configuration</h2>
    <p class="quiet">
      The active settings, by the keys of the configuration file. Secrets are hidden.
    </p>
    <pre class="panel" tabindex="0">${formatYaml(source.describedConfig())}</pre>`;
  const at = new Date(source.wallMs()).toISOString();
  const startedAt = new Date(source.startedMs).toISOString();
  return frame('Configuration', main, { version: source.version, startedAt, at }, links);
}
