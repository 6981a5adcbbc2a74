import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A server with random responses, and the number of them for each kind of request. */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  readonly counts: { login: number; cloud: number; other: number };
}

/** Starts a server whose responses are determined by `seed` and the number of the request. */
export async function startHostileServer(seed: number): Promise<HostileServer> {
  const counts = { login: 0, cloud: 0, other: 0 };
  const sockets = new Set<Socket>();
  let number = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const head = chunk.toString('latin1');
      if (!/^(?:GET|POST|PATCH|DELETE) /.test(head)) return;
      number += 1;
      const draw = createDraw(seed * 1_000_003 + number);
      const kind = kindOf(head);
      counts[kind] += 1;
      deliver(socket, draw, createResponse(kind, draw));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    counts,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

type Kind = keyof HostileServer['counts'];

function kindOf(head: string): Kind {
  if (head.includes('/login/')) return 'login';
  return head.includes('/migration-assistant') ? 'cloud' : 'other';
}

/** Random choices, reproducible by seed. */
interface Draw {
  /** A whole number below `end`. */
  readonly below: (end: number) => number;
  readonly oneOf: <T>(choices: readonly T[]) => T;
  /** True in `percent` of a hundred draws. */
  readonly chance: (percent: number) => boolean;
}

function createDraw(seed: number): Draw {
  let state = seed | 0;
  // Mulberry32: small, and good enough to mix cases.
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(random() * end);
  return {
    below,
    oneOf(choices) {
      const [first] = choices;
      const chosen = choices[below(choices.length)] ?? first;
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    },
    chance: (percent) => random() * 100 < percent,
  };
}

const VALID: Readonly<Record<Kind, string>> = {
  login: '{"session":"Z29vZA=="}',
  cloud: '{"id":"a1","status":"RUNNING","health":"HEALTHY","password":"p"}',
  other: '{"nodes":[{"node_id":1,"liveness_status":3}]}',
};
const TOKENS: readonly unknown[] = [
  'Z29vZA==',
  'a\nb',
  'a\r\nX-Evil: 1',
  '\0',
  '\u6f22\u5b57',
  'x'.repeat(4096),
  'x'.repeat(60_000),
  ' ',
  '',
  7,
  null,
  true,
  ['a'],
  { a: 1 },
  '\ud83d',
  '\u202e\u009b31m',
];
const BOMB = gzipSync(Buffer.alloc(256 * 1024 * 1024, '{"session":"aaaa'));
const LARGE = Buffer.alloc(4 * 1024 * 1024, '{"session":"');
const ODD_BODIES: readonly (string | Buffer)[] = [
  '',
  ' ',
  'null',
  '[]',
  '0',
  '"text"',
  '<html><body>welcome</body></html>',
  '{"session":1e999,"status":-0,"nodes":[NaN]}',
  `{"session":${'9'.repeat(100_000)}}`,
  '{"__proto__":{"session":"x"},"constructor":{"prototype":1},"nodes":[{"__proto__":{}}]}',
  '['.repeat(50_000),
  '{"session":'.repeat(5_000),
  '{"session":"a","session":"b","status":"A","status":7}',
  Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
  Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
  Buffer.from('7b2273657373696f6e223a22ff80227d', 'hex'),
  gzipSync('{"session":"Z29vZA=="}'),
];

interface RawResponse {
  readonly head: string;
  readonly body: Buffer;
}

function createResponse(kind: Kind, draw: Draw): RawResponse {
  const plain = bodyOf(kind, draw);
  const isChunked = draw.chance(30);
  const body = isChunked ? chunked(plain, draw) : plain;
  const framing = isChunked ? 'transfer-encoding: chunked\r\n' : lengthOf(body, draw);
  return { head: `${statusLine(draw)}${framing}${headers(draw, plain)}\r\n`, body };
}

function statusLine(draw: Draw): string {
  if (draw.chance(65)) return 'HTTP/1.1 200 OK\r\n';
  const status = draw.oneOf([201, 202, 204, 206, 302, 307, 400, 401, 403, 404, 409, 429, 431, 500]);
  return draw.oneOf([
    `HTTP/1.1 ${status} X\r\n`,
    `HTTP/1.1 ${draw.below(1000)} X\r\n`,
    'HTTP/1.0 200 OK\r\n',
    'HTTP/2 200\r\n',
    `HTTP/1.1 200 ${'x'.repeat(draw.below(40_000))}\r\n`,
    'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n',
    'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\n',
    '\0\0\0',
  ]);
}

function headers(draw: Draw, body: Buffer): string {
  let text = body === BOMB || draw.chance(8) ? 'content-encoding: gzip\r\n' : '';
  if (draw.chance(8)) text += `content-encoding: ${draw.oneOf(['br', 'gzip, gzip', 'x', ''])}\r\n`;
  if (draw.chance(10)) text += `retry-after: ${draw.oneOf(['0', '-5', 'x', '1', ''])}\r\n`;
  if (draw.chance(10)) text += 'date: yesterday\r\ndate: today\r\n';
  if (draw.chance(5)) text += `x: ${'y'.repeat(draw.below(40_000))}\r\n`;
  if (draw.chance(5)) text += 'a: b\r\n'.repeat(draw.below(5_000));
  if (draw.chance(5)) text += draw.oneOf([': x\r\n', 'a b: c\r\n', 'a: \0\r\n', 'a\r\n', 'a: b\n']);
  return text;
}

function bodyOf(kind: Kind, draw: Draw): Buffer {
  if (draw.chance(10)) return draw.oneOf([BOMB, LARGE]);
  if (draw.chance(25)) return Buffer.from(VALID[kind]);
  if (draw.chance(40)) return Buffer.from(JSON.stringify({ session: draw.oneOf(TOKENS) }));
  if (draw.chance(50)) {
    const odd = draw.oneOf(ODD_BODIES);
    return typeof odd === 'string' ? Buffer.from(odd) : odd;
  }
  return mutated(Buffer.from(VALID[kind]), draw);
}

/** A valid body with some changed bytes, possibly truncated. */
function mutated(body: Buffer, draw: Draw): Buffer {
  for (let changes = draw.below(4); changes >= 0; changes -= 1) {
    body[draw.below(body.length)] = draw.below(256);
  }
  return draw.chance(50) ? body : body.subarray(0, draw.below(body.length));
}

function lengthOf(body: Buffer, draw: Draw): string {
  if (draw.chance(80)) return `content-length: ${body.length}\r\n`;
  const wrong = [0, body.length + 1, Math.max(0, body.length - 1), -1, 'x', '9'.repeat(25)];
  return draw.chance(50) ? '' : `content-length: ${draw.oneOf(wrong)}\r\n`;
}

function chunked(body: Buffer, draw: Draw): Buffer {
  if (draw.chance(10))
    return Buffer.from(draw.oneOf(['zz\r\n', 'ffffffffffffffffff\r\n', '5\r\n{']));
  const size = Buffer.from(`${body.length.toString(16)}\r\n`);
  const end = body.length === 0 ? '\r\n' : '\r\n0\r\n\r\n';
  return Buffer.concat([size, body, Buffer.from(end)]);
}

/** Sends the response, whole, in pieces or truncated; then closes, resets or keeps the connection. */
function deliver(socket: Socket, draw: Draw, { head, body }: RawResponse): void {
  socket.write(head, 'latin1');
  const isCut = draw.chance(10);
  const sent = isCut ? body.subarray(0, draw.below(body.length + 1)) : body;
  const middle = draw.below(sent.length + 1);
  socket.write(sent.subarray(0, middle));
  socket.write(sent.subarray(middle));
  if (draw.chance(10)) socket.resetAndDestroy();
  else if (draw.chance(60)) socket.end();
}
