import type { Sheet } from '../../metrics/sheet.ts';
import {
  CERTIFICATE_PREFIX,
  type ChosenKeys,
  LICENSE_KEYS,
  SLOW_KINDS,
  slowKey,
} from './choice.ts';
import * as families from './families.ts';
import { LIVENESS_STATUSES, livenessOf } from './liveness.ts';
import { NODE_READINGS, STORE_READINGS } from './readings.ts';
import type { NodeRecord, Values } from './record.ts';

/** Writes what describes the cluster as a whole. */
export function publishCluster(sheet: Sheet, nodes: readonly NodeRecord[]): void {
  const counts = new Map<string, number>(LIVENESS_STATUSES.map((status) => [status, 0]));
  for (const node of nodes) {
    const status = livenessOf(node);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  for (const [status, count] of counts) sheet.set(families.NODES, { status }, count);
  const present = nodes.filter((node) => !['dead', 'decommissioned'].includes(livenessOf(node)));
  sheet.set(families.BUILD_TAGS, {}, countDistinct(present.map((node) => node.buildTag)));
  sheet.set(families.SERVER_VERSIONS, {}, countDistinct(present.map((node) => node.serverVersion)));
}

/** '' is no value. */
function countDistinct(values: readonly string[]): number {
  return new Set(values.filter((value) => value !== '')).size;
}

/** Writes what a node is: true of it also when its record is old. */
export function publishNode(sheet: Sheet, node: NodeRecord): void {
  const labels = { node_id: String(node.id) };
  sheet.states(families.LIVENESS, labels, 'status', LIVENESS_STATUSES, livenessOf(node));
  sheet.set(families.LIVENESS_CODE, labels, node.livenessCode);
  sheet.info(families.INFO, {
    ...labels,
    address: node.address,
    sql_address: node.sqlAddress,
    build_tag: node.buildTag,
    server_version: node.serverVersion,
    cluster_name: node.clusterName,
    locality: node.tiers.map(({ key, value }) => `${key}=${value}`).join(','),
  });
  for (const { key, value } of node.tiers) {
    sheet.info(families.LOCALITY_INFO, { ...labels, tier: key, value });
  }
  sheet.set(families.STARTED, labels, knownOf(node.startedSeconds));
  sheet.set(families.UPDATED, labels, knownOf(node.updatedSeconds));
  sheet.set(families.CPUS, labels, knownOf(node.cpus));
  sheet.set(families.MEMORY, labels, knownOf(node.memoryBytes));
}

/** Where 0 means that the server did not say. */
function knownOf(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

/** Writes what a node and its stores measured, which only a fresh record may say. */
export function publishMetrics(sheet: Sheet, node: NodeRecord, chosen: ChosenKeys): void {
  const labels = { node_id: String(node.id) };
  for (const { key, divisor, family } of NODE_READINGS) {
    sheet.set(family, labels, divide(node.metrics.get(key), divisor));
  }
  publishExpiries(sheet, node);
  for (const [key, value] of node.metrics) {
    if (chosen.has(key)) sheet.set(families.NODE_METRIC, { ...labels, key }, value);
  }
  for (const [storeId, values] of node.stores) {
    publishStore(sheet, { ...labels, store_id: storeId }, values, chosen);
  }
}

function publishExpiries(sheet: Sheet, { id, metrics, updatedSeconds }: NodeRecord): void {
  const labels = { node_id: String(id) };
  const left = LICENSE_KEYS.map((key) => metrics.get(key)).find((value) => value !== undefined);
  // 0 seconds left stands for no license; one that has expired has less.
  if (left !== undefined && left !== 0) {
    sheet.set(families.LICENSE_EXPIRY, labels, updatedSeconds + left);
  }
  for (const [key, value] of metrics) {
    if (!key.startsWith(CERTIFICATE_PREFIX)) continue;
    const certificate = key.slice(CERTIFICATE_PREFIX.length);
    sheet.set(families.CERTIFICATE_EXPIRY, { ...labels, certificate }, knownOf(value));
  }
}

function publishStore(
  sheet: Sheet,
  labels: { readonly node_id: string; readonly store_id: string },
  values: Values,
  chosen: ChosenKeys,
): void {
  for (const { key, divisor, family } of STORE_READINGS) {
    sheet.set(family, labels, divide(values.get(key), divisor));
  }
  for (const kind of SLOW_KINDS) {
    sheet.set(families.STORE_SLOW_REQUESTS, { ...labels, kind }, values.get(slowKey(kind)));
  }
  for (const [key, value] of values) {
    if (chosen.has(key)) sheet.set(families.STORE_METRIC, { ...labels, key }, value);
  }
}

function divide(value: number | undefined, divisor: number): number | undefined {
  return value === undefined ? undefined : value / divisor;
}
