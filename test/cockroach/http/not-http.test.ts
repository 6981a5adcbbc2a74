import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { codeOf, RequestError } from '../../../src/cockroach/http/errors.ts';
import { ask, connect } from '../../support/http-client.ts';

/** The URL of a server that writes these bytes after each request and closes the connection. */
async function serveBytes(text: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.from(text, 'latin1')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

test.each([
  ['the banner of an SSH server', 'SSH-2.0-MARKER\r\n'],
  ['the greeting of a mail server', '220 MARKER ESMTP\r\n'],
  ['an error of a PostgreSQL server', 'E\0\0\0\x10SFATAL\0MARKER'],
  ['an alert of a TLS server', '\x15\x03\x01\0\x02\x02\x46'],
  ['a frame of HTTP/2', '\0\0\0\x04\0\0\0\0\0'],
  ['the request itself', 'GET /MARKER HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['nothing', ''],
  ['half a header', `${OK}content-le`],
  ['another version', 'HTTP/3.7 200 MARKER\r\n\r\n'],
  ['no status', 'HTTP/1.1\r\n\r\n'],
  ['a status that is no number', 'HTTP/1.1 MARKER OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 99 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['the status 000', 'HTTP/1.1 000 MARKER\r\ncontent-length: 2\r\n\r\n{}'],
  ['the status 100 and no more', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['an upgrade', 'HTTP/1.1 101 MARKER\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ['a header without a name', `${OK}: MARKER\r\n\r\n`],
  ['a header with a NUL', `${OK}a: \0MARKER\r\n\r\n`],
  ['lines without CR', 'HTTP/1.1 200 OK\na: MARKER\n\n{}'],
  ['a length that is no number', `${OK}content-length: MARKER\r\n\r\n{}`],
  ['a negative length', `${OK}content-length: -2\r\n\r\n{}`],
  ['two lengths', `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
  ['a length beyond all numbers', `${OK}content-length: ${'9'.repeat(30)}\r\n\r\n{}`],
  ['a length and chunks', `${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a chunk without a size', `${CHUNKED}MARKER\r\n{}\r\n`],
  ['a chunk of an impossible size', `${CHUNKED}ffffffffffffffffff\r\n{}\r\n`],
  ['half a chunk', `${CHUNKED}5\r\n{}`],
])('%s instead of an HTTP answer is a network failure', async (_what, text) => {
  await using client = connect([await serveBytes(text)]);
  const failure: unknown = await ask(client).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toMatchObject({ reason: 'network' });
  // Neither the message nor what stands behind it repeats what the server sent.
  expect(inspect(failure, { depth: 10 })).not.toContain('MARKER');
});

test.each([
  ['the banner of an SSH server', 'SSH-2.0-MARKER\r\n', 'NOT_HTTP'],
  ['an alert of a TLS server', '\x15\x03\x01\0\x02\x02\x46', 'NOT_HTTP'],
  ['a length and chunks', `${CHUNKED.trimEnd()}\r\ncontent-length: 2\r\n\r\n`, 'BROKEN_HTTP'],
  ['a length in a trailer', `${CHUNKED}2\r\n{}\r\n0\r\ncontent-length: 2\r\n\r\n`, 'BROKEN_HTTP'],
])('%s is told from another server by its first bytes', async (_what, text, code) => {
  await using client = connect([await serveBytes(text)]);
  const failure: unknown = await ask(client).catch((error: unknown) => error);
  expect(codeOf(failure)).toBe(code);
});
