import type { ServerResponse } from 'node:http';
import { SENDING } from './response-events.ts';

/** What is handed to the socket at a time. */
const SLICE = 64 * 1024;

/**
 * Ends an answer with this body, which other answers may share. It is handed over in slices, each when the client has
 * taken the one before: TLS would copy all of it at once, for every client that reads slowly.
 */
export function sendBody(response: ServerResponse, chunks: Iterable<Buffer>): void {
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  const slices = cutSlices(chunks);
  function sendNext(): void {
    const { value: slice } = slices.next();
    if (slice === undefined) {
      response.end();
    } else {
      const hasSpace = writeTogether(response, slice);
      if (hasSpace) sendNext();
      else response.once('drain', sendNext);
    }
  }
  response.emit(SENDING);
  sendNext();
}

function writeTogether(response: ServerResponse, buffers: readonly Buffer[]): boolean {
  response.cork();
  let hasSpace = true;
  for (const buffer of buffers) hasSpace = response.write(buffer);
  response.uncork();
  return hasSpace;
}

/** Joins small chunks and cuts large ones; shares their memory. */
function* cutSlices(chunks: Iterable<Buffer>): Generator<readonly Buffer[], undefined> {
  let slice: Buffer[] = [];
  let size = 0;
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length;) {
      const part = chunk.subarray(start, start + SLICE - size);
      slice.push(part);
      start += part.length;
      size += part.length;
      if (size < SLICE) continue;
      yield slice;
      slice = [];
      size = 0;
    }
  }
  if (size > 0) yield slice;
  return undefined;
}
