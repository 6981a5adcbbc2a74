import { LIVENESS_STATUSES } from '#base';
import {
  ACTIVE,
  addWarning,
  assertWithin,
  freshnessOf,
  livenessOf,
  LocalityReader,
  RequestError,
} from '#cockroach';
import type { SelectedKeys } from '#json';
import { cleanLabelValue, gauge, type SampleSet } from '#metrics';
import { type CollectorResult, defineCollector, gaugeOf } from '../collector.ts';
import {
  JOB_FAMILIES,
  LAST_BACKUP,
  lastBackupSeconds,
  StatisticsNodes,
  writeJobSamples,
} from './job-status.ts';
import {
  MEASUREMENT_FAMILIES,
  nodeKeys,
  selectKeys,
  storeKeys,
  writeMeasurements,
} from './measurements.ts';
import { NODE } from './node-families.ts';
import { copyNode, type ListedNode, type NodeRecord, nodeShape } from './node-record.ts';
import { findUnsent, isSent, SentKeys, type UnsentKeys } from './sent-keys.ts';

/** Families that do not need a fresh record: liveness, identity and size of the nodes. `keysMissing` alone reads fresh records. */
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
    help: 'Distinct builds of active members: nodes that are live, draining or unavailable.',
    field: 'build_tag',
    notes: 'More than 1 during an upgrade.',
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
  keysMissing: gauge({
    name: 'crdb_exporter_node_keys_missing',
    help: 'Metrics of nodes and stores that the exporter reads and that no node sends any more.',
    unit: 'number',
    field: 'metrics and store_metrics',
    notes:
      'Those that a node has sent since the exporter started, and those of collectors.nodes.metrics, also when no node ever sent them: a prefix counts as one. By the nodes with fresh records; absent without one. The status page and the log name them.',
  }),
  localityInfo: gauge({
    name: 'crdb_node_locality_info',
    help: 'One locality tier of the node, for example region or zone. Always 1.',
    labels: ['node_id', 'tier', 'value'],
    field: 'locality.tiers',
  }),
};

const nodeGauge = gaugeOf(NODE)<ListedNode>;

/** Gauges with one value for each node, whatever the age of its record. */
const NODE_GAUGES = [
  nodeGauge(({ startedSeconds }) => startedSeconds || undefined, {
    name: 'crdb_node_started_timestamp_seconds',
    help: 'Start of the node process, Unix time in seconds.',
    field: 'started_at',
  }),
  nodeGauge(({ updatedSeconds }) => updatedSeconds || undefined, {
    name: 'crdb_node_updated_timestamp_seconds',
    help: 'Time of the last node record, Unix time in seconds.',
    field: 'updated_at',
    notes:
      'A healthy node writes its record every 10 s. All other metrics of nodes and stores are as old as the record.',
  }),
  nodeGauge(({ recordAgeSeconds }) => recordAgeSeconds, {
    name: 'crdb_node_record_age_seconds',
    help: 'Age of the last node record in seconds, by the clock of the server that answered.',
    field: 'updated_at and the header Date of the response',
    notes: 'The clock of the exporter has no influence. Absent when the response has no Date.',
  }),
  nodeGauge(({ cpus }) => cpus, {
    name: 'crdb_node_cpus',
    help: 'CPUs available to the node.',
    field:
      'num_vcpus, else metrics (sys.cpu.user.percent + sys.cpu.sys.percent) / sys.cpu.combined.percent-normalized, else num_cpus',
    notes:
      'The first two respect the limit of a container, if the server sends them; num_cpus, their upper bound, does not. Absent when unknown.',
  }),
  nodeGauge(({ memoryBytes }) => memoryBytes, {
    name: 'crdb_node_memory_bytes',
    help: 'Memory available to the node in bytes.',
    field: 'total_system_memory',
    notes: 'Absent when unknown.',
  }),
];

/** GET /nodes/: identity and liveness of the nodes, and the most important of their own metrics. */
export const nodes = defineCollector({
  name: 'nodes',
  api: 'cluster',
  help: 'Liveness, version, locality, load and stores of the nodes.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  load: {
    requests: '`/nodes/`, 200 nodes per page',
    cost: 'One node reads the status records of all nodes: about 110 kB of JSON per node and 40 kB per store.',
  },
  request: 'GET /nodes/',
  intervalSeconds: 30,
  timeoutSeconds: 30,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: [
    ...Object.values(families),
    ...NODE_GAUGES.map(({ family }) => family),
    ...JOB_FAMILIES,
    ...MEASUREMENT_FAMILIES,
  ],
  options: {
    page_limit: {
      kind: 'integer',
      default: 200,
      min: 1,
      help: 'Nodes per request; a node record is about 150 kB.',
    },
    metrics: {
      kind: 'strings',
      default: [],
      pattern: /^[^*]*\*?$/,
      expects: 'a key, or a prefix of keys with a trailing *, as sql.mem.*',
      help: 'Metrics of nodes and stores to export as crdb_node_metric and crdb_store_metric: keys, exact or with a trailing *.',
    },
  },
  scope: 'cluster',
  inProbe: true,
  /** Example: the node that ran the last backup restarts, and forgets when that backup ended. The state still has the time. */
  createState: () => ({
    lastBackupSeconds: 0,
    sentKeys: new SentKeys(),
    statistics: new StatisticsNodes(),
  }),

  async collect(api, context): Promise<NodesResult> {
    const selected = selectKeys(context.options.metrics);
    // By id: a node that moves between two pages is listed twice.
    const byId = new Map<number, NodeRecord>();
    const localities = new LocalityReader();
    let stores = 0;
    let values = 0;
    const { dateMs, unreadable } = await api.nodes(context, {
      limit: context.options.page_limit,
      firstUrl: context.firstUrl,
      shape: nodeShape(nodeKeys(selected), storeKeys(selected)),
      onNode(element, answeredMs) {
        const node = copyNode(element, answeredMs, localities);
        if (node.id <= 0) return;
        byId.set(node.id, node);
        stores += node.stores.size;
        assertWithin(context, 'nodes', 'stores', stores, 'stores');
        for (const { size } of [node.metrics, ...node.stores.values()]) values += size;
        assertWithin(context, 'nodes', 'values', values, 'values');
      },
    });
    if (localities.isCut) context.limits.add('items');
    const records = [...byId.values()].toSorted((a, b) => a.id - b.id);
    const isFresh = freshnessOf(records, dateMs);
    const { state } = context;
    const notCounted = state.statistics.findNew(records);
    const all = records.map((node) => ({
      ...node,
      isFresh: isFresh(node),
      hasNotCounted: notCounted.has(node.id),
    }));
    // Old records count, too: their backups did end. Newer servers do not send the time any more. The remembered time would get
    // old although backups go on, so it is dropped.
    state.lastBackupSeconds =
      isSent(all, LAST_BACKUP) === false
        ? 0
        : lastBackupSeconds(records, state.lastBackupSeconds, dateMs);
    const unsentKeys = findUnsent(all, selected);
    const missingKeys = state.sentKeys.findMissing(unsentKeys);
    for (const [about, text] of describeMissing(missingKeys)) {
      const error = new RequestError('not_available', text);
      addWarning(context, { about, endpoint: 'nodes', error });
    }
    return {
      nodes: all,
      unsentKeys,
      missingKeys,
      selected,
      unreadable,
      lastBackupSeconds: state.lastBackupSeconds,
      answeredMs: dateMs,
    };
  },

  *samples({ nodes: all, selected, lastBackupSeconds: lastBackup, missingKeys }, set) {
    writeClusterSamples(set, all);
    set.set(families.keysMissing, {}, missingKeys?.length);
    writeJobSamples(set, all, lastBackup);
    for (const node of all) {
      writeStatusSamples(set, node);
      if (node.isFresh) writeMeasurements(set, node, selected);
      yield;
    }
  },
});

export type { ListedNode } from './node-record.ts';

/** The nodes, as a poll found them. */
export interface NodesResult extends CollectorResult {
  /** All listed nodes, by id ascending. */
  readonly nodes: readonly ListedNode[];
  /** Number of listed nodes whose id could not be read; none where undefined. */
  readonly unreadable?: number;
  /** Metrics that the user wants exported under their own keys. */
  readonly selected: SelectedKeys;
  /** Metrics that are read and that no node with a fresh record sends; undefined without one. */
  readonly unsentKeys?: UnsentKeys | undefined;
  /** The unsent keys that were sent before, or that the user has listed. */
  readonly missingKeys?: readonly string[] | undefined;
  /** End of the last scheduled backup since the exporter started, Unix time; 0 when no node reported one. */
  readonly lastBackupSeconds: number;
  /** When the server answered, by its clock, ms since the epoch; undefined when it sent no Date. */
  readonly answeredMs?: number | undefined;
}

/** With more missing keys than this the log has one line for all of them. */
const MAX_WARNINGS = 10;

/** Names and describes each missing key, so that the log has a line when it vanishes and one when it is back. */
function describeMissing(keys: readonly string[] = []): readonly (readonly [string, string])[] {
  const text = 'no node with a current record sends it';
  return keys.length > MAX_WARNINGS
    ? [['metrics of nodes', `no current record has ${keys.length} of them`]]
    : keys.map((key) => [`metric ${key}`, text]);
}

/** Writes the samples of the cluster as a whole. */
function writeClusterSamples(set: SampleSet, all: readonly NodeRecord[]): void {
  for (const status of LIVENESS_STATUSES) {
    const count = all.filter((node) => livenessOf(node) === status).length;
    set.set(families.nodes, { status }, count);
  }
  const active = all.filter((node) => ACTIVE.has(livenessOf(node)));
  const tags = active.flatMap(({ buildTag }) => buildTag || []);
  set.set(families.buildTags, {}, new Set(tags).size);
}

/** Writes the samples of a node that do not depend on the age of its record. */
function writeStatusSamples(set: SampleSet, node: ListedNode): void {
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
