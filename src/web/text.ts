import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { sendBody } from './body.ts';

/** Answers with a line of text of our own; never with anything of the request. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  sendBody(response, [Buffer.from(text)]);
}
