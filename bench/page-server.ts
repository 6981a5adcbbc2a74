// A server of one node that has one page of ranges, from memory, so that only the client is measured. It answers `ranges=`, and its
// ranges join from the first key to the last; it has no descriptors.
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { Identity } from '../test/support/certificates.ts';
import { nodeAndRanges, PAGE_NODE_ID } from './json-pages.ts';
import { serveCalls } from './process.ts';

export interface PageServer {
  readonly ranges: number;
  /** Over TLS. */
  readonly identity?: Identity;
}

export interface ServedPage {
  readonly url: string;
  readonly bytes: number;
}

const { ranges, identity }: PageServer = JSON.parse(process.argv[2] ?? '{}');
const { nodeList, elements } = nodeAndRanges(ranges);
const page = listOf(elements);
const LIST = `/nodes/${PAGE_NODE_ID}/ranges/`;
/** Pages that may be sent; without any a request waits. */
let allowed = Infinity;
const waiting: Socket[] = [];
let onWaiting = Promise.withResolvers<void>();

function listOf(chosen: readonly string[]): Buffer {
  return Buffer.from(`{"ranges":[${chosen.join(',')}]}`);
}

function send(socket: Socket, body: Buffer | string, status = '200 OK'): void {
  socket.write(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(body);
}

function sendPage(socket: Socket): void {
  allowed -= 1;
  send(socket, page);
}

function answer(socket: Socket, method: string, { pathname, searchParams }: URL): void {
  const chosen = searchParams.get('ranges');
  if (method === 'POST') send(socket, '{"session":"any"}');
  else if (pathname.endsWith('/api/v2/nodes/')) send(socket, nodeList);
  else if (!pathname.endsWith(LIST)) send(socket, '{}', '404 Not Found');
  else if (chosen !== null) {
    send(socket, listOf(chosen.split(',').flatMap((id) => elements[Number(id) - 1] ?? [])));
  } else if (allowed > 0) sendPage(socket);
  else {
    waiting.push(socket);
    onWaiting.resolve();
  }
}

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (request: Buffer) => {
    const [method = '', path = '/'] = request.toString('latin1').split(' ', 2);
    answer(socket, method, new URL(path, 'http://server'));
  });
}

const server = identity === undefined ? net.createServer(serve) : tls.createServer(identity, serve);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;
const scheme = identity === undefined ? 'http' : 'https';

serveCalls({
  page: (): ServedPage => ({ url: `${scheme}://127.0.0.1:${port}`, bytes: page.length }),
  /** Sends this many pages; resolves when the request after them waits. */
  async send(pages: number): Promise<void> {
    allowed = pages;
    onWaiting = Promise.withResolvers();
    for (const socket of waiting.splice(0, pages)) sendPage(socket);
    if (waiting.length === 0) await onWaiting.promise;
  },
});
