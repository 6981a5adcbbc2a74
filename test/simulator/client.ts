import type { Simulator } from '../../simulator/index.ts';

/** A response. */
export interface Answered<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; only read it where the text is JSON. */
  readonly json: () => Body;
}

export interface Asking {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string | URLSearchParams;
  readonly redirect?: 'manual';
  readonly signal?: AbortSignal;
}

/** Requests any URL, without redirects and retries. */
export async function ask<Body = unknown>(
  url: string,
  asking: Asking = {},
): Promise<Answered<Body>> {
  const { token, headers, ...rest } = asking;
  const response = await fetch(url, {
    redirect: 'manual',
    ...rest,
    headers: { ...(token === undefined ? {} : { 'X-Cockroach-API-Session': token }), ...headers },
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: () => {
      const body: Body = JSON.parse(text);
      return body;
    },
  };
}

/** Logs in, by default as the exporter, and returns the token. */
export async function logIn(
  simulator: Simulator,
  username = simulator.username,
  password = simulator.password,
): Promise<string> {
  const answer = await ask<{ session: string }>(`${simulator.clusterUrl}/api/v2/login/`, {
    method: 'POST',
    body: new URLSearchParams({ username, password }),
  });
  if (answer.status !== 200) throw new Error(`login as ${username}: ${answer.status}`);
  return answer.json().session;
}

/** A client logged in as the exporter, for paths below /api/v2. */
export async function clusterClient(
  simulator: Simulator,
): Promise<<Body = unknown>(path: string, asking?: Asking) => Promise<Answered<Body>>> {
  const token = await logIn(simulator);
  return (path, asking) => ask(`${simulator.clusterUrl}/api/v2${path}`, { token, ...asking });
}

/** The message of a failing call; may be called before the failure. */
export async function failureOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('the call did not fail');
}

export interface WireRange {
  readonly desc: {
    readonly range_id: number;
    readonly start_key?: unknown;
    readonly end_key?: unknown;
  };
  readonly span: { readonly start_key?: string; readonly end_key?: string };
  readonly source_node_id: number;
  readonly source_store_id: number;
  readonly lease_history: readonly WireLease[] | null;
  readonly problems: Readonly<Record<string, boolean>>;
  readonly stats: Readonly<Record<string, number>>;
  readonly quiescent?: boolean;
  readonly ticking?: boolean;
}

interface WireLease {
  readonly replica: { readonly node_id: number; readonly store_id: number };
  readonly epoch?: number;
  readonly term?: number;
  readonly sequence?: number;
  readonly expiration?: object;
}

export interface RangesBody {
  readonly ranges: readonly WireRange[];
  readonly next?: number;
}

export interface WireNode {
  readonly node_id: number;
  readonly address: object;
  readonly liveness_status: number;
  readonly started_at: number;
  readonly updated_at: number;
  readonly build_tag: string;
  readonly ServerVersion: { readonly major_val: number; readonly minor_val: number };
  readonly metrics: Readonly<Record<string, number>>;
  readonly store_metrics?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface NodesBody {
  readonly nodes: readonly WireNode[] | null;
  readonly next?: number;
}

interface WireSession {
  readonly node_id: number;
  readonly username: string;
  readonly application_name?: string;
  readonly active_queries: readonly { readonly sql: string; readonly phase?: number }[] | null;
  readonly active_txn?: object;
  readonly id: unknown;
  readonly start: string;
  readonly end?: string;
  readonly status?: number;
  readonly alloc_bytes?: number;
  readonly last_active_query: string;
}

export interface SessionsBody {
  readonly sessions: readonly WireSession[];
  readonly errors: readonly { readonly node_id: number; readonly message: string }[];
  readonly internal_app_name_prefix: string;
  readonly next?: string;
}

/** Whether the last lease that the replica knows of is on its own store. */
export function holdsLease(replica: WireRange): boolean {
  return replica.lease_history?.at(-1)?.replica.store_id === replica.source_store_id;
}

/** A range as a node that holds it describes it. */
export interface WireDescribedRange {
  readonly span: { readonly startKey: string; readonly endKey: string };
  readonly state: {
    readonly state: {
      readonly desc: {
        readonly rangeId: string;
        readonly startKey: string;
        readonly endKey: string;
        readonly internalReplicas: readonly {
          readonly nodeId: number;
          readonly storeId: number;
          readonly replicaId: number;
          readonly type: number;
        }[];
        readonly nextReplicaId: number;
        readonly generation: string;
      };
    };
  };
  readonly isLeaseholder: boolean;
  readonly leaseValid: boolean;
}

/** What a node of an insecure cluster says of these ranges, at its own URL if it has one. */
export async function describeRanges(
  simulator: Simulator,
  nodeId: number,
  rangeIds: readonly number[],
): Promise<readonly WireDescribedRange[]> {
  const query = rangeIds.map((id) => `range_ids=${id}`).join('&');
  const gateway = simulator.clusterUrls[nodeId - 1] ?? simulator.clusterUrl;
  const url = `${gateway}/_status/ranges/${nodeId}?${query}`;
  return (await ask<{ ranges: WireDescribedRange[] }>(url)).json().ranges;
}
