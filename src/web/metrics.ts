import type { IncomingMessage, ServerResponse } from 'node:http';
import { CONTENT_TYPES, type ExpositionRequest, joinExposition } from '../metrics/exposition.ts';
import { acceptsGzip, negotiateFormat } from '../metrics/negotiate.ts';
import { readParameters, send, sendText } from './respond.ts';

/** The content of a scrape. */
export interface ScrapeSource {
  /** Names of all collectors. */
  readonly collectors: readonly string[];
  scrape(isChosen: (collector: string) => boolean): Promise<Scraped>;
}

type Scraped = Pick<ExpositionRequest, 'parts' | 'rendered'>;

/** Answers a scrape; `collect[]` and `exclude[]` choose collectors. */
export async function sendMetrics(source: ScrapeSource, response: ServerResponse): Promise<void> {
  const isChosen = chooseCollectors(response.req, source.collectors);
  if (isChosen === undefined) {
    const known = source.collectors.join(', ');
    const text = `unknown collector in collect[] or exclude[]; known collectors: ${known}\n`;
    sendText(response, 400, text);
    return;
  }
  sendExposition(await source.scrape(isChosen), response);
}

/** What `collect[]` and `exclude[]` choose of these collectors; undefined when they name another one. */
export function chooseCollectors(
  request: IncomingMessage,
  known: readonly string[],
  byDefault = known,
): ((name: string) => boolean) | undefined {
  const parameters = readParameters(request);
  const wanted = parameters.getAll('collect[]');
  const unwanted = parameters.getAll('exclude[]');
  if ([...wanted, ...unwanted].some((name) => !known.includes(name))) return undefined;
  const chosen = new Set(wanted.length === 0 ? byDefault : wanted).difference(new Set(unwanted));
  return (name) => chosen.has(name);
}

/** Joins ready buffers: format by Accept, gzip by Accept-Encoding; `name[]` leaves only the named families. */
export function sendExposition(scraped: Scraped, response: ServerResponse): void {
  const { headers } = response.req;
  const named = readParameters(response.req).getAll('name[]');
  const names = named.length === 0 ? undefined : new Set(named);
  const format = negotiateFormat(headers.accept);
  const gzip = acceptsGzip(headers['accept-encoding']);
  const chunks = joinExposition({ ...scraped, format, gzip, names });
  send(response, chunks, {
    'content-type': CONTENT_TYPES[format],
    vary: 'Accept, Accept-Encoding',
    ...(gzip && { 'content-encoding': 'gzip' }),
  });
}
