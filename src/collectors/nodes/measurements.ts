import type { SelectedKeys } from '#json';
import { type Family, gauge, type SampleSet, untyped } from '#metrics';
import { JOB_KEYS, writeJobFailures } from './job-status.ts';
import {
  CERTIFICATE_PREFIX,
  type KeyedSeries,
  LICENSE_KEY,
  LICENSE_KEYS,
  NODE,
  NODE_METRICS,
  STORE_METRICS,
} from './node-families.ts';
import { CPU_KEYS, measuredMetrics, type NodeRecord } from './node-record.ts';

// Writes the metrics of nodes with fresh records: those of the table in node-families.ts, and here those that need a calculation
// (license, certificates) or that the user chose.

const families = {
  licenseExpiry: gauge({
    ...NODE,
    name: 'crdb_node_license_expiry_timestamp_seconds',
    help: 'Expiry of the license, Unix time in seconds.',
    field:
      'updated_at and metrics seconds_until_license_expiry, earlier seconds_until_enterprise_license_expiry',
    notes: 'Absent without a license.',
  }),
  licenseInstalled: gauge({
    ...NODE,
    name: 'crdb_node_license_installed',
    help: 'Whether the node knows a license: 1 or 0.',
    unit: '0 or 1',
    field: `metrics ${LICENSE_KEY}`,
    notes:
      'Absent before 24.3. From then on a cluster of several nodes without a license throttles transactions after 7 days (a new cluster) or 30 (an upgraded one).',
  }),
  certificateExpiry: gauge({
    name: 'crdb_node_certificate_expiry_timestamp_seconds',
    help: 'Expiry of a certificate of the node, Unix time in seconds.',
    labels: ['node_id', 'certificate'],
    field: `metrics ${CERTIFICATE_PREFIX}*`,
    notes:
      'Absent where the node has no such certificate. Not of clients, for which nodes report only a sum.',
  }),
  nodeMetric: untyped({
    name: 'crdb_node_metric',
    help: 'A metric of the node by its CockroachDB key, as selected in collectors.nodes.metrics.',
    labels: ['node_id', 'key'],
    unit: 'that of its key',
    field: 'metrics',
    notes: 'A series for each chosen key that the node has.',
    importance: 'chosen',
  }),
  storeMetric: untyped({
    name: 'crdb_store_metric',
    help: 'A metric of the store by its CockroachDB key, as selected in collectors.nodes.metrics.',
    labels: ['node_id', 'store_id', 'key'],
    unit: 'that of its key',
    field: 'store_metrics',
    notes: 'A series for each chosen key that the store has.',
    importance: 'chosen',
  }),
};

export const MEASUREMENT_FAMILIES: readonly Family[] = [
  ...new Set([...NODE_METRICS, ...STORE_METRICS].map(({ family }) => family)),
  ...Object.values(families),
];

/** Reads a list of keys, each exact or a prefix with a trailing `*`. */
export function selectKeys(patterns: readonly string[]): SelectedKeys {
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*'));
  return {
    keys: patterns.filter((pattern) => !prefixes.includes(pattern)),
    prefixes: prefixes.map((prefix) => prefix.slice(0, -1)),
  };
}

function isSelected({ keys, prefixes }: SelectedKeys, key: string): boolean {
  return keys.includes(key) || prefixes.some((prefix) => key.startsWith(prefix));
}

/** The metrics to read of a node: those of the families and the selected ones. */
export function nodeKeys(selected: SelectedKeys): SelectedKeys {
  return {
    keys: [
      ...NODE_METRICS.map(({ key }) => key),
      ...Object.values(CPU_KEYS),
      ...LICENSE_KEYS,
      ...JOB_KEYS,
      ...selected.keys,
    ],
    prefixes: [CERTIFICATE_PREFIX, ...selected.prefixes],
  };
}

/** The metrics to read of a store. */
export function storeKeys({ keys, prefixes }: SelectedKeys): SelectedKeys {
  return { keys: [...STORE_METRICS.map(({ key }) => key), ...keys], prefixes };
}

/** Writes the samples of the metrics of a node and its stores, for nodes with a fresh record. */
export function writeMeasurements(set: SampleSet, node: NodeRecord, selected: SelectedKeys): void {
  const labels = { node_id: String(node.id) };
  const metrics = measuredMetrics(node);
  writeKeyed(set, NODE_METRICS, labels, metrics);
  set.set(families.licenseExpiry, labels, node.licenseExpirySeconds);
  const license = metrics.get(LICENSE_KEY);
  if (license !== undefined) set.set(families.licenseInstalled, labels, license === 0 ? 0 : 1);
  writeJobFailures(set, node);
  for (const [certificate, expirySeconds] of node.certificates) {
    set.set(families.certificateExpiry, { ...labels, certificate }, expirySeconds || undefined);
  }
  for (const [key, value] of metrics) {
    if (isSelected(selected, key)) set.set(families.nodeMetric, { ...labels, key }, value);
  }
  for (const [storeId, values] of node.stores) {
    // A node that starts writes its first record 10 s before it measures its stores: all their figures are 0 in it.
    if (values.get('capacity') === 0) continue;
    const storeLabels = { ...labels, store_id: storeId };
    writeKeyed(set, STORE_METRICS, storeLabels, values);
    for (const [key, value] of values) {
      if (isSelected(selected, key)) set.set(families.storeMetric, { ...storeLabels, key }, value);
    }
  }
}

function writeKeyed(
  set: SampleSet,
  table: readonly KeyedSeries[],
  labels: Readonly<Record<string, string>>,
  values: ReadonlyMap<string, number>,
): void {
  for (const { family, key, labels: more } of table) {
    const value = values.get(key);
    // CockroachDB measures durations in nanoseconds.
    const divisor = family.unit === 'seconds' ? 1e9 : 1;
    if (value !== undefined) set.set(family, { ...labels, ...more }, value / divisor);
  }
}
