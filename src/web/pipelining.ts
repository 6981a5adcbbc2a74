import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Connections } from './connections.ts';

/** More requests than any client sends without waiting for an answer. */
const MAX_WAITING = 8;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Handles one request of a connection at a time. What has arrived is parsed, so the next requests wait here, and
 * nothing more is read from the client meanwhile. A client that sends too many is disconnected.
 */
export function handleInTurn(handler: RequestListener, connections: Connections): RequestListener {
  const waiting = new WeakMap<Socket, Exchange[]>();

  function handle({ request, response }: Exchange, queue: Exchange[]): void {
    const { socket } = request;
    connections.begin(socket, response);
    response.on('close', () => {
      const next = socket.destroyed ? undefined : queue.shift();
      if (next !== undefined) handle(next, queue);
      else waiting.delete(socket);
      if (queue.length === 0) socket.resume();
    });
    handler(request, response);
  }

  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const queue = waiting.get(socket);
    if (queue === undefined) {
      const empty: Exchange[] = [];
      waiting.set(socket, empty);
      handle({ request, response }, empty);
    } else if (queue.length < MAX_WAITING) {
      queue.push({ request, response });
      // Later, since what has arrived already is parsed to its end, so that a request too many is noticed.
      process.nextTick(() => queue.length > 0 && socket.pause());
    } else {
      socket.destroy();
    }
  };
}
