import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { codeOf, type RequestError } from './errors.ts';

/** Where undici publishes each request that it writes to a socket, and each that failed. */
const SENT = 'undici:client:sendHeaders';
const FAILED = 'undici:request:error';
/** Either side was gone: a server or a box on the way forgets connections that it does not close. */
const RESET_CODES = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

/**
 * Knows which requests failed because a connection that had served others was reset. Such a failure is no sign that the
 * server is sick: HTTP clients send the request once more over another connection.
 */
export class ReusedConnections implements Disposable {
  readonly #used = new WeakSet();
  /** Requests over connections that had been used before. */
  readonly #requests = new WeakSet();
  readonly #errors = new WeakSet();

  constructor() {
    subscribe(SENT, this.#onSent);
    subscribe(FAILED, this.#onFailed);
  }

  /** Whether the connection of the failed request had been used before and was reset. */
  wasReset(error: RequestError): boolean {
    const { cause } = error;
    return cause instanceof Error && this.#errors.has(cause) && RESET_CODES.test(codeOf(cause));
  }

  [Symbol.dispose](): void {
    unsubscribe(SENT, this.#onSent);
    unsubscribe(FAILED, this.#onFailed);
  }

  readonly #onSent = (message: unknown): void => {
    const { socket, request } = partsOf(message);
    if (socket === undefined || request === undefined) return;
    if (this.#used.has(socket)) this.#requests.add(request);
    this.#used.add(socket);
  };

  readonly #onFailed = (message: unknown): void => {
    const { request, error } = partsOf(message);
    if (request && error && this.#requests.has(request)) this.#errors.add(error);
  };
}

/** The objects that a message of undici names. */
function partsOf(message: unknown): Readonly<Record<string, object | undefined>> {
  const entries = typeof message === 'object' && message !== null ? Object.entries(message) : [];
  return Object.fromEntries(
    entries.filter(([, part]) => typeof part === 'object' && part !== null),
  );
}
