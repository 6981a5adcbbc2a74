import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Emitted by a response when its request has passed authentication and may be handled. */
export const ADMITTED = 'admitted';

const MAX_OPEN = 1_000;
/** Descriptors that the process holds for itself. Of the others, one half is for clients, the other for polls. */
const OWN_DESCRIPTORS = 40;
const MIN_OPEN = 8;
/** How long a limit that was read counts: it may be changed while the process runs. */
const LIMIT_AGE_MS = 1_000;
/** More requests than any client sends without waiting for a response. */
const MAX_WAITING = 8;
const GROUPS = 8;
/** The groups of an IPv6 address that identify its /64. */
const NETWORK_GROUPS = 4;

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** To the request that is being handled. */
  response: ServerResponse | undefined;
  /** Handle further requests, which were parsed meanwhile. */
  readonly waiting: (() => void)[];
  /** Its request was admitted. A connection that waits for authentication is idle. */
  isBusy: boolean;
  isClosing: boolean;
}

/** 64 descriptors are enough for 12 connections, 256 for 108, 2,040 for 1,000. */
export function connectionsFor(descriptors: number): number {
  const half = Math.floor((descriptors - OWN_DESCRIPTORS) / 2);
  return Math.min(MAX_OPEN, Math.max(MIN_OPEN, half));
}

/** The limit of open files (`ulimit -n`); undefined where the system does not tell, or has no descriptor left for it. */
function readDescriptorLimit(): number | undefined {
  try {
    const [, soft] =
      /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The open connections of one listener. Under TLS a connection is identified by its TCP socket. */
export class Connections {
  /** The longest idle first. */
  readonly #open = new Map<Socket, Connection>();
  readonly #onDropped: () => void;
  #limit = { connections: MAX_OPEN, readAtMs: -Infinity };

  /** Calls back for each connection that is closed because too many are open. */
  constructor(onDropped: () => void) {
    this.#onDropped = onDropped;
  }

  /** Adds a new connection, and closes one when too many are open. */
  add(socket: Socket): void {
    const network = clientNetwork(socket.remoteAddress);
    const state = { response: undefined, waiting: [], isBusy: false, isClosing: false };
    const connection = { socket, network, ...state };
    this.#open.set(socket, connection);
    socket.on('close', () => this.#open.delete(socket));
    if (this.#open.size <= this.#maxOpen()) return;
    const dropped = this.#chooseDropped(connection);
    this.#open.delete(dropped.socket);
    dropped.socket.destroy();
    this.#onDropped();
  }

  #maxOpen(): number {
    const nowMs = performance.now();
    if (nowMs - this.#limit.readAtMs >= LIMIT_AGE_MS) {
      const descriptors = readDescriptorLimit();
      const connections = descriptors && connectionsFor(descriptors);
      this.#limit = { connections: connections ?? this.#limit.connections, readAtMs: nowMs };
    }
    return this.#limit.connections;
  }

  /**
   * The longest idle one of the client with the most idle ones. When none is idle, the oldest of the client with the
   * most connections, or the new one if it belongs to that client: no client can keep out others.
   */
  #chooseDropped(newest: Connection): Connection {
    const others = [...this.#open.values()].filter((one) => one !== newest);
    const idle = firstOfLargest(others.filter(({ isBusy }) => !isBusy));
    if (idle !== undefined) return idle;
    const busy = firstOfLargest([...others, newest]);
    return busy === undefined || busy.network === newest.network ? newest : busy;
  }

  /**
   * Handles one request of a connection at a time. Further requests that have been parsed wait, and nothing more is read
   * from the client meanwhile. A client that sends too many is disconnected.
   */
  handleInOrder(handler: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request;
      const connection = this.#open.get(tcpSocketOf(socket));
      if (connection === undefined || socket.destroyed) return;
      const { waiting } = connection;
      const handle = (): void => {
        this.begin(socket, response);
        handler(request, response);
      };
      if (connection.response === undefined) {
        handle();
      } else if (waiting.length < MAX_WAITING) {
        waiting.push(handle);
        // Deferred: what has already arrived is parsed completely, so that one request too many is detected.
        process.nextTick(() => waiting.length > 0 && socket.pause());
      } else {
        socket.destroy();
      }
    };
  }

  /** A request is being handled on this connection until its response is closed. */
  begin(requestSocket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(tcpSocketOf(requestSocket));
    if (connection === undefined) return;
    connection.response = response;
    response.once(ADMITTED, () => (connection.isBusy = true));
    response.on('close', () => {
      connection.response = undefined;
      connection.isBusy = false;
      if (connection.isClosing) requestSocket.destroy();
      else if (this.#open.delete(connection.socket)) this.#open.set(connection.socket, connection);
      if (!requestSocket.destroyed) connection.waiting.shift()?.();
      if (connection.waiting.length === 0) requestSocket.resume();
    });
  }

  /** Closes connections without a request at once and the others after their response. */
  closeAll(): void {
    for (const connection of this.#open.values()) {
      const { socket, response } = connection;
      connection.isClosing = true;
      if (response === undefined) socket.destroy();
      else if (!response.headersSent) response.setHeader('connection', 'close');
    }
  }

  /** Resolves when all responses that are being sent now are closed. */
  async responsesClosed(): Promise<void> {
    const responses = Array.from(this.#open.values(), ({ response }) => response ?? []).flat();
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

/**
 * What counts as one client: an IPv4 address, or the /64 of an IPv6 address, since one host usually has all of it.
 * All clients of a unix socket, which have no address, are one.
 */
export function clientNetwork(address = ''): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!address.includes(':')) return address;
  const [bare = ''] = address.split('%');
  const [start = [], end] = bare.split('::').map((part) => part.split(':').filter(Boolean));
  const missing = GROUPS - start.length - (end?.length ?? 0);
  const groups = [...start, ...Array.from({ length: missing }, () => '0'), ...(end ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The first of the client with the most. */
export function firstOfLargest<T extends { readonly network: string }>(items: Iterable<T>) {
  const byNetwork = Map.groupBy(items, ({ network }) => network);
  const [largest] = [...byNetwork.values()].toSorted((a, b) => b.length - a.length);
  return largest?.[0];
}
