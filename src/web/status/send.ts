import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { sendBody } from '../body.ts';

const PAGE_HEADERS: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  // Everything from here, nothing inline: a name that slips through is text, never a program.
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
};

const JSON_HEADERS: OutgoingHttpHeaders = { 'content-type': 'application/json; charset=utf-8' };

export function sendPage(response: ServerResponse, page: Buffer): void {
  send(response, page, PAGE_HEADERS);
}

export function toJson(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** Sends JSON that is written already. */
export function sendJsonText(
  response: ServerResponse,
  text: Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  send(response, text, { ...JSON_HEADERS, ...headers });
}

function send(response: ServerResponse, text: Buffer, headers: OutgoingHttpHeaders): void {
  const all = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...headers };
  for (const [name, value] of Object.entries(all)) {
    // What the web config file says of a header is said on purpose and stays.
    if (value !== undefined && !response.hasHeader(name)) response.setHeader(name, value);
  }
  response.setHeader('content-length', text.length);
  sendBody(response, [text]);
}
