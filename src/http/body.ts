import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { RequestError } from './errors.ts';

/** Enough of an error's body to tell the known texts apart. */
const ERROR_TEXT_BYTES = 4096;

/**
 * How long chunks may be worked on before other callbacks get their turn. A socket hands on up to 2 MB at a time, which
 * takes some 3 ms as a rule, but ten times as long while the code is cold or the machine is busy.
 */
const SLICE_MS = 2;

/** The part of an answer that has a body. */
export interface Bodied {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

export interface BodySink {
  /** Most decoded bytes; beyond them the answer fails with reason limit. */
  readonly maxBytes: number;
  /** True when gzip was requested: a body in any other encoding is refused without unpacking it. */
  readonly acceptsGzip: boolean;
  readonly what: string;
  /** Bytes as they came over the wire. */
  readonly onArrived: (bytes: number) => void;
  /** Decoded bytes. */
  readonly onChunk: (chunk: Uint8Array) => void;
}

/**
 * Hands the body of a successful answer on, unpacked, as it comes. Listens to events instead of
 * iterating: a promise for each chunk of a 40 MB page would cost more than reading it.
 */
export async function readBody(response: Bodied, sink: BodySink): Promise<void> {
  const encoding = headerText(response.headers['content-encoding']).trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') {
    await pump(response.body, sink, (chunk) => sink.onArrived(chunk.length));
    return;
  }
  const isGzip = encoding === 'gzip' || encoding === 'x-gzip';
  if (!isGzip || !sink.acceptsGzip) {
    // Leaving an answer is an error of its stream, too; what matters is said below.
    response.body.on('error', () => undefined).destroy();
    const name = isGzip ? 'gzip' : 'another one';
    const asked = sink.acceptsGzip ? 'gzip' : 'identity';
    throw new RequestError(
      'decode',
      `${sink.what}: the content-encoding is ${name}, although ${asked} was requested: look for a proxy that changes it`,
    );
  }
  const gunzip = createGunzip();
  response.body.on('data', (chunk: Buffer) => sink.onArrived(chunk.length));
  response.body.on('error', (error) => gunzip.destroy(error));
  response.body.pipe(gunzip);
  try {
    await pump(gunzip, sink);
  } finally {
    response.body.destroy();
  }
}

function pump(
  stream: Readable,
  sink: BodySink,
  onRaw?: (chunk: Uint8Array) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let total = 0;
    let workedMs = 0;
    const rest = (): void => {
      workedMs = 0;
      stream.pause();
      setImmediate(() => stream.resume());
    };
    stream.on('data', (chunk: Buffer) => {
      total += chunk.length;
      if (total > sink.maxBytes) {
        const text = `${sink.what}: the answer is larger than ${sink.maxBytes} bytes`;
        stream.destroy(new RequestError('limit', text));
        return;
      }
      const startedAt = performance.now();
      try {
        onRaw?.(chunk);
        sink.onChunk(chunk);
        workedMs += performance.now() - startedAt;
        if (workedMs > SLICE_MS) rest();
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    stream.on('error', reject);
    stream.on('end', resolve);
    stream.on('close', () => reject(new RequestError('network', `${sink.what}: cut short`)));
  });
}

/** The start of an error's body as text. A body that breaks off says nothing more than its status. */
export async function readErrorText(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= ERROR_TEXT_BYTES) break;
    }
  } catch {
    // The status is the news; without the text only the hint in the message is poorer.
    signal.throwIfAborted();
  }
  return Buffer.concat(chunks).toString('utf8', 0, ERROR_TEXT_BYTES);
}

/** A header as one text; undici gives a list where the server sent it several times. */
export function headerText(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}
