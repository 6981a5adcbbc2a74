/** A received request, without secrets: no token, no password, no body. */
export interface LoggedRequest {
  readonly api: 'cluster' | 'cloud';
  /** As the routes of its API name it: `node_ranges`, `assistant`; `other` where no route has its path. */
  readonly endpoint: string;
  /** The requested node: that of the path or of remote_node_id, else the gateway. */
  readonly node: number;
  /** The node whose address received the request; 0 for the cloud. */
  readonly gateway: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds of the world's clock. */
  readonly startMs: number;
  /** Undefined while it is in flight. */
  endMs: number | undefined;
  /** Undefined until a response begins; `aborted` when the connection closed before. */
  status: number | 'aborted' | undefined;
  /** An unexpected error of the simulator, which responded with 500. */
  failure: unknown;
}

export interface RequestLog {
  /** The latest ten thousand, oldest first. */
  readonly entries: readonly LoggedRequest[];
  /** The number of requests of an endpoint, or of all, including those no longer among the entries. */
  count(endpoint?: string): number;
  /** Requests in flight by endpoint: now, and the maximum so far. */
  readonly inFlight: ReadonlyMap<string, number>;
  readonly maxInFlight: ReadonlyMap<string, number>;
  /** Resets entries, counts and maxima. */
  clear(): void;
}

export interface RequestRecorder extends RequestLog {
  begin(request: LoggedRequest): void;
  end(request: LoggedRequest, endMs: number): void;
}

/** Headers that tests check; no others are logged. */
const LOGGED_HEADERS = [
  'accept',
  'accept-encoding',
  'user-agent',
  'cc-version',
  'content-type',
  'host',
];

export function loggedHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of LOGGED_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}

/** Limits memory: a simulator may run for months. */
const MAX_ENTRIES = 10_000;

export function createRequestLog(began: (request: LoggedRequest) => void): RequestRecorder {
  const entries: LoggedRequest[] = [];
  const counts = new Map<string, number>();
  const inFlight = new Map<string, number>();
  const maxInFlight = new Map<string, number>();
  return {
    entries,
    inFlight,
    maxInFlight,
    count: (endpoint) =>
      endpoint === undefined
        ? [...counts.values()].reduce((total, count) => total + count, 0)
        : (counts.get(endpoint) ?? 0),
    clear: () => {
      entries.length = 0;
      counts.clear();
      maxInFlight.clear();
    },
    begin: (request) => {
      const { endpoint } = request;
      entries.push(request);
      if (entries.length > MAX_ENTRIES) entries.splice(0, entries.length - MAX_ENTRIES);
      counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
      const now = (inFlight.get(endpoint) ?? 0) + 1;
      inFlight.set(endpoint, now);
      maxInFlight.set(endpoint, Math.max(now, maxInFlight.get(endpoint) ?? 0));
      began(request);
    },
    end: (request, endMs) => {
      if (request.endMs !== undefined) return;
      request.endMs = endMs;
      inFlight.set(request.endpoint, (inFlight.get(request.endpoint) ?? 1) - 1);
    },
  };
}
