import type { Readable } from 'node:stream';

/**
 * How long chunks may be worked on before other callbacks get their turn. A socket hands on up to 2 MB at a time, which
 * takes some 3 ms as a rule, but ten times as long while the code is cold or the machine is busy.
 */
const SLICE_MS = 2;

/**
 * Frees received bytes as soon as those of another buffer arrive: a page has hundreds of megabytes, for which V8 would look
 * through all its memory again and again. A buffer may hold several chunks; small ones may lie in the pool of Node.js.
 */
export function createReleaser(): (chunk: Uint8Array) => void {
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
 * Hands a body on as it arrives. Listens to events instead of iterating: a promise for each chunk of a 40 MB page would
 * cost more than reading it.
 */
export function readBody(stream: Readable, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let workedMs = 0;
    stream.on('data', (chunk: Buffer) => {
      const startedAt = performance.now();
      try {
        onChunk(chunk);
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)));
      }
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
