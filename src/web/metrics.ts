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
export async function sendMetrics(
  source: ScrapeSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parameters = readParameters(request);
  const wanted = new Set(parameters.getAll('collect[]'));
  const unwanted = new Set(parameters.getAll('exclude[]'));
  if ([...wanted, ...unwanted].some((name) => !source.collectors.includes(name))) {
    const known = source.collectors.join(', ');
    const text = `unknown collector in collect[] or exclude[]; known collectors: ${known}\n`;
    sendText(response, 400, text);
    return;
  }
  const isChosen = (name: string): boolean =>
    (wanted.size === 0 || wanted.has(name)) && !unwanted.has(name);
  sendExposition(await source.scrape(isChosen), request, response);
}

/**
 * Joins ready buffers: format by Accept, gzip by Accept-Encoding; `name[]` leaves only the named
 * families.
 */
export function sendExposition(
  scraped: Scraped,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const names = readParameters(request).getAll('name[]');
  const format = negotiateFormat(request.headers.accept);
  const gzip = acceptsGzip(request.headers['accept-encoding']);
  const chunks = joinExposition({
    ...scraped,
    format,
    gzip,
    names: names.length === 0 ? undefined : new Set(names),
  });
  send(response, chunks, {
    'content-type': CONTENT_TYPES[format],
    vary: 'Accept, Accept-Encoding',
    ...(gzip && { 'content-encoding': 'gzip' }),
  });
}
