import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readBody } from '../../src/http/request.ts';

test('a body that is slow to process yields to other work, and arrives complete', async () => {
  const chunks = Array.from({ length: 40 }, () => Buffer.alloc(1_000));
  let bytes = 0;
  let inARow = 0;
  let most = 0;
  const turn = (): void => {
    inARow = 0;
    if (bytes < 40_000) setImmediate(turn);
  };
  turn();
  // All is there at once, as in the buffers of a fast connection.
  const body = Readable.from(chunks, { objectMode: false, highWaterMark: 100_000 });
  await readBody(body, (chunk) => {
    const end = performance.now() + 2;
    while (performance.now() < end) continue;
    bytes += chunk.length;
    inARow += 1;
    most = Math.max(most, inARow);
  });
  expect(bytes).toBe(40_000);
  expect(most).toBeLessThanOrEqual(3);
});
