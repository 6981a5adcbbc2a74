import {
  array,
  boolean,
  flags,
  hashed,
  integer,
  last,
  number,
  object,
  optional,
  raw,
  record,
  selected,
  string,
  time,
  type ObjectShape,
} from '../../src/json/index.ts';

interface Document {
  readonly list: string;
  readonly element: ObjectShape;
  readonly text: string;
}

/** Documents as servers send them, with typical shapes. */

const problems = ['unavailable', 'underreplicated', 'no_lease', 'raft_log_too_large'];

const range = object({
  desc: object({ range_id: integer(), start_key: hashed(), end_key: hashed() }),
  span: object({ start_key: string() }),
  source_node_id: integer(),
  source_store_id: integer(),
  lease_history: last(
    object({
      replica: object({ store_id: integer() }),
      start: object({ wall_time: integer() }),
      epoch: integer(),
      term: integer(),
      sequence: integer(),
    }),
  ),
  problems: flags(problems),
  stats: object({ queries_per_second: number(), writes_per_second: number() }),
  quiescent: boolean(),
});

const session = object({
  node_id: integer(),
  username: string(),
  application_name: string(),
  id: raw(),
  active_queries: array(object({ start: time(), phase: integer(), progress: number() })),
  active_txn: optional(object({ start: time(), deadline: time(), implicit: boolean() })),
  start: time(),
  end: time(),
  alloc_bytes: integer(),
  status: optional(integer()),
});

const node = object({
  node_id: integer(),
  address: object({ address_field: string() }),
  locality: object({ tiers: array(object({ key: string(), value: string() })) }),
  ServerVersion: object({ major_val: integer(), minor_val: integer() }),
  started_at: integer(),
  metrics: selected(
    { keys: ['sys.rss', 'sql.conns', 'clock-offset.meannanos'], prefixes: ['security.'] },
    number(),
  ),
  store_metrics: record(selected({ keys: ['capacity', 'ranges'], prefixes: [] }, number())),
  liveness_status: integer(),
});

export const envelope = object({
  next: optional(integer()),
  errors: array(object({ node_id: integer(), message: string() })),
  note: raw(),
});

const lease = (epoch: number): string =>
  `{"start":{"wall_time":1768842142636614${epoch},"logical":3},"expiration":{},` +
  `"replica":{"node_id":1,"store_id":${epoch},"replica_id":1,"type":0},"proposed_ts":null,` +
  `"epoch":${epoch},"sequence":${epoch * 2},"acquisition_type":2}`;

/** Bytes as base64 and as arrays, omitted zeros, nulls, unknown members, exponents, a long history. */
const rangesText = `{"ranges":[
{"desc":{"range_id":64,"start_key":"8gGJ/w==","end_key":"+A==","store_id":0,"queries_per_second":0},
"span":{"start_key":"/Table/104/1/\\"\\u003cé😀\\u003e\\\\"},"source_node_id":1,"source_store_id":2,
"lease_history":[${[1, 2, 3, 4].map(lease).join(',')}],"problems":{"unavailable":true,"brand_new":true},
"stats":{"queries_per_second":1.2345678901234567e-7,"writes_per_second":9.22e18},"quiescent":true},
{"desc":{"range_id":9223372036854775807,"start_key":[242, 1 ,0],"end_key":[]},"span":{},
"lease_history":null,"problems":{},"stats":{},"future":{"a":[{"b":"]},{"},[[]]],"c":null}},
{"desc":null,"lease_history":[],"problems":null,"stats":{"queries_per_second":0.0003251002609204679}},
{"lease_history":[{"epoch":1,"a":["]"]},{"term":7,"replica":{"store_id":3}}],"problems":{"no_lease":false}}
],"next":20000,"errors":[{"node_id":3,"message":"failed to dial (DEAD)"}],"note":{"a":[1,null]}}`;

const sql = `SELECT \\"x\\" FROM t WHERE a = '\\\\' -- ${'padding '.repeat(20)}\\u0041`;

/** The envelope before the list, escapes in SQL, a session without a transaction. */
const sessionsText = `{"errors":null,"internal_app_name_prefix":"$ internal","next":null,"sessions":[
{"node_id":1,"username":"root","client_address":"10.0.0.1:5432","application_name":"$ internal-\\ud83d\\ude00",
"active_queries":[{"id":"17f","sql":"${sql}","start":"2026-01-19T17:02:22.636614123Z","phase":1,"progress":0.25},
{"sql":"${sql}","start":"2026-01-19T19:02:22+02:00"}],"start":"2026-01-19T17:02:22Z",
"last_active_query":"${sql}","id":"FuLPmJ1TWJAAAAAAAAAAAQ==","alloc_bytes":30720,
"active_txn":{"id":"3b0a4f3e","start":"2026-01-19T17:02:22.6Z","deadline":"0001-01-01T00:00:00Z","implicit":true},
"txn_fingerprint_ids":[17462857493828345671,3],"total_active_time":1}, {"node_id":2,"active_queries":null,
"start":"0001-01-01T00:00:00Z","end":"2026-01-19T17:02:23Z","id":[22,226,207],"status":1,
"application_name":"","x":-0.0e-10,"y":[true,false,null,[],{},""]}]}`;

/** A map of metrics and one of stores, large and negative numbers, empty and null locality. */
const nodesText = `{"nodes":[{"node_id":1,"address":{"network_field":"tcp","address_field":"n1:26257"},
"attrs":{"attrs":null},"locality":{"tiers":[{"key":"region","value":"eu-west-1"},{"key":"zone","value":"b"}]},
"ServerVersion":{"major_val":25,"minor_val":4,"patch":0,"internal":0},"build_tag":"v25.4.3",
"started_at":1768842142636614000,"metrics":{"sys.rss":437207040,"sql.conns":0,"sys.gc.count":11,
"security.certificate.expiration.ca":1.9e9,"clock-offset.meannanos":-12345.5,"sys.cpu.now.ns":1.768842282729649e18,
"distsender.rpc.err.errordetailtype(15)":0},"store_metrics":{"1":{"capacity":9.22e18,"ranges":78,"x":0},
"2":{},"3":null},"total_system_memory":17179869184,"updated_at":1768842282715221000,"liveness_status":3},
{"node_id":2,"locality":{"tiers":null},"metrics":null}]}`;

export const documents: readonly Document[] = [
  { list: 'ranges', element: range, text: rangesText },
  { list: 'sessions', element: session, text: sessionsText },
  { list: 'nodes', element: node, text: nodesText },
];
