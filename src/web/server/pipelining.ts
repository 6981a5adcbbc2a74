import type { Socket } from 'node:net';

const END_OF_HEADERS = '\r\n\r\n';
const MAX_SLICE_BYTES = 1_024;

/**
 * Passes one request at a time to the parser of a new HTTP connection. Otherwise Node parses everything that has arrived
 * at once: thousands of small requests, created before any limit applies.
 */
export function parseOneByOne(socket: Socket): void {
  const [parse] = socket.listeners('data');
  if (parse === undefined) return;
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0 && isOpen(socket) && !socket.isPaused()) {
      const slice = rest.subarray(0, endOfSlice(rest));
      rest = rest.subarray(slice.length);
      Reflect.apply(parse, socket, [slice]);
    }
    // Node pauses a connection whose client does not read the responses.
    if (rest.length > 0 && isOpen(socket)) socket.unshift(rest);
  });
}

/** False when it was closed because of what it sent, or after its last response. */
function isOpen({ destroyed, writable }: Socket): boolean {
  return writable && !destroyed;
}

function endOfSlice(chunk: Buffer): number {
  const end = chunk.indexOf(END_OF_HEADERS);
  return end === -1 ? MAX_SLICE_BYTES : Math.min(end + END_OF_HEADERS.length, MAX_SLICE_BYTES);
}
