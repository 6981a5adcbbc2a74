import type { Route } from './routes.ts';
import { html } from './status/page/html.ts';
import { frame } from './status/page/page.ts';
import { createRenderCache } from './status/render-cache.ts';
import type { StatusPages } from './status/routes.ts';
import { sendJsonText, sendPage, toJson } from './status/send.ts';

export interface ConfigPageOptions {
  /** The running configuration; the same object until it changes. */
  readonly describedConfig: () => unknown;
  readonly pages: StatusPages;
}

/** The running configuration: a page for browsers, JSON for everything else; secrets are `<secret>`. */
export function createConfigPage({ describedConfig, pages }: ConfigPageOptions): Route['handle'] {
  let shown = describedConfig();
  let cache = createRenderCache(pages.status);
  return (request, response) => {
    const described = describedConfig();
    if (described !== shown) cache = createRenderCache(pages.status);
    shown = described;
    if (request.headers.accept?.includes('text/html') === true) {
      const page = cache('page', () => Buffer.from(renderConfig(described, pages)));
      sendPage(response, page);
    } else {
      sendJsonText(
        response,
        cache('json', () => toJson(described)),
      );
    }
  };
}

function renderConfig(described: unknown, { status, assets, telemetryPath }: StatusPages): string {
  const text = JSON.stringify(described, undefined, 2);
  return frame({
    title: 'Configuration',
    body: html`<main id="main">
      <h2>Running configuration</h2>
      <p class="quiet">What is in force, with the keys of the file; secrets are not shown.</p>
      <pre class="panel" tabindex="0">${text}</pre>
    </main>`,
    exporter: {
      version: status.version,
      startedAt: new Date(status.startedMs).toISOString(),
      at: new Date(status.wallMs()).toISOString(),
    },
    assets: assets.paths,
    telemetryPath,
  });
}
