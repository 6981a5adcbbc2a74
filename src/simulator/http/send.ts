import type { ServerResponse } from 'node:http';
import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';

/** Smaller bodies are not compressed. */
const GZIP_FROM_BYTES = 1400;
/** Longer bodies go out in pieces with chunked encoding, as Go does beyond its first buffer. */
const ONE_PIECE_BYTES = 2048;
const PIECE_CHARACTERS = 65_536;

/** Sends an answer; a large body is produced no faster than the client reads. Rejects when the client goes. */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  gzip: boolean,
  disturbance?: Transform,
): Promise<void> {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.statusCode = answer.status;
  const pieces = gathered(answer.body);
  const first = pieces.next();
  const head = first.done === true ? Buffer.alloc(0) : first.value;
  const second = pieces.next();
  if (second.done === true && disturbance === undefined) {
    sendWhole(response, head, gzip);
    return;
  }
  const source = Readable.from(
    restOf(head, second.done === true ? undefined : second.value, pieces),
  );
  if (gzip) markCompressed(response);
  const steps = [
    ...(gzip ? [createGzip()] : []),
    ...(disturbance === undefined ? [] : [disturbance]),
  ];
  await pipeline([source, ...steps, response]);
}

function sendWhole(response: ServerResponse, body: Buffer, gzip: boolean): void {
  const compress = gzip && body.length >= GZIP_FROM_BYTES;
  if (compress) markCompressed(response);
  const sent = compress ? gzipSync(body) : body;
  if (sent.length <= ONE_PIECE_BYTES && response.statusCode !== 204) {
    response.setHeader('Content-Length', sent.length);
  }
  response.write(sent);
  response.end();
}

function markCompressed(response: ServerResponse): void {
  response.setHeader('Content-Encoding', 'gzip');
  response.setHeader('Vary', 'Accept-Encoding');
}

function* restOf(
  first: Buffer,
  second: Buffer | undefined,
  rest: Generator<Buffer>,
): Generator<Buffer> {
  yield first;
  if (second !== undefined) yield second;
  yield* rest;
}

/** Small pieces gathered into buffers of about 64 kB. */
function* gathered(body: string | Iterable<string>): Generator<Buffer> {
  let held = '';
  for (const piece of typeof body === 'string' ? [body] : body) {
    held += piece;
    if (held.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(held);
    held = '';
  }
  if (held !== '') yield Buffer.from(held);
}
