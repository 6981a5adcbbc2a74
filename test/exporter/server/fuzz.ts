import net from 'node:net';
import { createRandom, type Random } from '../../../simulator/random.ts';

const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PURGE',
  'get',
  'G\0T',
];
const PATHS = [
  '/',
  '/',
  '/metrics',
  '/metrics?name[]=up',
  '/metrics?collect[]=nodes',
  '/api/status',
  '/config',
  '/sd/nodes',
  '/sd/clusters',
  '/probe',
  '/probe?cluster=default',
  '/-/healthy',
  '/-/ready',
  '/-/reload',
  '/-/page.js',
  '/?cluster=x',
  '/%',
  '//',
  '/..',
  '*',
  'http://x/',
  'x:1',
  `/${'y'.repeat(9_000)}`,
];
const HEADERS = [
  'Host: y',
  'Content-Length: 5',
  'Content-Length: 5',
  'Content-Length: 99999',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: x',
  'Connection: close',
  'Connection: keep-alive, Upgrade',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: x',
  'Accept: application/openmetrics-text',
  'Accept: text/html',
  'Accept-Encoding: gzip',
  'Authorization: Basic eDp5',
  'Origin: http://evil.example',
  'If-None-Match: W/"0"',
  'X-Prometheus-Scrape-Timeout-Seconds: 0.2',
  ' folded',
  'no colon',
  'A: \u0000',
  `B: ${'z'.repeat(20_000)}`,
];
const BODIES = [
  '',
  '',
  '',
  'abcde',
  'ab',
  '5\r\nabcde\r\n0\r\n\r\n',
  'ffffffff\r\n',
  '\0\0\0\0',
  'GET / HTTP/1.1\r\n',
];
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/9',
  '',
];

/** Far more requests than anybody sends without waiting; counted as a few. */
const BURST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000);

function writeRequest(random: Random): string {
  const count = random.chance(0.6) ? 0 : random.integer(0, 3);
  const host = random.chance(0.95) ? ['Host: x'] : [];
  const headers = [...host, ...Array.from({ length: count }, () => random.pick(HEADERS))];
  const line = `${random.pick(METHODS)} ${random.pick(PATHS)} ${random.pick(VERSIONS)}`;
  const body = count === 0 ? '' : random.pick(BODIES);
  return `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;
}

/** What one connection sends: some requests, sometimes cut in the middle. */
function writeTalk(random: Random): { readonly text: string; readonly requests: number } {
  const requests = random.integer(1, 10);
  if (random.chance(0.02)) return { text: BURST, requests };
  const text = Array.from({ length: requests }, () => writeRequest(random)).join('');
  const end = random.chance(0.3) ? random.integer(0, text.length) : text.length;
  return { text: text.slice(0, end), requests };
}

/** Sends it and leaves: politely, or without reading, or at once. Resolves when the connection is closed. */
async function talk(address: net.TcpNetConnectOpts, text: string, leaving: number): Promise<void> {
  const socket = net.connect(address).on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  if (leaving < 0.8) socket.resume().end(text);
  else if (leaving < 0.9) socket.pause().write(text, () => setTimeout(() => socket.destroy(), 20));
  else socket.write(text, () => socket.destroy());
  await closed;
}

/** Sends about this many requests to this address, some connections at a time; the same ones for the same seed. */
export async function sendFuzz(url: string, count: number, seed: number): Promise<number> {
  const { hostname: host, port } = new URL(url);
  const random = createRandom(seed);
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < count) {
      const { text, requests } = writeTalk(random);
      sent += requests;
      await talk({ host, port: Number(port) }, text, random.next());
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  return sent;
}
