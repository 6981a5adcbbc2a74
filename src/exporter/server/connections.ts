import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const MAX_OPEN = 1_000;
const MIN_OPEN = 8;
/** Descriptors that the process holds for itself. Of the others, one half is for clients, the other for polls. */
const OWN_DESCRIPTORS = 40;

/** 64 descriptors are enough for 12 connections, 256 for 108, 2,040 for 1,000. */
export function connectionsFor(descriptors: number): number {
  const half = Math.floor((descriptors - OWN_DESCRIPTORS) / 2);
  return Math.min(MAX_OPEN, Math.max(MIN_OPEN, half));
}

/** How many connections the limit of open files (`ulimit -n`) allows. */
function readMaxOpen(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
    return connectionsFor(Number(soft ?? Infinity));
  } catch {
    return MAX_OPEN;
  }
}

/** The open connections of one listener: a limited number, with one request at a time each. Under TLS, its TCP sockets. */
export class Connections {
  /** The last response of each, undefined before the first request. The longest without a request or response first. */
  readonly #open = new Map<Socket, ServerResponse | undefined>();
  readonly #maxOpen = readMaxOpen();
  readonly #onDropped: () => void;

  /** Calls back for each connection that is closed because too many are open. */
  constructor(onDropped: () => void) {
    this.#onDropped = onDropped;
  }

  /**
   * Adds a new connection. When too many are open, the one that has been idle for the longest time is closed, so that idle ones
   * never end a response; the one with the oldest request if there is no other idle one.
   */
  add(socket: Socket): void {
    if (this.#open.size >= this.#maxOpen) this.#dropOne();
    this.#open.set(socket, undefined);
    socket.on('close', () => this.#open.delete(socket));
  }

  #dropOne(): void {
    const dropped = this.#oldestIdle() ?? this.#open.keys().next().value;
    if (dropped === undefined) return;
    this.#open.delete(dropped);
    dropped.destroy();
    this.#onDropped();
  }

  #oldestIdle(): Socket | undefined {
    for (const [socket, response] of this.#open) if (response === undefined) return socket;
    return undefined;
  }

  /** Handles the requests of open connections. A second request before the response to the first closes the connection. */
  handle(handler: RequestListener): RequestListener {
    return (request, response) => {
      const socket = tcpSocketOf(request.socket);
      if (!this.#open.has(socket)) return;
      // A client cannot have received all of a response before its end was written.
      if (this.#open.get(socket)?.writableEnded === false) {
        socket.destroy();
        return;
      }
      this.#touch(socket, response);
      response.once('close', () => {
        if (this.#open.get(socket) === response) this.#touch(socket, undefined);
      });
      handler(request, response);
    };
  }

  #touch(socket: Socket, response: ServerResponse | undefined): void {
    this.#open.delete(socket);
    this.#open.set(socket, response);
  }

  /** Closes connections without a request at once and the others after their response. */
  closeAll(): void {
    for (const [socket, response] of this.#open) {
      if (response === undefined) {
        socket.destroy();
      } else {
        if (!response.headersSent) response.setHeader('connection', 'close');
        response.once('close', () => response.req.socket.destroy());
      }
    }
  }

  /** Resolves when all responses that are being sent now are closed. */
  async responsesClosed(): Promise<void> {
    const responses = [...this.#open.values()].filter((response) => response !== undefined);
    await Promise.all(responses.map((response) => once(response, 'close')));
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

/** The socket that a TLS socket wraps; Node keeps it under this name. */
function tcpSocketOf(socket: Socket & { readonly _parent?: Socket | null }): Socket {
  return socket._parent ?? socket;
}
