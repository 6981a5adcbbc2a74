import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendText } from './text.ts';

/** What became of a reload; `why` says what stays in force and names every problem, never a secret. */
export type Reloaded = { readonly isGood: true } | { readonly isGood: false; readonly why: string };

/** Answers /-/reload: the errors of a bad file, of which the last good content stays in force. */
export async function sendReload(
  reload: (() => Promise<Reloaded>) | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (reload === undefined) {
    sendText(response, 403, 'reload over HTTP is off: start with --web.enable-lifecycle\n');
    return;
  }
  if (isFromAnotherSite(request)) {
    sendText(response, 403, 'reload is refused to pages of other sites: send it from a client\n');
    return;
  }
  const reloaded = await reload();
  if (reloaded.isGood) sendText(response, 200, 'configuration reloaded\n');
  else sendText(response, 400, `${reloaded.why}\n`);
}

/** Whether a browser sends this for a page of another site; only browsers send these headers. */
function isFromAnotherSite({ headers }: IncomingMessage): boolean {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site !== 'none' && site !== 'same-origin') return true;
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host);
}
