import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections.ts';

/** More requests than any client sends without waiting for a response. */
const MAX_WAITING = 8;
const END_OF_HEADERS = '\r\n\r\n';
const MAX_SLICE_BYTES = 1_024;

/**
 * Handles one request of a connection at a time. Further requests that have been parsed wait in a queue, and nothing
 * more is read from the client meanwhile. A client that sends too many is disconnected.
 */
export function handleInOrder(handler: RequestListener, connections: Connections): RequestListener {
  const queues = new WeakMap<Socket, (() => void)[]>();
  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const waiting = queues.get(socket);
    const queue = waiting ?? [];
    function handle(): void {
      connections.begin(socket, response);
      response.on('close', () => {
        const next = socket.destroyed ? undefined : queue.shift();
        if (next === undefined) queues.delete(socket);
        else next();
        if (queue.length === 0) socket.resume();
      });
      handler(request, response);
    }
    if (waiting === undefined) {
      queues.set(socket, queue);
      handle();
    } else if (queue.length < MAX_WAITING) {
      queue.push(handle);
      // Deferred: what has already arrived is parsed completely, so that one request too many is detected.
      process.nextTick(() => queue.length > 0 && socket.pause());
    } else {
      socket.destroy();
    }
  };
}

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
