import type { Readable } from 'node:stream';

/**
 * How long chunks may be worked on before other callbacks get their turn. A socket hands on up to 2 MB at a time, which
 * takes some 3 ms as a rule, but ten times as long while the code is cold or the machine is busy.
 */
const SLICE_MS = 2;

/** Chunks are handed on together up to this size: one TLS record of 16 kB, handed on alone, costs as much as 64 kB. */
const JOINED_BYTES = 64 * 1024;

/** The most that a record of TLS holds. */
const RECORD_BYTES = 16 * 1024;
/** Length of the buffers in which Node.js puts small ones: `Buffer.poolSize`, or some bytes more. */
const POOL_BYTES = Buffer.allocUnsafe(1).buffer.byteLength;

/** How many bytes of a buffer were received as chunks of bodies; only of buffers that hold more. */
const receivedBytes = new WeakMap<ArrayBufferLike, number>();

/** Whether the chunk is the last one of its buffer: all bytes of it have been chunks of bodies, so nobody else has any. */
function completes({ buffer, length }: Uint8Array): boolean {
  if (length === buffer.byteLength) return true;
  const bytes = (receivedBytes.get(buffer) ?? 0) + length;
  receivedBytes.set(buffer, bytes);
  return bytes === buffer.byteLength;
}

/**
 * Frees the memory of received chunks, which would else wait for the garbage collector: polling a page of 45 MB over TLS took 235 ms of CPU
 * without this (Node.js 26), and 130 with it (24). A buffer may hold several chunks, which arrive one after the other, so it is freed
 * when a chunk of another buffer arrives, and only if nobody else uses a part of it: all of it was received, it has the size of one
 * TLS record, or the chunk is too long for the pool of Node.js, whose chunks are at most half of it. Example: Node.js 26 puts TLS
 * records of all connections into buffers of 64 kB; one that has held four records of 16 kB, of one body or of several, is freed.
 */
function createReleaser(): (chunk: Uint8Array) => void {
  let last: ArrayBufferLike | undefined;
  let isShared = true;
  return (chunk) => {
    const { buffer, length } = chunk;
    if (buffer !== last) {
      if (last instanceof ArrayBuffer && !isShared) last.transfer(0);
      last = buffer;
      isShared = true;
    }
    const isAlone = 2 * length > POOL_BYTES || buffer.byteLength <= RECORD_BYTES;
    if (isAlone || completes(chunk)) isShared = false;
  };
}

/**
 * Hands a body on as it arrives, in chunks that are only valid during the call. Listens to events instead of iterating: a
 * promise for each chunk of a 40 MB page would cost more than reading it. `frees`: nobody else needs the chunks, so their
 * memory is freed.
 */
export function readBody(
  stream: Readable,
  onChunks: (chunks: readonly Uint8Array[], bytes: number) => void,
  { frees = false } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = frees ? createReleaser() : () => undefined;
    let workedMs = 0;
    let chunks: Buffer[] = [];
    let bytes = 0;
    function fail(error: unknown): void {
      // Nothing is handed on for a request that has failed.
      bytes = 0;
      chunks = [];
      reject(error);
    }
    function handOn(): void {
      if (bytes === 0) return;
      const [joined, length] = [chunks, bytes];
      chunks = [];
      bytes = 0;
      const startedAt = performance.now();
      try {
        onChunks(joined, length);
      } catch (error) {
        fail(error);
        stream.destroy();
      }
      for (const chunk of joined) release(chunk);
      workedMs += performance.now() - startedAt;
      if (workedMs <= SLICE_MS) return;
      workedMs = 0;
      stream.pause();
      setImmediate(() => stream.resume());
    }
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= JOINED_BYTES) handOn();
      // What else arrives in this turn of the event loop is handed on with it.
      else if (bytes === chunk.length) setImmediate(handOn);
    });
    stream.on('error', fail);
    stream.on('end', () => {
      handOn();
      resolve();
    });
    const early = Object.assign(new Error('the response ended early'), { code: 'ECONNRESET' });
    stream.on('close', () => fail(early));
  });
}
