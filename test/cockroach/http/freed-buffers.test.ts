import { randomBytes } from 'node:crypto';
import { createServer as createHttp, type RequestListener, type Server } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { ask, connect } from '../../support/http-client.ts';

// The client frees received buffers (src/cockroach/http/attempt.ts). Whoever reads a freed one finds no bytes, so what arrives would not
// be what was sent.

const authority = await createAuthority();
const identity = await authority.issue({ name: 'node', sans: ['ip:127.0.0.1'] });

/** Pieces that arrive alone or several in one buffer, below and above the size of the pool of Node.js. */
const SIZES = [1, 70_000, 300, 40_000, 2, 200_000, 8_000, 33_000, 500_000, 4_096, 4_097, 10];
const PIECES = SIZES.map((size) => randomBytes(size));
const BODY = Buffer.concat(PIECES);

/** Sends each piece when the one before has been sent: a chunk of HTTP each. */
const inPieces: RequestListener = (_request, response) => {
  const write = (at: number): void => {
    if (at === PIECES.length) response.end();
    else response.write(PIECES[at], () => write(at + 1));
  };
  write(0);
};

/** Large and small chunks of HTTP in each buffer that arrives: the buffer must live until its last chunk was read. */
const inSmallChunks: RequestListener = (_request, response) => {
  for (let at = 0; at < BODY.length;) {
    for (const size of [40_000, 100, 20_000, 3_000, 5_000]) {
      response.write(BODY.subarray(at, at + size));
      at += size;
      if (at >= BODY.length) break;
    }
  }
  response.end();
};

const compressed: RequestListener = (_request, response) => {
  response.setHeader('content-encoding', 'gzip').end(gzipSync(BODY));
};

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `127.0.0.1:${address.port}`;
}

const KINDS = [
  ['of single pieces', false, inPieces],
  ['that hold many chunks', false, inSmallChunks],
  ['of TLS', true, inPieces],
  ['of TLS that hold many chunks', true, inSmallChunks],
  ['that are decompressed', false, compressed],
  ['that are decompressed behind TLS', true, compressed],
] as const;

describe('nobody reads freed buffers', () => {
  test.each(KINDS)('%s', async (_kind, isTls, listener) => {
    const server = isTls ? createHttps(identity, listener) : createHttp(listener);
    const host = await listen(server);
    await using client = connect([`${isTls ? 'https' : 'http'}://${host}`], {
      compression: listener === compressed,
      tls: { rejectUnauthorized: true, ca: authority.cert },
    });
    const pooled = Array.from({ length: 2_000 }, (_, at) => Buffer.from(`text ${at}`));
    const handedOn: Uint8Array[] = [];
    const read = async (): Promise<Buffer> => {
      const received: Buffer[] = [];
      await ask(client, {
        onChunks: (chunks) => {
          handedOn.push(...chunks);
          received.push(Buffer.concat(chunks));
          pooled.push(Buffer.from(`text ${pooled.length}`));
          // A slow reader: the stream pauses, and the next chunks wait in it.
          const end = performance.now() + 1;
          while (performance.now() < end) continue;
        },
      });
      return Buffer.concat(received);
    };
    // Twice over the same connections, which must not keep a freed buffer either.
    for (let round = 0; round < 2; round += 1) {
      const bodies = await Promise.all([read(), read()]);
      expect(bodies.map((body) => body.equals(BODY))).toEqual([true, true]);
    }
    expect(pooled.map(String)).toEqual(pooled.map((_, at) => `text ${at}`));
    // Otherwise this test would show nothing.
    const isFreed = handedOn.some(({ length }) => length === 0);
    expect(isFreed).toBe(listener !== compressed);
    server.close();
    server.closeAllConnections();
  });
});
