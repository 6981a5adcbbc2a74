// A server that answers every request but logins with one page of ranges from memory, so that only the client is measured.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { rangesPage } from './json-pages.ts';
import { serveCalls } from './process.ts';

export interface ServedPage {
  readonly url: string;
  readonly bytes: number;
}

const { ranges }: { ranges: number } = JSON.parse(process.argv[2] ?? '{}');
/** All of one node, and the last page. */
const text = rangesPage(ranges)
  .toString()
  .replaceAll(/"source_node_id":\d+/g, '"source_node_id":101')
  .replace(/,"next":\d+\}$/, '}');
const page = Buffer.from(text);
const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${page.length}\r\n\r\n`;
const login = '{"session":"any"}';
/** Pages that may be sent; without any a request waits. */
let allowed = Infinity;
const waiting: Socket[] = [];
let onWaiting = Promise.withResolvers<void>();

function answer(socket: Socket): void {
  allowed -= 1;
  socket.write(head);
  socket.write(page);
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.on('data', (request) => {
    if (request.toString('latin1', 0, 4) === 'POST') {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${login.length}\r\n\r\n${login}`);
    } else if (allowed > 0) {
      answer(socket);
    } else {
      waiting.push(socket);
      onWaiting.resolve();
    }
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

serveCalls({
  page: (): ServedPage => ({ url: `http://127.0.0.1:${port}`, bytes: page.length }),
  /** Sends so many pages; resolves when the request after them waits. */
  async send(pages: number): Promise<void> {
    allowed = pages;
    onWaiting = Promise.withResolvers();
    for (const socket of waiting.splice(0, pages)) answer(socket);
    if (waiting.length === 0) await onWaiting.promise;
  },
});
