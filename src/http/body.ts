import type { Readable } from 'node:stream';

/**
 * How long chunks may be worked on before other callbacks get their turn. A socket hands on up to 2 MB at a time, which
 * takes some 3 ms as a rule, but ten times as long while the code is cold or the machine is busy.
 */
const SLICE_MS = 2;

/**
 * Frees the memory of received chunks. A buffer may hold several chunks, which arrive one after the other, so it is freed when
 * a chunk of another buffer arrives. Chunks of less than half of the pool of Node.js may lie in the pool, which is never freed.
 * Without this the 45 MB of a page wait for the garbage collector: 25 mark-compacts in a benchmark instead of 2, and
 * nearly twice the CPU time of all threads.
 */
function createReleaser(): (chunk: Uint8Array) => void {
  let last: ArrayBufferLike | undefined;
  let isPooled = true;
  return ({ buffer, length }) => {
    if (buffer !== last) {
      if (last instanceof ArrayBuffer && !isPooled) last.transfer(0);
      last = buffer;
      isPooled = true;
    }
    if (2 * length > Buffer.poolSize) isPooled = false;
  };
}

/** Smaller chunks are collected until they fill this. */
const BATCH_BYTES = 64 * 1024;
/** Larger chunks are handed on as they are: collecting them would copy most of a response. */
const MAX_COLLECTED_BYTES = 4 * 1024;

/**
 * Hands a body on as it arrives, in chunks that are only valid during the call. Listens to events instead of iterating: a
 * promise for each chunk of a 40 MB page would cost more than reading it. Small chunks are collected: a server that sends
 * 14 bytes in each would otherwise cost a call of the decoder for each. `frees`: nobody else needs the chunks, so their
 * memory is freed.
 */
export function readBody(
  stream: Readable,
  onChunk: (chunk: Uint8Array) => void,
  { frees = false } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = frees ? createReleaser() : () => undefined;
    let workedMs = 0;
    let batch: Buffer | undefined;
    let filled = 0;
    const handOn = (chunk: Uint8Array): void => {
      const startedAt = performance.now();
      try {
        onChunk(chunk);
      } catch (error) {
        reject(error);
        stream.destroy();
      }
      workedMs += performance.now() - startedAt;
      if (workedMs <= SLICE_MS) return;
      workedMs = 0;
      stream.pause();
      setImmediate(() => stream.resume());
    };
    const handOnBatch = (): void => {
      if (batch === undefined || filled === 0) return;
      const collected = batch.subarray(0, filled);
      filled = 0;
      handOn(collected);
    };
    stream.on('data', (chunk: Buffer) => {
      if (filled + chunk.length > BATCH_BYTES || chunk.length > MAX_COLLECTED_BYTES) handOnBatch();
      if (chunk.length > MAX_COLLECTED_BYTES) {
        handOn(chunk);
        // Smaller ones of the same buffer were copied before. The batch is no received buffer, and is used again.
        release(chunk);
        return;
      }
      batch ??= Buffer.allocUnsafeSlow(BATCH_BYTES);
      filled += chunk.copy(batch, filled);
    });
    stream.on('error', reject);
    stream.on('end', () => {
      handOnBatch();
      resolve();
    });
    const early = Object.assign(new Error('the response ended early'), { code: 'ECONNRESET' });
    stream.on('close', () => reject(early));
  });
}
