import http from 'node:http';
import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';

export interface Question {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  /** Client side of TLS, for https addresses. */
  readonly tls?: ConnectionOptions;
  /** Keeps its connection; a new one for each question by default. */
  readonly agent?: http.Agent;
  /** The address to ask from; the system chooses by default. */
  readonly localAddress?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** Asks what `address` (as the exporter names it: a URL or `unix:/path`) says at `path`, byte for byte. */
export function ask(
  address: string,
  path = '/metrics',
  { method = 'GET', headers = {}, tls, agent, localAddress }: Question = {},
): Promise<Answer> {
  const options = { method, headers, path, agent: agent ?? false, localAddress, ...tls };
  const request = address.startsWith('unix:')
    ? http.request({ ...options, socketPath: address.slice('unix:'.length) })
    : address.startsWith('https:')
      ? https.request(address, options)
      : http.request(address, options);
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body,
          text: body.toString(),
        });
      });
    });
    request.end();
  });
}
