import { APIS, BREAKER_STATES, LIMITS } from '#base';
import { gaugeOf, type Poller } from '#collectors';
import {
  clusterFamilies,
  collectorFamilies,
  type Family,
  processFamilies,
  SampleSet,
} from '#metrics';
import type { Cluster } from './cluster.ts';

const pollerGauge = gaugeOf({ labels: ['collector', 'shard'] })<Poller>;

/** Gauges of a collector. They exist whatever the cluster does; values of the last poll only after one. */
const POLLER_FAMILIES = [
  pollerGauge(({ outcome }) => Number(outcome.state === 'ok'), {
    name: 'crdb_exporter_collector_success',
    help: 'Whether the last poll of the collector succeeded; 0 also when all URLs fail and it was skipped.',
    unit: '0 or 1',
    notes:
      'A range scan that read at least half of its nodes is a success; crdb_range_scan_nodes counts the failed ones.',
  }),
  pollerGauge(({ outcome }) => outcome.last?.durationSeconds, {
    name: 'crdb_exporter_collector_duration_seconds',
    help: 'Duration of the last poll of the collector in seconds.',
  }),
  pollerGauge(({ outcome }) => outcome.lastSuccessMs && outcome.lastSuccessMs / 1000, {
    name: 'crdb_exporter_collector_last_success_timestamp_seconds',
    help: 'Unix time in seconds at which the last successful poll of the collector ended.',
    notes: 'Shows the age of the data of the collector. Absent before the first success.',
  }),
  pollerGauge(({ outcome }) => outcome.last && outcome.last.atMs / 1000, {
    name: 'crdb_exporter_collector_last_attempt_timestamp_seconds',
    help: 'Unix time in seconds at which the last poll of the collector ended.',
  }),
  pollerGauge(({ intervalSeconds }) => intervalSeconds, {
    name: 'crdb_exporter_collector_interval_seconds',
    help: 'Effective interval between polls in seconds.',
    notes:
      'Longer than configured when responses would take more than their share of the time (max_duty). Waiting without a response does not count.',
  }),
  pollerGauge(({ configuredIntervalSeconds }) => configuredIntervalSeconds, {
    name: 'crdb_exporter_collector_configured_interval_seconds',
    help: 'Configured interval between polls in seconds.',
  }),
  pollerGauge(({ outcome }) => outcome.last?.items, {
    name: 'crdb_exporter_collector_items',
    help: 'Elements (nodes, ranges, sessions, users, tables) that the last poll read.',
  }),
  pollerGauge(({ outcome }) => outcome.last?.pages, {
    name: 'crdb_exporter_collector_pages',
    help: 'Responses that the last poll read.',
  }),
  pollerGauge(({ outcome }) => outcome.last?.bytes, {
    name: 'crdb_exporter_collector_response_bytes',
    help: 'Bytes of the responses of the last poll, decompressed.',
  }),
  pollerGauge(({ snapshot }) => snapshot?.series ?? 0, {
    name: 'crdb_exporter_series',
    help: 'Number of series that the collector exports now.',
  }),
];

/** All families of the exporter itself. */
export const EXPORTER_FAMILIES: readonly Family[] = [
  ...Object.values(processFamilies),
  ...Object.values(clusterFamilies),
  ...Object.values(collectorFamilies),
  ...POLLER_FAMILIES.map(({ family }) => family),
];

/**
 * The metrics of a cluster, its APIs and the chosen collectors, for one scrape. Until the first poll, crdb_up is
 * `upBeforeFirstPoll`, or absent.
 */
export function measureCluster(
  cluster: Cluster,
  chosen: ReadonlySet<string>,
  upBeforeFirstPoll?: number,
): SampleSet {
  const { config, clients, scan } = cluster;
  const set = new SampleSet({ crdb_cluster: config.name });
  for (const api of APIS) {
    const http = clients[api]?.http;
    if (http === undefined) continue;
    const up = cluster.isUp(api);
    set.set(clusterFamilies.up, { api }, up === undefined ? upBeforeFirstPoll : Number(up));
    for (const { name, state } of http.upstreams()) {
      set.states(clusterFamilies.breakerState, { target: name }, 'state', BREAKER_STATES, state);
    }
    set.set(clusterFamilies.apiPaused, { api }, http.pausedMs() / 1000);
  }
  const { cluster_api, console_url = '' } = config;
  set.set(clusterFamilies.clusterInfo, { console_url }, 1);
  set.set(clusterFamilies.clusterConfigured, {}, 1);
  set.set(clusterFamilies.shards, {}, cluster.shard.count);
  const isUnverified = cluster_api && Number(cluster_api.tls.insecure_skip_verify);
  set.set(clusterFamilies.verificationDisabled, {}, isUnverified);
  const expiryMs = clients.cluster?.tls.current().notAfterMs;
  set.set(clusterFamilies.certificateExpiry, { use: 'client' }, expiryMs && expiryMs / 1000);
  for (const poller of cluster.pollersOf(chosen)) {
    const { collector, shard, outcome } = poller;
    const limits = outcome.last?.limits ?? new Set();
    const labels = { collector: collector.name, shard };
    for (const { family, value } of POLLER_FAMILIES) set.set(family, labels, value(poller));
    collector.lastingSamples?.(outcome.state === 'ok' ? poller.result : undefined, set, poller);
    for (const limit of LIMITS) {
      set.set(collectorFamilies.limitHit, { ...labels, limit }, Number(limits.has(limit)));
    }
    if (collector.scope !== 'node') continue;
    set.set(collectorFamilies.scanNodesDone, { shard }, scan.done);
    set.set(collectorFamilies.scanNodesPlanned, { shard }, scan.planned);
  }
  return set;
}
