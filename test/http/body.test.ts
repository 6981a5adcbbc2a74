import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../src/http/body.ts';
import { ask, connect } from '../support/http-client.ts';
import { serve } from '../support/http-server.ts';

test('a body that is slow to process yields to other work, and arrives complete', async () => {
  const chunks = Array.from({ length: 40 }, () => Buffer.alloc(5_000));
  let bytes = 0;
  let inARow = 0;
  let most = 0;
  const turn = (): void => {
    inARow = 0;
    if (bytes < 200_000) setImmediate(turn);
  };
  turn();
  // All is there at once, as in the buffers of a fast connection.
  const body = Readable.from(chunks, { objectMode: false, highWaterMark: 1_000_000 });
  await readBody(body, (chunk) => {
    const end = performance.now() + 2;
    while (performance.now() < end) continue;
    bytes += chunk.length;
    inARow += 1;
    most = Math.max(most, inARow);
  });
  expect(bytes).toBe(200_000);
  expect(most).toBeLessThanOrEqual(3);
});

test('a failure of the receiver in the last bytes is that of the body', async () => {
  const body = Readable.from([Buffer.from('{')], { objectMode: false });
  const failed = readBody(body, () => {
    throw new Error('not JSON');
  });
  await expect(failed).rejects.toThrow('not JSON');
});

describe('the memory of received bytes', () => {
  test('is freed when those of the next buffer arrive', async () => {
    await using server = await serve((_request, response) => response.end(Buffer.alloc(2_000_000)));
    await using client = connect([server.url]);
    const held: Uint8Array[] = [];
    let bytes = 0;
    const onChunk = (chunk: Uint8Array): void => {
      bytes += chunk.length;
      if (2 * chunk.length > Buffer.poolSize) held.push(chunk);
    };
    await ask(client, { onChunk });
    expect(bytes).toBe(2_000_000);
    expect(held.length).toBeGreaterThan(10);
    expect(held.slice(0, -1).filter((chunk) => chunk.length > 0)).toEqual([]);
  });
});
