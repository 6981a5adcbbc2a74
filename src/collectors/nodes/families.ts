import { gauge, untyped } from '../../metrics/family.ts';

// What a node is; what it measures stands in readings.ts.

const NODE = ['node_id'] as const;

export const NODES = gauge({
  name: 'crdb_nodes',
  help: 'Nodes by liveness, as the answering node sees it (GET /nodes/, liveness_status). Polled; crdb_exporter_collector_last_success_timestamp_seconds{collector="nodes"} tells when.',
  labels: ['status'],
});

export const LIVENESS = gauge({
  name: 'crdb_node_liveness',
  help: 'Liveness of the node as a state set: 1 for its present status, 0 for the others (GET /nodes/, liveness_status).',
  labels: ['node_id', 'status'],
});

export const LIVENESS_CODE = gauge({
  name: 'crdb_node_liveness_code',
  help: 'Liveness of the node as the number that the server sends, also one that this exporter does not know (GET /nodes/, liveness_status).',
  labels: NODE,
});

export const INFO = gauge({
  name: 'crdb_node_info',
  help: 'Addresses, build, cluster version and locality of the node (GET /nodes/). Always 1.',
  labels: [
    'node_id',
    'address',
    'sql_address',
    'build_tag',
    'server_version',
    'cluster_name',
    'locality',
  ],
});

export const LOCALITY_INFO = gauge({
  name: 'crdb_node_locality_info',
  help: 'One locality tier of the node, for example region and zone (GET /nodes/, locality.tiers). Always 1.',
  labels: ['node_id', 'tier', 'value'],
});

export const BUILD_TAGS = gauge({
  name: 'crdb_build_tags',
  help: 'Distinct builds over the nodes that are neither dead nor decommissioned (GET /nodes/, build_tag); more than 1 during an upgrade.',
  labels: [],
});

export const SERVER_VERSIONS = gauge({
  name: 'crdb_server_versions',
  help: 'Distinct cluster versions that the binaries support, over the nodes that are neither dead nor decommissioned (GET /nodes/, ServerVersion).',
  labels: [],
});

export const STARTED = gauge({
  name: 'crdb_node_started_timestamp_seconds',
  help: 'Unix time in seconds at which the process of the node started (GET /nodes/, started_at).',
  labels: NODE,
});

export const UPDATED = gauge({
  name: 'crdb_node_updated_timestamp_seconds',
  help: 'Unix time in seconds at which the node last wrote its record, every 10 s when it is well: the age of all its crdb_node_ and crdb_store_ metrics (GET /nodes/, updated_at).',
  labels: NODE,
});

export const CPUS = gauge({
  name: 'crdb_node_cpus',
  help: 'CPUs that the node may use (GET /nodes/, num_vcpus, which knows the limit of its cgroup, else num_cpus). Absent when unknown.',
  labels: NODE,
});

export const MEMORY = gauge({
  name: 'crdb_node_memory_bytes',
  help: 'Memory that the node may use in bytes (GET /nodes/, total_system_memory). Absent when unknown.',
  labels: NODE,
});

export const LICENSE_EXPIRY = gauge({
  name: 'crdb_node_license_expiry_timestamp_seconds',
  help: 'Unix time in seconds at which the license expires (GET /nodes/, updated_at and metrics seconds_until_license_expiry). Absent without a license.',
  labels: NODE,
});

export const CERTIFICATE_EXPIRY = gauge({
  name: 'crdb_node_certificate_expiry_timestamp_seconds',
  help: 'Unix time in seconds at which a certificate of the node expires (GET /nodes/, metrics security.certificate.expiration.*). Absent where the node has no such certificate.',
  labels: ['node_id', 'certificate'],
});

export const STORE_SLOW_REQUESTS = gauge({
  name: 'crdb_store_slow_requests',
  help: 'Requests that have been stuck for a long time in the store, by what they wait for: latch, lease or raft (GET /nodes/, store_metrics requests.slow.*).',
  labels: ['node_id', 'store_id', 'kind'],
});

export const NODE_METRIC = untyped({
  name: 'crdb_node_metric',
  help: 'A metric of the node by its own key, as chosen in collectors.nodes.metrics (GET /nodes/, metrics); its unit is that of the key.',
  labels: ['node_id', 'key'],
  importance: 'chosen',
});

export const STORE_METRIC = untyped({
  name: 'crdb_store_metric',
  help: 'A metric of the store by its own key, as chosen in collectors.nodes.metrics (GET /nodes/, store_metrics); its unit is that of the key.',
  labels: ['node_id', 'store_id', 'key'],
  importance: 'chosen',
});
