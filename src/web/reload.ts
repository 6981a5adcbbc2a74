import type { ServerResponse } from 'node:http';
import { sendText } from './text.ts';

/** What became of a reload; `why` names every problem of the configuration, never a secret. */
export type Reloaded = { readonly isGood: true } | { readonly isGood: false; readonly why: string };

/** Answers /-/reload: the errors of a bad file, which leaves the running configuration in force. */
export async function sendReload(
  reload: (() => Promise<Reloaded>) | undefined,
  response: ServerResponse,
): Promise<void> {
  if (reload === undefined) {
    sendText(response, 403, 'reload over HTTP is off: start with --web.enable-lifecycle\n');
    return;
  }
  const reloaded = await reload();
  if (reloaded.isGood) sendText(response, 200, 'configuration reloaded\n');
  else sendText(response, 400, `the running configuration stays in force:\n${reloaded.why}\n`);
}
