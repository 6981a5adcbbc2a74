import type { IncomingMessage, ServerResponse } from 'node:http';
import { html } from './status/page/html.ts';
import { frame } from './status/page/page.ts';
import type { StatusPages } from './status/routes.ts';
import { sendJson, sendPage } from './status/send.ts';

/** The running configuration: a page for browsers, JSON for everything else; secrets are `<secret>`. */
export function sendConfig(
  { described, pages }: { readonly described: unknown; readonly pages: StatusPages },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (request.headers.accept?.includes('text/html') !== true) {
    sendJson(response, described);
    return;
  }
  const { status, assets, telemetryPath } = pages;
  const text = JSON.stringify(described, undefined, 2);
  sendPage(
    response,
    frame({
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
    }),
  );
}
