import { DEAD, livenessOf } from '../../cockroach/node.ts';
import { type Family, gauge } from '../../metrics/family.ts';
import type { SampleSet } from '../../metrics/sample-set.ts';
import { cleanLabelValue } from '../../metrics/sample-text.ts';
import { LIVENESS_STATUSES } from '../../vocabulary.ts';
import { gaugeOf } from '../collector.ts';
import { NODE } from './keyed.ts';
import type { NodeRecord, NodeStatus } from './record.ts';

// Liveness, identity and size of the nodes: true of a node even when its record is old.

const families = {
  nodes: gauge({
    name: 'crdb_nodes',
    help: 'Nodes by liveness, as the answering node sees it.',
    labels: ['status'],
    field: 'liveness_status',
    notes:
      'decommissioned: dead, and its decommissioning had begun; it may hold replicas. A node that has left is not listed.',
  }),
  buildTags: gauge({
    name: 'crdb_build_tags',
    help: 'Distinct builds of the nodes that are neither dead nor decommissioned.',
    field: 'build_tag',
    notes: 'More than 1 during an upgrade.',
  }),
  serverVersions: gauge({
    name: 'crdb_server_versions',
    help: 'Distinct cluster versions supported by the nodes that are neither dead nor decommissioned.',
    field: 'ServerVersion',
  }),
  liveness: gauge({
    name: 'crdb_node_liveness',
    help: 'Liveness of the node as a state set: 1 for the current status, 0 for the others.',
    labels: ['node_id', 'status'],
    unit: '0 or 1',
    field: 'liveness_status',
  }),
  info: gauge({
    name: 'crdb_node_info',
    help: 'Addresses, build, cluster version and locality of the node. Always 1.',
    labels: [
      'node_id',
      'address',
      'sql_address',
      'build_tag',
      'server_version',
      'cluster_name',
      'locality',
    ],
  }),
  localityInfo: gauge({
    name: 'crdb_node_locality_info',
    help: 'One locality tier of the node, for example region or zone. Always 1.',
    labels: ['node_id', 'tier', 'value'],
    field: 'locality.tiers',
  }),
};

const ofNode = gaugeOf(NODE)<NodeStatus>;

/** One value for each node. */
const NODE_GAUGES = [
  ofNode(({ livenessCode }) => livenessCode, {
    name: 'crdb_node_liveness_code',
    help: 'Liveness of the node as the number sent by the server.',
    unit: 'number',
    field: 'liveness_status',
    notes: 'Also numbers that this exporter does not know.',
  }),
  ofNode(({ startedSeconds }) => startedSeconds || undefined, {
    name: 'crdb_node_started_timestamp_seconds',
    help: 'Start of the node process, Unix time in seconds.',
    field: 'started_at',
  }),
  ofNode(({ updatedSeconds }) => updatedSeconds || undefined, {
    name: 'crdb_node_updated_timestamp_seconds',
    help: 'Time of the last node record, Unix time in seconds.',
    field: 'updated_at',
    notes:
      'A healthy node writes its record every 10 s. All other metrics of nodes and stores are as old as the record.',
  }),
  ofNode(({ recordAgeSeconds }) => recordAgeSeconds, {
    name: 'crdb_node_record_age_seconds',
    help: 'Age of the last node record in seconds, by the clock of the server that answered.',
    field: 'updated_at and the header Date of the response',
    notes: 'The clock of the exporter has no influence. Absent when the response has no Date.',
  }),
  ofNode(({ cpus }) => cpus, {
    name: 'crdb_node_cpus',
    help: 'CPUs available to the node.',
    field: 'num_vcpus, else num_cpus',
    notes:
      'num_vcpus respects the limit of the cgroup, if the server sends it; num_cpus does not. Absent when unknown.',
  }),
  ofNode(({ memoryBytes }) => memoryBytes, {
    name: 'crdb_node_memory_bytes',
    help: 'Memory available to the node in bytes.',
    field: 'total_system_memory',
    notes: 'Absent when unknown.',
  }),
];

export const STATUS_FAMILIES: readonly Family[] = [
  ...Object.values(families),
  ...NODE_GAUGES.map(({ family }) => family),
];

/** Writes the samples of the cluster as a whole. */
export function writeClusterSamples(set: SampleSet, nodes: readonly NodeRecord[]): void {
  for (const status of LIVENESS_STATUSES) {
    const count = nodes.filter((node) => livenessOf(node) === status).length;
    set.set(families.nodes, { status }, count);
  }
  const present = nodes.filter((node) => !DEAD.has(livenessOf(node)));
  set.set(families.buildTags, {}, countDistinct(present.map((node) => node.buildTag)));
  set.set(families.serverVersions, {}, countDistinct(present.map((node) => node.serverVersion)));
}

/** '' is no value. */
function countDistinct(values: readonly string[]): number {
  return new Set(values.filter((value) => value !== '')).size;
}

/** Writes the samples of a node that do not depend on the age of its record. */
export function writeStatusSamples(set: SampleSet, node: NodeStatus): void {
  const labels = { node_id: String(node.id) };
  set.states(families.liveness, labels, 'status', LIVENESS_STATUSES, livenessOf(node));
  set.info(families.info, nodeInfoLabels(node));
  for (const { key, value } of node.tiers) {
    set.info(families.localityInfo, { ...labels, tier: key, value });
  }
  for (const { family, value } of NODE_GAUGES) set.set(family, labels, value(node));
}

/** Labels of crdb_node_info. */
export function nodeInfoLabels(node: NodeRecord) {
  return {
    node_id: String(node.id),
    address: node.address,
    sql_address: node.sqlAddress,
    build_tag: node.buildTag,
    server_version: node.serverVersion,
    cluster_name: node.clusterName,
    locality: cleanLabelValue(node.tiers.map(({ key, value }) => `${key}=${value}`).join(',')),
  };
}
