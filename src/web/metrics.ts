import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Exposition, joinExposition } from '../metrics/exposition.ts';
import { acceptsGzip, negotiateFormat } from '../metrics/negotiate.ts';
import type { RenderedFamily, Snapshot } from '../metrics/snapshot.ts';
import { CONTENT_TYPES } from '../metrics/text.ts';
import { sendBody } from './body.ts';
import { readParameters } from './parameters.ts';
import { sendText } from './text.ts';

/** What a scrape can be made of; the app joins the clusters, this file only chooses and sends. */
export interface ScrapeSource {
  /** Names of the collectors there are. */
  readonly collectors: readonly string[];
  scrape(isChosen: (collector: string) => boolean): Promise<{
    readonly parts: readonly Snapshot[];
    readonly rendered: readonly RenderedFamily[];
  }>;
}

/** Answers a scrape from ready buffers: format by Accept, gzip by Accept-Encoding. */
export async function sendMetrics(
  source: ScrapeSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parameters = readParameters(request);
  const isChosen = chooseCollectors(parameters, source.collectors);
  if (isChosen === undefined) {
    const known = source.collectors.join(', ');
    sendText(response, 400, `unknown collector in collect[] or exclude[]; there are ${known}\n`);
    return;
  }
  sendExposition(await source.scrape(isChosen), request, response);
}

/** Sends what was chosen; `name[]` leaves only the named families of it. */
export function sendExposition(
  scraped: Awaited<ReturnType<ScrapeSource['scrape']>>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const names = readParameters(request).getAll('name[]');
  const format = negotiateFormat(request.headers.accept);
  const gzip = acceptsGzip(request.headers['accept-encoding']);
  const exposition = joinExposition({
    ...scraped,
    format,
    gzip,
    names: names.length === 0 ? undefined : new Set(names),
  });
  send(exposition, response, {
    'content-type': CONTENT_TYPES[format],
    // Names that tenants choose stand in it: no browser may take it for a page.
    'x-content-type-options': 'nosniff',
    vary: 'Accept, Accept-Encoding',
    ...(gzip && { 'content-encoding': 'gzip' }),
  });
}

function send(
  { chunks, length }: Exposition,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(200, { ...headers, 'content-length': length });
  sendBody(response, chunks);
}

/** Which collectors a scrape wants; undefined when it names one that does not exist. */
function chooseCollectors(
  parameters: URLSearchParams,
  known: readonly string[],
): ((collector: string) => boolean) | undefined {
  const wanted = new Set(parameters.getAll('collect[]'));
  const unwanted = new Set(parameters.getAll('exclude[]'));
  if ([...wanted, ...unwanted].some((name) => !known.includes(name))) return undefined;
  return (name) => (wanted.size === 0 || wanted.has(name)) && !unwanted.has(name);
}
