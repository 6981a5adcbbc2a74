import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork, firstOfLargest } from './client-network.ts';
import { ADMITTED } from './response-events.ts';

export interface ConnectionsOptions {
  readonly maxOpen: number;
  /** A connection was refused or closed because too many were open. */
  readonly onDropped: () => void;
}

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** Of the request under way. */
  response?: ServerResponse | undefined;
  /** Its request was admitted. One that waits for its password to be compared, or to be refused, is idle. */
  isWorking: boolean;
  isEnding: boolean;
}

/** The open connections of one server. Under TLS a connection is known by its TCP socket. */
export class Connections {
  /** The longest idle first. */
  readonly #open = new Map<Socket, Connection>();
  readonly #options: ConnectionsOptions;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Follows a new connection, and closes one when too many are open. */
  add(socket: Socket): void {
    const network = clientNetwork(socket.remoteAddress);
    const connection = { socket, network, isWorking: false, isEnding: false };
    this.#open.set(socket, connection);
    socket.on('close', () => this.#open.delete(socket));
    const { maxOpen, onDropped } = this.#options;
    if (this.#open.size <= maxOpen) return;
    const dropped = this.#chooseBeside(connection);
    this.#open.delete(dropped.socket);
    dropped.socket.destroy();
    onDropped();
  }

  /**
   * The longest idle one of the client with most idle ones. When none is idle, the oldest of the client with most
   * connections, or the new one if it is of that client: no client can keep out others.
   */
  #chooseBeside(newest: Connection): Connection {
    const others = [...this.#open.values()].filter((one) => one !== newest);
    const idle = firstOfLargest(others.filter(({ isWorking }) => !isWorking));
    if (idle !== undefined) return idle;
    const working = firstOfLargest([...others, newest]);
    return working === undefined || working.network === newest.network ? newest : working;
  }

  /** A request is under way on this connection until the answer has left. */
  begin(requestSocket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(tcpSocketOf(requestSocket));
    if (connection === undefined) return;
    connection.response = response;
    response.once(ADMITTED, () => (connection.isWorking = true));
    response.on('close', () => {
      connection.response = undefined;
      connection.isWorking = false;
      if (connection.isEnding) requestSocket.destroy();
      else this.#moveToEnd(connection);
    });
  }

  #moveToEnd(connection: Connection): void {
    const { socket } = connection;
    if (this.#open.delete(socket)) this.#open.set(socket, connection);
  }

  /** Closes connections without a request at once and the others after their present answer. */
  endAll(): void {
    for (const connection of this.#open.values()) {
      const { socket, response } = connection;
      connection.isEnding = true;
      if (response === undefined) socket.destroy();
      else if (!response.headersSent) response.setHeader('connection', 'close');
    }
  }

  /** Resolves when all answers that are under way now have left. */
  async answered(): Promise<void> {
    const responses = Array.from(this.#open.values(), ({ response }) => response ?? []).flat();
    await Promise.all(responses.map((response) => once(response, 'close')));
  }

  /** Closes all connections at once. */
  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

/** The socket that a TLS socket wraps; Node keeps it under this name. */
function tcpSocketOf(socket: Socket & { readonly _parent?: Socket | null }): Socket {
  return socket._parent ?? socket;
}
