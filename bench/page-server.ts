// A server that answers every request with one page of ranges from memory, so that only the client is measured.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { rangesPage } from './decoder-pages.ts';
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
const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.on('data', () => {
    socket.write(head);
    socket.write(page);
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

serveCalls({
  page: (): ServedPage => ({ url: `http://127.0.0.1:${port}`, bytes: page.length }),
});
