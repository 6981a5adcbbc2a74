import type { Socket } from 'node:net';
import type { Log, TlsRefusal } from '#base';
import { createLineLimit } from './line-limit.ts';

/** What a refused client is sent, whatever it asked. Prometheus shows the status line as the error of a target. */
interface Refusal {
  readonly statusLine: string;
  readonly sentence: string;
}

/** Counts and logs a client that is refused; `detail` says more in the log. The result is for the client. */
export type RefuseClient = (reason: TlsRefusal, socket: Socket, detail?: string) => Refusal;

// The status lines of certificates are the names of the alerts that other servers send: Node.js sends none.
const REFUSALS: Readonly<Record<TlsRefusal, Refusal>> = {
  no_certificate: {
    statusLine: '403 certificate required',
    sentence: 'the client sent no certificate, and this server requires one',
  },
  unknown_ca: {
    statusLine: '403 unknown certificate authority',
    sentence: 'the certificate of the client is from none of the CAs in client_ca_file',
  },
  expired: {
    statusLine: '403 certificate expired or not yet valid',
    sentence: 'the certificate of the client has expired, or is not valid yet',
  },
  name: {
    statusLine: '403 bad certificate: no allowed name',
    sentence: 'the certificate of the client has none of the names in client_allowed_sans',
  },
  plain_http: {
    statusLine: '400 HTTP request to an HTTPS server',
    sentence: 'the client sent plain HTTP to a port that serves TLS: use https',
  },
  other: {
    statusLine: '403 bad certificate',
    sentence: 'the TLS handshake failed, or the certificate of the client cannot be used',
  },
};

/** How long a refused client may take to read its response and to leave. */
const LINGER_MS = 2_000;

/** Counts each refusal, and logs one a minute for each reason, with the address of that client. */
export function createRefusals(
  tlsRefused: (reason: TlsRefusal) => void,
  monotonicMs: () => number,
  log: Log,
): RefuseClient {
  const isLineDue = createLineLimit(monotonicMs);
  return (reason, socket, detail) => {
    tlsRefused(reason);
    const refusal = REFUSALS[reason];
    const fields = { reason, client: socket.remoteAddress, detail };
    if (isLineDue(reason)) log.warn(fields, `client refused: ${refusal.sentence}`);
    else log.debug(fields, 'client refused');
    return refusal;
  };
}

/** Sends the response and closes the connection, without reading what the client sent. */
export function sendRefusal(socket: Socket, { statusLine, sentence }: Refusal): void {
  const body = `${sentence}\n`;
  const head = [
    `HTTP/1.1 ${statusLine}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Unread bytes at the close would reset the connection, and the response with it.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
