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
  readonly entries: readonly LoggedRequest[];
  /** Requests of an endpoint, or all. */
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

export function createRequestLog(): RequestRecorder {
  const entries: LoggedRequest[] = [];
  const inFlight = new Map<string, number>();
  const maxInFlight = new Map<string, number>();
  return {
    entries,
    inFlight,
    maxInFlight,
    count: (endpoint) =>
      endpoint === undefined
        ? entries.length
        : entries.filter((entry) => entry.endpoint === endpoint).length,
    clear: () => {
      entries.length = 0;
      maxInFlight.clear();
    },
    begin: (request) => {
      entries.push(request);
      const now = (inFlight.get(request.endpoint) ?? 0) + 1;
      inFlight.set(request.endpoint, now);
      maxInFlight.set(request.endpoint, Math.max(now, maxInFlight.get(request.endpoint) ?? 0));
    },
    end: (request, endMs) => {
      if (request.endMs !== undefined) return;
      request.endMs = endMs;
      inFlight.set(request.endpoint, (inFlight.get(request.endpoint) ?? 1) - 1);
    },
  };
}
