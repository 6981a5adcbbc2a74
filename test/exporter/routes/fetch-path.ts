import http from 'node:http';
import https from 'node:https';
import type { ConnectionOptions } from 'node:tls';

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  /** Client side of TLS, for https addresses. */
  readonly tls?: ConnectionOptions;
  /** Keeps its connection; a new one for each request by default. */
  readonly agent?: http.Agent;
  /** The local address of the connection; the system chooses by default. */
  readonly localAddress?: string | undefined;
}

export interface ReceivedResponse {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** Requests `path`, byte for byte, from `address`: a URL or `unix:/path`, as the exporter shows it. */
export function fetchPath(
  address: string,
  path = '/metrics',
  { method = 'GET', headers = {}, tls, agent, localAddress }: RequestOptions = {},
): Promise<ReceivedResponse> {
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
          statusMessage: response.statusMessage ?? '',
          headers: response.headers,
          body,
          text: body.toString(),
        });
      });
    });
    request.end();
  });
}
