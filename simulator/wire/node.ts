import type { Quirks } from '../quirks.ts';
import type { ClusterNode, Liveness } from '../world/nodes.ts';
import { recordOf } from '../world/records.ts';
import type { WorldState } from '../world/state.ts';
import { createEncoding, nanos } from './encoding.ts';

const LIVENESS_CODES: Readonly<Record<Liveness, number>> = {
  unknown: 0,
  dead: 1,
  unavailable: 2,
  live: 3,
  decommissioning: 4,
  decommissioned: 5,
  draining: 6,
};
const UNKNOWN_LIVENESS = 42;
/** Above 2^53 and above the maximum of an int64. */
const HUGE_METRIC = 9.223_372_036_854_776e18;

/** What replaces the counts of connections; undefined members are not sent. */
const CONNECTION_COUNTS = {
  counted: {},
  zero: { 'rpc.connection.healthy': 0, 'rpc.connection.unhealthy': 0 },
  missing: { 'rpc.connection.healthy': undefined, 'rpc.connection.unhealthy': undefined },
};

/** One element of GET /nodes/, members in the order of the server. */
export function nodeElement(state: WorldState, quirks: Quirks, node: ClusterNode): object {
  const encoding = createEncoding(quirks);
  const record = recordOf(state, node);
  const address = { network_field: 'tcp', address_field: `${node.host}:26257` };
  const { major, minor, internal } = node.serverVersion;
  return {
    node_id: node.id,
    address,
    attrs: node.id % 2 === 0 ? { attrs: ['ssd'] } : {},
    locality: { tiers: encoding.list(node.locality) },
    ServerVersion: { major_val: major, minor_val: minor, patch: 0, internal },
    build_tag: node.buildTag,
    started_at: nanos(node.startedAtMs),
    cluster_name: state.options.clusterName,
    sql_address: address,
    metrics: {
      ...record.metrics,
      ...(quirks.hugeIntegers ? { 'huge.metric': HUGE_METRIC } : {}),
      ...CONNECTION_COUNTS[quirks.connectionCounts],
    },
    store_metrics: quirks.storeMetrics ? Object.fromEntries(record.stores) : undefined,
    total_system_memory: encoding.scalar(node.memoryBytes),
    num_cpus: encoding.scalar(node.cpus),
    num_vcpus: quirks.vcpus ? encoding.scalar(node.cpus / 2 + 0.5) : undefined,
    updated_at: nanos(record.updatedAtMs),
    liveness_status: livenessCode(quirks, node),
    ...(quirks.unknownValues ? { unheard_of: { deep: [1, null, { x: 'y' }] } } : {}),
  };
}

function livenessCode(quirks: Quirks, node: ClusterNode): number {
  if (quirks.unknownValues && node.id === 2) return UNKNOWN_LIVENESS;
  return LIVENESS_CODES[node.liveness];
}
