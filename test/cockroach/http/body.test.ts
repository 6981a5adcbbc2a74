import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../../src/cockroach/http/body.ts';
import { createAuthority } from '../../support/certificates.ts';
import { ask, connect } from '../../support/http-client.ts';
import { serve } from '../../support/http-server.ts';
import { serveTls } from '../../support/https-server.ts';

test('a body that is slow to process yields to other work, and arrives complete', async () => {
  const chunks = Array.from({ length: 40 }, () => Buffer.alloc(70_000));
  let bytes = 0;
  let inARow = 0;
  let most = 0;
  const turn = (): void => {
    inARow = 0;
    if (bytes < 2_800_000) globalThis.setImmediate(turn);
  };
  turn();
  // All is there at once, as in the buffers of a fast connection.
  const body = Readable.from(chunks, { objectMode: false, highWaterMark: 1_000_000 });
  await readBody(body, (_chunks, length) => {
    const end = performance.now() + 2;
    while (performance.now() < end) continue;
    bytes += length;
    inARow += 1;
    most = Math.max(most, inARow);
  });
  expect(bytes).toBe(2_800_000);
  expect(most).toBeLessThanOrEqual(3);
});

test('a failure of the receiver in the last bytes is that of the body', async () => {
  const body = Readable.from([Buffer.from('{')], { objectMode: false });
  const failed = readBody(body, () => {
    throw new Error('not JSON');
  });
  await expect(failed).rejects.toThrow('not JSON');
});

test('chunks that arrive in a turn of the event loop are handed on together, and at once when they are many', async () => {
  const body = new Readable({ read: () => undefined });
  const calls: number[][] = [];
  const read = readBody(body, (chunks) => void calls.push(chunks.map(({ length }) => length)));
  body.push(Buffer.alloc(10));
  body.push(Buffer.alloc(20));
  await setImmediate();
  await setImmediate();
  for (let chunk = 0; chunk < 5; chunk += 1) body.push(Buffer.alloc(16_384));
  await setImmediate();
  body.push(Buffer.alloc(7));
  body.push(null);
  await read;
  expect(calls.flat()).toEqual([10, 20, 16_384, 16_384, 16_384, 16_384, 16_384, 7]);
  expect(calls.slice(0, 2)).toEqual([[10, 20], Array.from({ length: 4 }, () => 16_384)]);
});

test('nothing is handed on after the failure of a body', async () => {
  const body = new Readable({ read: () => undefined });
  let bytes = 0;
  const read = readBody(body, (_chunks, length) => void (bytes += length));
  body.push(Buffer.alloc(10));
  body.destroy(new Error('reset'));
  await expect(read).rejects.toThrow('reset');
  await setImmediate();
  expect(bytes).toBe(0);
});

const answer: RequestListener = (_request, response) => response.end(Buffer.alloc(2_000_000));

describe('the memory of received bytes', () => {
  const authority = createAuthority();
  test.each(['http', 'https'])(
    'is freed when those of the next buffer arrive over %s',
    async (scheme) => {
      const ca = (await authority).cert;
      await using server =
        scheme === 'http'
          ? await serve(answer)
          : await serveTls(
              await (await authority).issue({ name: 'node', sans: ['ip:127.0.0.1'] }),
              answer,
            );
      await using client = connect([server.url], { tls: { rejectUnauthorized: true, ca } });
      const received = new Map<
        ArrayBufferLike,
        { size: number; bytes: number; last: Uint8Array }
      >();
      const onChunks = (chunks: readonly Uint8Array[]): void => {
        for (const last of chunks) {
          const { size = last.buffer.byteLength, bytes = 0 } = received.get(last.buffer) ?? {};
          received.set(last.buffer, { size, bytes: bytes + last.length, last });
        }
      };
      await ask(client, { onChunks });
      const buffers = [...received.values()].slice(0, -1);
      // Not the first one, which follows the headers. With Node.js 26 a buffer holds several records of TLS.
      const whole = buffers.filter(({ size, bytes }) => size === bytes);
      expect(whole.length).toBeGreaterThan(10);
      expect(whole.filter(({ last }) => last.length > 0)).toEqual([]);
    },
  );
});
