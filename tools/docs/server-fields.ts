import { REPORTED_PROBLEMS } from '#base';
import { CLIENT_SHAPES } from '#cockroach';
import {
  assistantDetails,
  COLLECTOR_SHAPES,
  LOADS,
  nodeDetails,
  replicaDetails,
  sessionDetails,
} from '#collectors';
import { type AnyShape, object, record, string } from '#json';

/** A response of a server: every shape that reads it, and which file of the server confirms which of its fields. */
export interface ServerResponse {
  readonly request: string;
  readonly shapes: readonly AnyShape[];
  /** Shapes of the elements of these lists, by the member that holds the list. */
  readonly lists?: Readonly<Record<string, readonly AnyShape[]>>;
  /** By file of the server: the fields that it was found in. A field that stands nowhere here is not confirmed. */
  readonly sources: Readonly<Record<string, readonly string[]>>;
}

const NODE_STATUS = 'pkg/server/api_v2_ranges.go';
const ADMIN = 'pkg/server/serverpb/admin.proto';
const CLOUD = 'OpenAPI description of the Cloud API';

function under(prefix: string, names: string): readonly string[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => `${prefix}${name}`);
}

export const RESPONSES: readonly ServerResponse[] = [
  {
    request: 'POST /api/v2/login/',
    shapes: [CLIENT_SHAPES.login],
    sources: { 'pkg/server/authserver/api_v2_auth.go': ['session'] },
  },
  {
    request: 'GET /api/v2/nodes/',
    shapes: [CLIENT_SHAPES.offsetPage],
    lists: { nodes: [COLLECTOR_SHAPES.node, nodeDetails] },
    sources: {
      [NODE_STATUS]: [
        'next',
        ...under(
          'nodes[].',
          `node_id liveness_status address.address_field address.network_field sql_address.address_field
          sql_address.network_field build_tag cluster_name ServerVersion.major_val ServerVersion.minor_val
          ServerVersion.patch ServerVersion.internal locality.tiers[].key locality.tiers[].value attrs.attrs[]
          started_at updated_at num_cpus total_system_memory metrics.* store_metrics.*.*`,
        ),
      ],
    },
  },
  {
    request: 'GET /api/v2/nodes/{node_id}/ranges/',
    shapes: [CLIENT_SHAPES.offsetPage],
    lists: { ranges: [COLLECTOR_SHAPES.replica, replicaDetails] },
    sources: {
      [NODE_STATUS]: [
        'next',
        ...under(
          'ranges[].',
          `desc.range_id desc.end_key span.start_key span.end_key source_node_id source_store_id quiescent ticking`,
        ),
        ...LOADS.map((name) => `ranges[].stats.${name}`),
      ],
      'pkg/roachpb/data.proto': under(
        'ranges[].lease_history[].',
        `start expiration proposed_ts epoch term sequence acquisition_type replica.node_id replica.store_id
        replica.replica_id`,
      ),
      'pkg/kv/kvserver/replica_metrics.go': [
        ...REPORTED_PROBLEMS.slice(0, -1).map((name) => `ranges[].problems.${name}`),
        'ranges[].problems.*',
      ],
    },
  },
  {
    request: 'GET /_status/ranges/{node_id}?range_ids=1&range_ids=2',
    shapes: [CLIENT_SHAPES.offsetPage],
    lists: { ranges: [CLIENT_SHAPES.descriptors] },
    sources: {
      'pkg/server/serverpb/status.proto': [
        'next',
        ...under('ranges[].', 'isLeaseholder leaseValid'),
      ],
      'pkg/roachpb/metadata.proto': under(
        'ranges[].state.state.desc.',
        'rangeId generation internalReplicas',
      ),
    },
  },
  {
    request: 'GET /_status/connectivity',
    shapes: [object({ connections: record(object({ peers: record(COLLECTOR_SHAPES.peer) })) })],
    sources: {
      'pkg/server/serverpb/status.proto': under('connections.*.peers.*.', 'status latency error'),
    },
  },
  {
    request: 'GET /_status/throttling',
    shapes: [CLIENT_SHAPES.throttling],
    sources: {
      'pkg/server/serverpb/status.proto': under(
        '',
        'throttled hasGracePeriod gracePeriodEndSeconds hasTelemetryDeadline telemetryDeadlineSeconds nodeIdsWithTelemetryProblems[]',
      ),
    },
  },
  {
    request: 'GET /api/v2/sessions/',
    shapes: [CLIENT_SHAPES.sessionsPage],
    lists: {
      sessions: [COLLECTOR_SHAPES.session, sessionDetails(true)],
    },
    sources: {
      'pkg/server/pagination.go': ['next'],
      'pkg/server/serverpb/status.proto': [
        'errors[].node_id',
        'internal_app_name_prefix',
        ...under(
          'sessions[].',
          `id node_id username client_address application_name start end status alloc_bytes max_alloc_bytes
          num_txns_executed total_active_time last_active_query last_active_query_no_constants`,
        ),
        ...under(
          'sessions[].active_queries[].',
          `id start elapsed_time phase progress is_distributed is_full_scan database sql sql_no_constants`,
        ),
        ...under(
          'sessions[].active_txn.',
          `id start elapsed_time implicit read_only num_statements_executed alloc_bytes max_alloc_bytes priority`,
        ),
      ],
      'pkg/sql/conn_executor.go': under('sessions[].active_txn.', 'num_retries num_auto_retries'),
    },
  },
  {
    request: 'POST /api/v2/sql/',
    shapes: [CLIENT_SHAPES.sql],
    sources: {
      'pkg/server/api_v2_sql.go': [
        ...under('', 'error.code error.message txn_error.code txn_error.message'),
        ...under(
          'execution.txn_results[].',
          'error.code error.message columns[].name columns[].type rows[].*',
        ),
      ],
    },
  },
  {
    request: 'GET /api/v2/users/',
    shapes: [],
    lists: { users: [object({ username: string() })] },
    sources: { 'pkg/server/api_v2_sql_schema.go': ['users[].username'] },
  },
  {
    request: 'GET /api/v2/databases/{database}/tables/{table}/',
    shapes: [COLLECTOR_SHAPES.table],
    sources: {
      [ADMIN]: [
        ...under(
          '',
          `descriptor_id range_count zone_config_level create_table_statement configure_zone_statement
          data_total_bytes data_live_bytes data_live_percentage stats_last_created_at has_index_recommendations
          grants[].user grants[].privileges[]`,
        ),
        ...under('columns[].', 'name type nullable default_value generation_expression hidden'),
        ...under('indexes[].', 'name unique seq column direction storing implicit'),
      ],
      'pkg/config/zonepb/zone.proto': under(
        'zone_config.',
        `range_min_bytes range_max_bytes num_replicas num_voters global_reads gc.ttl_seconds constraints
        voter_constraints lease_preferences inherited_constraints inherited_lease_preferences`,
      ),
    },
  },
  {
    request: 'GET /api/v2/table_metadata/',
    shapes: [CLIENT_SHAPES.tablesPage],
    lists: { results: [COLLECTOR_SHAPES.discoveredTable] },
    sources: {
      'pkg/server/api_v2_databases_metadata.go': [
        'pagination_info.total_results',
        ...under(
          'results[].',
          `db_name schema_name table_name table_id range_count column_count index_count replication_size_bytes
          total_data_bytes total_live_data_bytes last_updated`,
        ),
      ],
    },
  },
  {
    request: 'GET, POST, DELETE /api/v1/clusters/{cluster_id}/migration-assistant (Cloud)',
    shapes: [COLLECTOR_SHAPES.assistant, assistantDetails, CLIENT_SHAPES.cloudError],
    sources: {
      [CLOUD]: under(
        '',
        `id cluster_id deployed_region status health created_at updated_at url username password bucket_grantee
        last_error code message`,
      ),
    },
  },
  {
    request: 'GET, PATCH, DELETE …/migration-assistant/source-ca-cert (Cloud)',
    shapes: [CLIENT_SHAPES.caCertificate],
    sources: { [CLOUD]: ['x509_pem_cert'] },
  },
  {
    request: 'PATCH …/databases (Cloud)',
    shapes: [CLIENT_SHAPES.databases],
    sources: { [CLOUD]: ['name', 'table_count'] },
  },
];

/** What the client sends and reads besides the body, with the file of the server that handles it. */
export const PROTOCOL: readonly (readonly [what: string, meaning: string, source: string])[] = [
  [
    'header `X-Cockroach-API-Session`',
    'the token of a login, sent with every request',
    'pkg/server/authserver/api_v2_auth.go',
  ],
  [
    'header `X-Service-API-Session`',
    'the same token, under the name of the first API description',
    '',
  ],
  [
    'header `X-Cockroach-Tenant`',
    'the virtual cluster that answers; `system` by default',
    'pkg/server/server_controller_http.go',
  ],
  [
    'header `Date` of a response',
    "the server's clock, for ages of records and sessions",
    'Go net/http',
  ],
  [
    'header `Retry-After` of a response',
    'no request before',
    'proxies and the Cloud API; not sent by a node',
  ],
  ['header `Content-Encoding: gzip`', 'only with `compression: true`', 'pkg/server/server_http.go'],
  [
    'parameter `remote_node_id`',
    'the node that the receiving one forwards the request to',
    'pkg/server/node_http_router.go',
  ],
  ['parameters `limit`, `offset`', 'pages of nodes and ranges', 'pkg/server/pagination.go'],
  ['parameters `limit`, `start`', 'pages of sessions', 'pkg/server/pagination.go'],
  ['parameter `ranges`', 'only these ranges, separated by commas', NODE_STATUS],
  [
    'parameter `exclude_closed_sessions`',
    'ignored by servers before about 25.x',
    'pkg/server/status.go',
  ],
  [
    'parameters `pageNum`, `pageSize`, `sortBy`, `sortOrder`',
    'pages of all tables',
    'pkg/server/api_v2_databases_metadata.go',
  ],
  ['status 307', 'a secure cluster, requested with `http://`', 'pkg/server/server_http.go'],
  [
    'status 400 with a text about base64 or the session',
    'a token that cannot be decoded: log in again',
    'pkg/server/authserver/api_v2_auth.go',
  ],
  [
    'status 401',
    'a wrong password, or a token that is no longer valid',
    'pkg/server/authserver/api_v2_auth.go',
  ],
  [
    'status 403',
    'the user lacks the privilege of the endpoint',
    'pkg/server/authserver/api_v2_auth.go',
  ],
  [
    'status 404',
    'no such table, or an endpoint that this version does not have',
    'pkg/server/api_v2.go',
  ],
  [
    'status 500',
    'any failure inside of the server, without its cause',
    'pkg/server/srverrors/errors.go',
  ],
  ['status 501', 'not available on this virtual cluster', 'pkg/server/api_v2.go'],
  [
    'status 502',
    'the node behind `remote_node_id` cannot be reached',
    'pkg/server/node_http_router.go',
  ],
];
