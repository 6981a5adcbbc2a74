import type { IncomingMessage, ServerResponse } from 'node:http';
import { readParameters } from '../parameters.ts';
import type { Route } from '../routes.ts';
import { sendText } from '../text.ts';
import type { Assets } from './assets.ts';
import { renderPage } from './page/page.ts';
import { createRenderCache, type RenderCache } from './render-cache.ts';
import { sendJsonText, sendPage, toJson } from './send.ts';
import { readStatus, readVersion, type StatusSource } from './status.ts';

export interface StatusPages {
  readonly status: StatusSource;
  readonly assets: Assets;
  readonly telemetryPath: string;
}

/** `/`, the same as JSON, and what the page loads. */
export function createStatusRoutes(pages: StatusPages): readonly Route[] {
  const methods = ['GET', 'HEAD'];
  const cache = createRenderCache(pages.status);
  return [
    {
      path: '/',
      methods,
      handle: (request, response) => answerPage({ ...pages, cache }, request, response),
    },
    {
      path: '/api/status',
      methods,
      handle: (request, response) =>
        answerStatus({ source: pages.status, cache }, request, response),
    },
    ...pages.assets.routes,
  ];
}

function answerPage(
  { status, assets, telemetryPath, cache }: StatusPages & { readonly cache: RenderCache },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const cluster = readParameters(request).get('cluster') ?? undefined;
  const names = status.clusters().map(({ name }) => name);
  if (cluster !== undefined && !names.includes(cluster)) {
    sendText(response, 404, `no such cluster; there are ${names.join(', ')}\n`);
    return;
  }
  const options = { assets: assets.paths, telemetryPath, cluster };
  const page = cache(`page ${cluster ?? ''}`, () =>
    Buffer.from(renderPage(readStatus(status), options)),
  );
  sendPage(response, page);
}

/** The tag changes when a poll begins or ends, so that a page can ask often and cheaply. */
function answerStatus(
  { source, cache }: { readonly source: StatusSource; readonly cache: RenderCache },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const etag = `W/"${readVersion(source)}"`;
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, { etag });
    response.end();
  } else if (request.method === 'HEAD') {
    response.writeHead(200, { etag, 'content-type': 'application/json; charset=utf-8' });
    response.end();
  } else {
    const text = cache('json', () => toJson(readStatus(source)));
    sendJsonText(response, text, { etag, 'cache-control': 'no-cache' });
  }
}
