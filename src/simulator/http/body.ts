import type { IncomingMessage } from 'node:http';

/** No request of these APIs is longer. */
const MAX_BODY_BYTES = 1_048_576;

/** The request's body as text; longer ones are cut. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
