import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip, gzipSync } from 'node:zlib';
import type { Answer } from './answer.ts';

/** Smaller bodies are not compressed. */
const MIN_GZIP_BYTES = 1400;
/** Longer bodies are sent with chunked encoding, as Go does beyond its first buffer. */
const MAX_UNCHUNKED_BYTES = 2048;
const PIECE_CHARACTERS = 65_536;
/** A larger body is no harm between processes of one machine. */
const QUICKLY = { level: constants.Z_BEST_SPEED };

/** The transfer of a body. */
export interface Transport {
  readonly gzip: boolean;
  /** Closes the connection after that many bytes of the body. */
  readonly cutAfterBytes?: number | undefined;
  /** Applied to the encoded body. */
  readonly filter?: ((source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>) | undefined;
}

/** Sends a response; a large body is produced no faster than the client reads. Rejects when the client disconnects. */
export async function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  transport: Transport,
): Promise<void> {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  response.statusCode = answer.status;
  const { cutAfterBytes, filter } = transport;
  if (cutAfterBytes !== undefined) return sendPart(response, answer, cutAfterBytes);
  const pieces = buffered(answer.body);
  const first = pieces.next();
  const head = first.done === true ? Buffer.alloc(0) : first.value;
  const second = pieces.next();
  if (second.done === true && filter === undefined) {
    sendWhole(response, head, transport.gzip);
    return;
  }
  if (transport.gzip) markCompressed(response);
  const source = Readable.from(
    following(head, second.done === true ? undefined : second.value, pieces),
  );
  // Send the headers even if the body never starts.
  if (filter !== undefined) response.flushHeaders();
  const through = filter ?? unchanged;
  if (transport.gzip) await pipeline(source, createGzip(QUICKLY), through, response);
  else await pipeline(source, through, response);
}

async function* unchanged(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* source;
}

/** Sends the first bytes, then closes the connection. */
async function sendPart(response: ServerResponse, answer: Answer, bytes: number): Promise<void> {
  const body = Buffer.concat([...buffered(answer.body)]).subarray(0, bytes);
  response.setHeader('Transfer-Encoding', 'chunked');
  await new Promise((resolve) => {
    response.write(body, resolve);
  });
  response.destroy();
}

function sendWhole(response: ServerResponse, body: Buffer, gzip: boolean): void {
  const compress = gzip && body.length >= MIN_GZIP_BYTES;
  if (compress) markCompressed(response);
  const sent = compress ? gzipSync(body, QUICKLY) : body;
  const hasLength = response.statusCode === 204 || response.hasHeader('Content-Length');
  if (sent.length <= MAX_UNCHUNKED_BYTES && !hasLength)
    response.setHeader('Content-Length', sent.length);
  response.write(sent);
  response.end();
}

function markCompressed(response: ServerResponse): void {
  response.setHeader('Content-Encoding', 'gzip');
  response.setHeader('Vary', 'Accept-Encoding');
}

function* following(
  first: Buffer,
  second: Buffer | undefined,
  rest: Generator<Buffer>,
): Generator<Buffer> {
  yield first;
  if (second !== undefined) yield second;
  yield* rest;
}

/** Small pieces combined to buffers of about 64 kB. */
function* buffered(body: Answer['body']): Generator<Buffer> {
  if (body instanceof Uint8Array) {
    for (let at = 0; at < body.length; at += PIECE_CHARACTERS) {
      yield Buffer.from(body.subarray(at, at + PIECE_CHARACTERS));
    }
    return;
  }
  let held = '';
  for (const piece of typeof body === 'string' ? [body] : body) {
    held += piece;
    if (held.length < PIECE_CHARACTERS) continue;
    yield Buffer.from(held);
    held = '';
  }
  if (held !== '') yield Buffer.from(held);
}
