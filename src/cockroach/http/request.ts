import type { Endpoint } from '#base';
import type { FinishedRequest } from '#metrics';
import type { Blamed } from './errors.ts';
import type { PollStats } from './poll-stats.ts';

export interface HttpRequest<T = unknown> {
  readonly endpoint: Endpoint;
  /** Names it in messages, in place of the endpoint `other`: `rename-database`. */
  readonly name?: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the configured URL, beginning with `/`; may carry a query. */
  readonly path: string;
  /** The path is not below `/api/v2` but beside it: `https://proxy/crdb/_status/…` for `https://proxy/crdb/api/v2`. */
  readonly isBesideApi?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The poll that needs the response: its signal ends the request, its counts grow. */
  readonly stats: PollStats;
  /** The request carries a token, so a 400 may mean that it was not understood. */
  readonly sentToken?: boolean;
  /** The node that prepares the response behind the URL: its silence is not the URL's. */
  readonly node?: number;
  /** The URL's host forwards the request to the node: a 502 is about the node, and no other URL does better. */
  readonly proxied?: boolean;
  /** Maximum time to the headers of the response; default: that of the client. */
  readonly headersMs?: number;
  /**
   * What a failure may be held against; default: the URL or the endpoint. `endpoint`: the server waits for other nodes, so its
   * silence is not the URL's. `url`: the same request goes to every URL. `nobody`: the request is about one of many tables, nodes
   * or statements.
   */
  readonly blames?: Blamed;
  /** A login that the cluster has refused before: another URL would refuse it, too, and count it. */
  readonly wasRefused?: boolean;
  /** Index of the URL to begin with, among URLs of the same health (health.ts). */
  readonly firstUrl?: number;
  /** Index of the only URL to which it may be sent. */
  readonly onlyUrl?: number;
  /** A single gateway may answer 500 to everything: try once more at the next URL. Requests for a node always do. */
  readonly retryOn500?: boolean;
  /** Maximum number of decoded bytes of a successful response; the maximum of the client applies, too. */
  readonly maxBytes?: number;
  /** Called before it is sent, each time. */
  readonly onSend?: () => void;
  /** Called before the first bytes of a successful response. */
  readonly onHeaders?: (response: HttpResponse) => void;
  /** Takes decoded bytes as they arrive, some chunks at a time, which are only valid during the call. */
  readonly onChunks: (chunks: readonly Uint8Array[]) => void;
  /** Returns the result of the request, or throws its failure. */
  readonly onEnd: (response: HttpResponse) => T;
}

export interface HttpResponse {
  /** Any 2xx. */
  readonly status: number;
  /** The name of the URL that answered: host:port. */
  readonly url: string;
  /** The index of that URL, as `onlyUrl` takes it. */
  readonly urlIndex?: number;
  /** When the request was sent and the headers arrived, running ms. */
  readonly sentMs: number;
  readonly arrivedMs: number;
  /** The header Date, ms since the epoch. */
  readonly dateMs: number | undefined;
  /** The header Age: how long a cache has kept the response. */
  readonly ageSeconds?: number | undefined;
  /** True when the Content-Type says that the body is a protobuf message. */
  readonly isProtobuf?: boolean;
}

/** How long one request may take, part by part. */
export interface RequestDeadlines {
  /** From the start until the response's headers. */
  readonly headersMs: number;
  /** Between two chunks of the response. */
  readonly idleMs: number;
  /** The minimum average rate, once `rateGraceMs` have passed; 0: none. */
  readonly minBytesPerSecond: number;
  readonly rateGraceMs: number;
}

/** Options of every request of a client. */
export interface RequestOptions {
  readonly deadlines: RequestDeadlines;
  readonly maxResponseBytes: number;
  /** Request gzip: saves network, costs the database node CPU. */
  readonly compression: boolean;
  readonly userAgent: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly requestFinished: (request: FinishedRequest) => void;
  readonly runningMs: () => number;
}

/** How messages name a request. */
export function requestName({ name, endpoint }: Pick<HttpRequest, 'name' | 'endpoint'>): string {
  return name ?? endpoint;
}

/** The reader of a small response that is parsed as a whole. */
export function bufferBody<T>(
  maxBytes: number,
  parse: (body: Buffer, response: HttpResponse) => T,
) {
  const received: Uint8Array[] = [];
  return {
    maxBytes,
    onChunks: (chunks: readonly Uint8Array[]) => void received.push(Buffer.concat(chunks)),
    onEnd: (response: HttpResponse) => parse(Buffer.concat(received), response),
  };
}
