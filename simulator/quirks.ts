/** Differences between servers, each switched separately. The first value named is that of `real`. */
export interface Quirks {
  /** The request header that carries the session token. */
  sessionHeader: string;
  /** The token of a login: as from a server behind a broken proxy, or one that rejects its own tokens (refused). */
  loginToken: 'good' | 'newline' | 'cjk' | 'long' | 'empty' | 'refused';
  /** Keys and ids: base64 text, or arrays of integers as first documented. */
  bytesAs: 'base64' | 'integers';
  /** `next` of sessions: always present, or absent after the last page. */
  sessionsNext: 'always' | 'until-end';
  /** Maximum sessions per page, regardless of `limit`; 0 for no maximum. */
  sessionsPageCap: number;
  /** GET /users/ with limit: 500 because of broken SQL, or a page. */
  usersLimit: 'broken' | 'works';
  usersNeedSession: boolean;
  /** The privilege for nodes, ranges and sessions. */
  gate: 'metadata' | 'admin' | 'none';
  /** These requests get 403, regardless of the user's privileges. */
  forbidden: boolean;
  /** A virtual cluster: 501 with a text, or (older) 501 with the JSON body null for nodes and ranges. */
  tenant: 'no' | 'text' | 'null';
  /**
   * Where there are virtual clusters: the one that answers requests that choose none (the cluster setting
   * server.controller.default_target_cluster). It is `system` on a standby until its failover.
   */
  defaultVirtualCluster: 'main' | 'system';
  /** Plain http requests are redirected to https with 307, as by a secure cluster. */
  redirectToHttps: boolean;
  gzip: boolean;
  hsts: boolean;
  /** A NaN in this listing: status 200 is sent already, the body is the text of the generic error. */
  unencodable: 'none' | 'nodes' | 'ranges';
  /** Replicas are added and removed between two pages of one listing. */
  rangeChurn: boolean;
  /** A server or a proxy drops `ranges=`: all ranges of a node are listed where some are asked for. */
  ignoreRangeIds: boolean;
  /** The order in which a node lists its stores: drawn again for each request, or always by id. */
  storeOrder: 'random' | 'fixed';
  /** Time that a node takes for each of its replicas before it sends the headers of its list, microseconds. */
  replicaMicros: number;
  /** Zero values are written instead of omitted. */
  writeZeros: boolean;
  /** Empty lists are null (Go's nil slice) where the server does not allocate them. */
  nullArrays: boolean;
  /** Session status and end, since 22.1. */
  sessionStatus: boolean;
  closedSessions: boolean;
  /** How long a transaction or query has run, by the clock of its node. */
  elapsedTime: boolean;
  /** exclude_closed_sessions=true is supported. */
  excludeClosed: boolean;
  /** Internal sessions are listed. */
  internalSessions: boolean;
  storeMetrics: boolean;
  /** Members of problems: the eight of 2021 or all eleven. */
  problemMembers: 11 | 8;
  /** Members of stats: queries and writes, or all seven. */
  statsMembers: 7 | 2;
  vcpus: boolean;
  /** Unknown enum values, unknown true problems and unknown fields. */
  unknownValues: boolean;
  /** A metric beyond what an int64 holds, and lease sequences above 2^53. */
  hugeIntegers: boolean;
  /** remote_node_id is ignored. */
  ignoreRemoteNode: boolean;
  /** How a call to a dead node fails. */
  deadNode: 'at-once' | 'after-delay' | 'hang';
  deadNodeDelayMs: number;
  /** Table and database names in double quotes are supported. */
  quotedNames: boolean;
  /** GET /_status/ranges/{id}, which is not part of the API v2: a proxy may not pass it on. 403, 404 or 501 else. */
  rangeDescriptors: 'works' | 'forbidden' | 'missing' | 'unimplemented';
  /** More ids than this in one request for descriptors are refused; 0 for no maximum. */
  maxDescriptorIds: number;
  /** How they are refused: by the server, or by a proxy for which the URL is too long. */
  tooManyIds: 400 | 414;
  /**
   * How a server with protobuf for the pages beside the API v2 is asked for it: by Content-Type (apiinternal, since 25.4), by
   * Accept (the gRPC gateway before). `never`: a proxy that drops both.
   */
  protobuf: 'by-content-type' | 'by-accept' | 'never';
  /** GET /_status/connectivity, since 23.2: 403, 404 or 501 elsewhere, or where a proxy does not pass it on. */
  connectivity: 'works' | 'forbidden' | 'missing' | 'unimplemented';
  /** What nodes say of every fourth connection, which was never made: old servers call it an error, and their text tells. */
  idleConnections: 'none' | 'missing' | 'unknown' | 'establishing' | 'old-error';
  /**
   * The form in which nodes send their connections. All of them `unknown` (0), of which nothing is known. Otherwise as
   * a newer release might: the state as code 7 or as a name, the text as an object, or the state alone in place of an object.
   */
  connectionForm: 'known' | 'unknown' | 'code' | 'name' | 'error-object' | 'scalar';
  /** The node that sends them so, and the peer of which it does; 0 for all. */
  connectionFormOf: number;
  connectionFormTo: number;
  /** Peers that are no nodes of the cluster and that `connectionFormOf` lists besides: established ones. */
  foreignPeers: number;
  /** Which metrics `/_status/vars` has (26.3: setting obs.metrics_scrape.default_visibility). */
  visibility: 'all' | 'essential';
  /** The nodes' counts of their connections: both are 0 with DRPC, and old servers have none. */
  connectionCounts: 'counted' | 'zero' | 'missing';
  /**
   * Results of SQL: as the statement says, or with a text, NaN, an integer above 2^53 or NULL in the last column, with a row
   * twice or without the last column; refused, with an error after all rows, or two results for one statement.
   */
  sqlResult:
    | 'good'
    | 'text'
    | 'nan'
    | 'huge'
    | 'null'
    | 'duplicate'
    | 'missing'
    | 'refused'
    | 'partial'
    | 'twice';
  /** The member of a response that has the error of a statement. */
  sqlErrorMember: 'error' | 'txn_error';
  /** GET /table_metadata/, since 24.3. */
  tableMetadata: boolean;
  /** Time since the server last computed the list of tables. */
  tableCacheAgeMs: number;
  /**
   * What a cluster does while meta, liveness or system tables have no quorum: each request looks up its session there, so
   * login and every endpoint hang; without a login only the list of nodes fails. `works` as if they were never lost.
   */
  systemRangesLost: 'hang' | 'works';
  /** Cloud API: 10 requests a second, then 429. */
  cloudRateLimit: boolean;
}

export type Dialect = 'real' | 'documented';

const REAL: Quirks = {
  sessionHeader: 'X-Cockroach-API-Session',
  loginToken: 'good',
  bytesAs: 'base64',
  sessionsNext: 'always',
  sessionsPageCap: 0,
  usersLimit: 'broken',
  usersNeedSession: true,
  gate: 'metadata',
  forbidden: false,
  tenant: 'no',
  defaultVirtualCluster: 'main',
  redirectToHttps: false,
  gzip: true,
  hsts: false,
  unencodable: 'none',
  rangeChurn: false,
  ignoreRangeIds: false,
  storeOrder: 'random',
  replicaMicros: 0,
  writeZeros: false,
  nullArrays: true,
  sessionStatus: true,
  closedSessions: true,
  elapsedTime: true,
  excludeClosed: true,
  internalSessions: false,
  storeMetrics: true,
  problemMembers: 11,
  statsMembers: 7,
  vcpus: false,
  unknownValues: false,
  hugeIntegers: false,
  ignoreRemoteNode: false,
  deadNode: 'at-once',
  deadNodeDelayMs: 4000,
  quotedNames: false,
  rangeDescriptors: 'works',
  protobuf: 'by-content-type',
  connectivity: 'works',
  idleConnections: 'none',
  connectionForm: 'known',
  connectionFormOf: 0,
  connectionFormTo: 0,
  foreignPeers: 0,
  connectionCounts: 'counted',
  visibility: 'all',
  maxDescriptorIds: 0,
  tooManyIds: 400,
  sqlResult: 'good',
  sqlErrorMember: 'error',
  tableMetadata: true,
  tableCacheAgeMs: 60_000,
  systemRangesLost: 'hang',
  cloudRateLimit: true,
};

const DOCUMENTED: Quirks = {
  ...REAL,
  sessionHeader: 'X-Service-API-Session',
  bytesAs: 'integers',
  sessionsNext: 'until-end',
  usersLimit: 'works',
  usersNeedSession: false,
  gate: 'admin',
  writeZeros: true,
  nullArrays: false,
  sessionStatus: false,
  closedSessions: false,
  excludeClosed: false,
  storeMetrics: false,
  problemMembers: 8,
  statsMembers: 2,
  protobuf: 'by-accept',
  connectivity: 'missing',
  ignoreRemoteNode: true,
  quotedNames: true,
  sqlErrorMember: 'txn_error',
  tableMetadata: false,
};

/** A server of the first releases with the v2 API. */
export const OLD_RELEASE: Partial<Quirks> = {
  gate: 'admin',
  sessionStatus: false,
  closedSessions: false,
  elapsedTime: false,
  excludeClosed: false,
  storeMetrics: false,
  problemMembers: 8,
  statsMembers: 2,
  protobuf: 'by-accept',
  connectivity: 'missing',
  tableMetadata: false,
};

/** A server newer than the default one. */
export const NEW_RELEASE: Partial<Quirks> = { vcpus: true };

/** The quirks of a dialect, with overrides. */
export function quirksOf(dialect: Dialect, overrides: Partial<Quirks>): Quirks {
  return { ...(dialect === 'real' ? REAL : DOCUMENTED), ...overrides };
}

/** Sets a quirk by name; returns false for an unknown name or a value of the wrong type. */
export function setNamedQuirk(quirks: Quirks, name: string, value: unknown): boolean {
  const entry = Object.entries(quirks).find(([known]) => known === name);
  if (entry === undefined || typeof entry[1] !== typeof value) return false;
  Object.assign(quirks, { [name]: value });
  return true;
}
