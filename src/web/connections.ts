import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionsOptions {
  readonly maxOpen: number;
  /** A connection was refused, or an idle one closed, because too many were open. */
  readonly onDropped: () => void;
}

/** The open connections of one server. Under TLS a connection is known by its TCP socket. */
export class Connections {
  /** Connections without a request under way, the longest idle first. */
  readonly #idle = new Set<Socket>();
  readonly #busy = new Map<Socket, ServerResponse>();
  readonly #ending = new WeakSet<Socket>();
  readonly #options: ConnectionsOptions;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Follows a new connection. When too many are open, the longest idle one is closed, or else the new one. */
  add(socket: Socket): void {
    const { maxOpen, onDropped } = this.#options;
    this.#idle.add(socket);
    socket.on('close', () => {
      this.#idle.delete(socket);
      this.#busy.delete(socket);
    });
    if (this.#idle.size + this.#busy.size <= maxOpen) return;
    const [longestIdle = socket] = this.#idle;
    this.#idle.delete(longestIdle);
    longestIdle.destroy();
    onDropped();
  }

  /** A request is under way on this connection until the answer has left. */
  begin(requestSocket: Socket, response: ServerResponse): void {
    const socket = tcpSocketOf(requestSocket);
    this.#idle.delete(socket);
    this.#busy.set(socket, response);
    response.on('close', () => {
      if (!this.#busy.delete(socket)) return;
      if (this.#ending.has(socket)) requestSocket.destroy();
      else this.#idle.add(socket);
    });
  }

  /** Closes idle connections at once and the others after their present answer. */
  endAll(): void {
    for (const socket of this.#idle) socket.destroy();
    for (const [socket, response] of this.#busy) {
      this.#ending.add(socket);
      if (!response.headersSent) response.setHeader('connection', 'close');
    }
  }

  /** Resolves when all answers that are under way now have left. */
  async answered(): Promise<void> {
    await Promise.all(Array.from(this.#busy.values(), (response) => once(response, 'close')));
  }

  /** Closes all connections at once. */
  destroyAll(): void {
    for (const socket of [...this.#idle, ...this.#busy.keys()]) socket.destroy();
  }
}

/** The socket that a TLS socket wraps; Node keeps it under this name. */
function tcpSocketOf(socket: Socket & { readonly _parent?: Socket | null }): Socket {
  return socket._parent ?? socket;
}
