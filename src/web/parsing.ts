import type { Socket } from 'node:net';

const END_OF_HEADERS = '\r\n\r\n';
const LONGEST_SLICE = 1_024;

/**
 * Gives the parser one request at a time. Node parses all that has arrived in one go otherwise, thousands of small requests
 * that are made before any limit can act. Called when Node has set up an HTTP connection.
 */
export function parseInSlices(socket: Socket): void {
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
    // Node pauses a connection whose answers are not taken.
    if (rest.length > 0 && isOpen(socket)) socket.unshift(rest);
  });
}

/** False when it was closed for what it sent, or after its last answer. */
function isOpen({ destroyed, writable }: Socket): boolean {
  return writable && !destroyed;
}

function endOfSlice(chunk: Buffer): number {
  const end = chunk.indexOf(END_OF_HEADERS);
  return end === -1 ? LONGEST_SLICE : Math.min(end + END_OF_HEADERS.length, LONGEST_SLICE);
}
