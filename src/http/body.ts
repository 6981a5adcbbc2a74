import type { Readable } from 'node:stream';

/**
 * How long chunks may be worked on before other callbacks get their turn. A socket hands on up to 2 MB at a time, which
 * takes some 3 ms as a rule, but ten times as long while the code is cold or the machine is busy.
 */
const SLICE_MS = 2;

/**
 * Frees the memory of received chunks. A buffer may hold several chunks, which arrive one after the other, so it is freed when
 * a chunk of another buffer arrives. Chunks of less than half of the pool of Node.js may lie in the pool, which is never freed.
 * Chunks that are not freed wait for the garbage collector: a page of 45 MB cost 25 mark-compacts in a benchmark instead of
 * 2, and nearly twice the CPU time of all threads.
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

/**
 * Hands a body on as it arrives, in chunks that are only valid during the call. Listens to events instead of iterating: a
 * promise for each chunk of a 40 MB page would cost more than reading it. `frees`: nobody else needs the chunks, so their
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
    stream.on('data', (chunk: Buffer) => {
      const startedAt = performance.now();
      try {
        onChunk(chunk);
      } catch (error) {
        reject(error);
        stream.destroy();
      }
      release(chunk);
      workedMs += performance.now() - startedAt;
      if (workedMs <= SLICE_MS) return;
      workedMs = 0;
      stream.pause();
      setImmediate(() => stream.resume());
    });
    stream.on('error', reject);
    stream.on('end', resolve);
    const early = Object.assign(new Error('the response ended early'), { code: 'ECONNRESET' });
    stream.on('close', () => reject(early));
  });
}
