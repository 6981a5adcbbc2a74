import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';

/** Emitted by a response when its first bytes are handed to the socket. */
export const SENDING = 'sending';

/** A path and what serves it. */
export interface Route {
  readonly path: string;
  /** GET and HEAD when absent. */
  readonly methods?: readonly string[];
  /** Requested by process monitors: open to all unless configured otherwise. */
  readonly isHealthCheck?: boolean;
  /** Answers the request of this response. */
  readonly handle: (response: ServerResponse) => Promise<void> | void;
}

const PAGE_HEADERS: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  // Everything from this server, nothing inline: a name that slips through is text, never a program.
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
const JSON_HEADERS: OutgoingHttpHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
};
const TEXT_HEADERS: OutgoingHttpHeaders = { 'content-type': 'text/plain; charset=utf-8' };

/** How much is handed to the socket at a time. */
const SLICE_BYTES = 64 * 1024;

/** The query parameters of a request. */
export function readParameters({ url = '' }: IncomingMessage): URLSearchParams {
  const query = url.indexOf('?');
  return new URLSearchParams(query === -1 ? '' : url.slice(query + 1));
}

// DNS rebinding: a page of another site lets its own name resolve to the address of the exporter, and the browser then takes
// the exporter for that site. Such a request names the site as Host and Origin, never an address.

/** Whether users can reach the exporter by this name: an IP address, the name of the machine, or the one of `externalUrl`. */
function isOwnName(url: URL | null, externalUrl: string): boolean {
  const name = url?.hostname ?? '';
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0) return true;
  return ['localhost', hostname().toLowerCase(), URL.parse(externalUrl)?.hostname].includes(name);
}

/**
 * Whether a browser sends this request for a page of another site; only browsers send these headers. A page of this exporter
 * has the host of the request, or of `externalUrl` where a proxy changes it.
 */
export function isCrossSite({ headers }: IncomingMessage, externalUrl: string): boolean {
  const { host, origin, 'sec-fetch-site': site = 'none' } = headers;
  if (site !== 'none' && site !== 'same-origin') return true;
  if (origin === undefined) return false;
  const page = URL.parse(origin);
  if (page === null) return true;
  if (page.host === URL.parse(externalUrl)?.host) return false;
  // With the protocol of the page, since the port that is its default is left out.
  const requested = URL.parse(`${page.protocol}//${host}`);
  return page.host !== requested?.host || !isOwnName(requested, externalUrl);
}

/** Whether a page is refused: with an external URL it is sent only under a name that users reach the exporter by. */
export function isForeignHost({ headers }: IncomingMessage, externalUrl: string): boolean {
  const { host } = headers;
  if (externalUrl === '' || host === undefined) return false;
  return !isOwnName(URL.parse(`http://${host}`), externalUrl);
}

/** Sends our own text, never anything of the request. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.statusCode = status;
  send(response, [Buffer.from(text)], { ...TEXT_HEADERS, ...headers });
}

/** Sends 400 where one of these parameters is there more than once; returns whether it did. */
export function refusesRepeated(response: ServerResponse, ...names: readonly string[]): boolean {
  const parameters = readParameters(response.req);
  const repeated = names.find((name) => parameters.getAll(name).length > 1);
  if (repeated === undefined) return false;
  sendText(response, 400, `the parameter ${repeated} is there more than once\n`);
  return true;
}

/** 404 with the names of the configured clusters. */
export function sendUnknownCluster(
  response: ServerResponse,
  clusters: readonly { readonly name: string }[],
): void {
  const names = clusters.map(({ name }) => name).join(', ');
  sendText(response, 404, `unknown cluster; configured clusters: ${names}\n`);
}

export function sendPage(response: ServerResponse, page: Buffer): void {
  send(response, [page], PAGE_HEADERS);
}

export function toJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

export function sendJson(
  response: ServerResponse,
  json: Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  send(response, [json], { ...JSON_HEADERS, ...headers });
}

/**
 * Sends a body, which other responses may share, in slices, each when the client has taken the one before: TLS would
 * copy all of it at once, for every client that reads slowly. Headers of the web config file win.
 */
export function send(
  response: ServerResponse,
  body: readonly Buffer[],
  headers: OutgoingHttpHeaders,
): void {
  for (const [name, value] of Object.entries({ 'x-content-type-options': 'nosniff', ...headers })) {
    if (value !== undefined && !response.hasHeader(name)) response.setHeader(name, value);
  }
  const length = body.reduce((sum, chunk) => sum + chunk.length, 0);
  response.setHeader('content-length', length);
  const unsent = [...body];
  function sendNext(): void {
    response.cork();
    let space = SLICE_BYTES;
    for (let [chunk] = unsent; chunk !== undefined && space > 0; [chunk] = unsent) {
      const slice = chunk.subarray(0, space);
      response.write(slice);
      space -= slice.length;
      if (slice.length === chunk.length) unsent.shift();
      else unsent[0] = chunk.subarray(slice.length);
    }
    response.uncork();
    if (unsent.length === 0) response.end();
    else if (response.writableNeedDrain) response.once('drain', sendNext);
    else sendNext();
  }
  response.emit(SENDING);
  sendNext();
}

const RETRY_AFTER_SECONDS = 1;

/** 503 for a request above the limit that the flag sets. */
export function sendBusy(response: ServerResponse, flag: string): void {
  const text = `too many concurrent requests; retry later or raise ${flag}\n`;
  sendText(response, 503, text, { 'retry-after': String(RETRY_AFTER_SECONDS) });
}
