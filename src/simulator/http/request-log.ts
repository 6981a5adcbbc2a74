/** One request that arrived, without secrets: no token, no password, no body. */
export interface LoggedRequest {
  readonly api: 'cluster' | 'cloud';
  /** login, logout, nodes, node_ranges, sessions, users, table, assistant, ca_cert, database, health, vars, other. */
  readonly endpoint: string;
  /** The node that the request is for: the one of the path or of remote_node_id, else the one addressed. */
  readonly node: number;
  /** The node whose address was asked; 0 for the cloud. */
  readonly gateway: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds of the world's clock. */
  readonly startMs: number;
  /** Undefined while it is in flight. */
  endMs: number | undefined;
  /** Undefined until an answer begins; `aborted` when the connection ended before. */
  status: number | 'aborted' | undefined;
  /** What broke inside the simulator; the client got a 500. No test should ever see one. */
  failure: unknown;
}

export interface RequestLog {
  /** The latest ten thousand, oldest first. */
  readonly entries: readonly LoggedRequest[];
  /** Requests of an endpoint, or all, whether still among the entries or not. */
  count(endpoint?: string): number;
  /** Being answered now, and at most so far, by endpoint. */
  readonly inFlight: ReadonlyMap<string, number>;
  readonly maxInFlight: ReadonlyMap<string, number>;
  /** Forgets all entries and high-water marks. */
  clear(): void;
}

export interface RequestRecorder extends RequestLog {
  begin(request: LoggedRequest): void;
  end(request: LoggedRequest, endMs: number): void;
}

/** Headers that tests ask about; no other is kept. */
const HEADERS_OF_INTEREST = [
  'accept',
  'accept-encoding',
  'user-agent',
  'cc-version',
  'content-type',
  'host',
];

export function headersOfInterest(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of HEADERS_OF_INTEREST) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}

/** A simulator may run for months. */
const MAX_ENTRIES = 10_000;

export function createRequestLog(): RequestRecorder {
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
    },
    end: (request, endMs) => {
      if (request.endMs !== undefined) return;
      request.endMs = endMs;
      inFlight.set(request.endpoint, (inFlight.get(request.endpoint) ?? 1) - 1);
    },
  };
}
