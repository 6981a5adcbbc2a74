import { fractionOf } from '../random.ts';
import { releaseMetrics, talkByDrpc } from '../releases.ts';
import { bulkMetrics } from './bulk-metrics.ts';
import { jobMetrics, retriesOf } from './job-metrics.ts';
import { countsAsLive, type ClusterNode } from './nodes.ts';
import { pairKey } from './reachability.ts';
import type { License, WorldState } from './state.ts';

/** Counters by their growth per second since the process started. */
const RATES: Readonly<Record<string, number>> = {
  'sys.cpu.user.ns': 1.6e9,
  'sys.cpu.sys.ns': 4e8,
  'sys.gc.count': 0.1,
  'sys.gc.pause.ns': 30_000,
  'sys.host.disk.read.bytes': 2e6,
  'sys.host.disk.write.bytes': 6e6,
  'sys.host.net.recv.bytes': 4e6,
  'sys.host.net.send.bytes': 5e6,
  'sql.new_conns': 0.05,
  'sql.conn.latency-count': 0.05,
  'sql.conn.failures': 0,
  'sql.query.count': 900,
  'sql.select.count': 600,
  'sql.insert.count': 150,
  'sql.update.count': 120,
  'sql.delete.count': 30,
  'sql.ddl.count': 0.0001,
  'sql.query.started.count': 901,
  'sql.select.started.count': 600.3,
  'sql.insert.started.count': 150.1,
  'sql.update.started.count': 120.1,
  'sql.delete.started.count': 30,
  'sql.ddl.started.count': 0.0001,
  'sql.failure.count': 0.5,
  'sql.txn.begin.count': 200,
  'sql.txn.commit.count': 195,
  'sql.txn.rollback.count': 5,
  'sql.txn.abort.count': 0.1,
  'sql.full.scan.count': 0.2,
  'sql.bytesin': 200_000,
  'sql.bytesout': 900_000,
  'liveness.heartbeatsuccesses': 0.33,
  'liveness.heartbeatfailures': 0,
  'liveness.epochincrements': 0,
  'distsender.batches': 1200,
  'distsender.errors.notleaseholder': 0.02,
  'exec.success': 1500,
  'exec.error': 0.3,
  'txn.commits': 300,
  'txn.aborts': 0.1,
  'txn.restarts.serializable': 0.05,
  'changefeed.failures': 0,
  'changefeed.emitted_bytes': 30_000,
  'changefeed.error_retries': 0.000_005,
  'sql.txn.contended.count': 0.3,
};

/** Latency histograms by their 99th percentile in nanoseconds. */
const LATENCIES: Readonly<Record<string, number>> = {
  'sql.service.latency': 28e6,
  'sql.exec.latency': 22e6,
  'sql.txn.latency': 31e6,
  'sql.conn.latency': 9e6,
  'liveness.heartbeatlatency': 35e6,
  'round-trip-latency': 4e6,
  'exec.latency': 6e6,
};

const DAY_SECONDS = 86_400;
const SQL_USERS_WITH_CERTIFICATE = 3;
/** Quantiles of a histogram as shares of its 99th percentile. */
const SHARES: Readonly<Record<string, number>> = {
  avg: 0.2,
  max: 2.1,
  p50: 0.15,
  p75: 0.35,
  p90: 0.6,
  p99: 1,
  'p99.9': 1.4,
  'p99.99': 1.9,
  'p99.999': 2.1,
};

/** The node-level metrics of a record at a time; counters start at zero with the process. */
export function nodeMetrics(
  state: WorldState,
  node: ClusterNode,
  atMs: number,
): Record<string, number> {
  const uptime = Math.max(0, (atMs - node.startedAtMs) / 1000);
  const metrics: Record<string, number> = {
    ...gauges(state, node, atMs),
    ...jobMetrics(state, node, atMs),
    ...releaseMetrics(node),
    'sys.uptime': Math.floor(uptime),
  };
  for (const [key, p99] of Object.entries(LATENCIES)) {
    Object.assign(metrics, histogramOf(key, p99 * wave(key, node.id, atMs), 900 * uptime));
  }
  for (const [key, rate] of Object.entries(RATES)) {
    metrics[key] = Math.floor(rate * uptime * (0.8 + 0.4 * fractionOf(seriesOf(key), node.id)));
  }
  metrics['changefeed.error_retries'] =
    (metrics['changefeed.error_retries'] ?? 0) + (node.id === 1 ? retriesOf(state, atMs) : 0);
  const bulk = state.options.metricKeys === 'full' ? bulkMetrics('node', node.id, uptime) : {};
  return { ...bulk, ...metrics, ...node.overrides.node };
}

/** Counters that grow together: a statement that is started, and one that succeeds; a new connection, and a ready one. */
function seriesOf(key: string): string {
  return key.replace('.started.', '.').replace('sql.conn.latency-count', 'sql.new_conns');
}

const LICENSE_KEY = 'seconds_until_license_expiry';
const ENTERPRISE_KEY = 'seconds_until_enterprise_license_expiry';
const LICENSES: Readonly<Record<License, Readonly<Record<string, number>>>> = {
  installed: { [LICENSE_KEY]: 200 * DAY_SECONDS, [ENTERPRISE_KEY]: 200 * DAY_SECONDS },
  none: { [LICENSE_KEY]: 0, [ENTERPRISE_KEY]: 0 },
  expired: { [LICENSE_KEY]: -3 * DAY_SECONDS, [ENTERPRISE_KEY]: -3 * DAY_SECONDS },
  unreported: { [ENTERPRISE_KEY]: 200 * DAY_SECONDS },
};

/** The eleven keys of a histogram. */
export function histogramOf(key: string, p99: number, count: number): Record<string, number> {
  const keys: Record<string, number> = {
    [`${key}-count`]: Math.floor(count),
    [`${key}-sum`]: Math.floor(count * p99 * 0.2),
  };
  for (const [suffix, share] of Object.entries(SHARES)) keys[`${key}-${suffix}`] = p99 * share;
  return keys;
}

function gauges(state: WorldState, node: ClusterNode, atMs: number): Record<string, number> {
  // Nobody still calls members that died long ago.
  const nodes = [...state.nodes.values()].filter(({ isRelic }) => !isRelic);
  const live = nodes.filter(countsAsLive).length;
  const counted = nodes.filter((peer) => !talkByDrpc(node, peer));
  const reached = counted.filter(countsAsLive).length;
  const cut = counted.filter(({ id }) => state.cutPairs.has(pairKey(node.id, id))).length;
  const cpu = 0.25 * wave('cpu', node.id, atMs);
  const secure = state.options.insecure ? 0 : Math.floor(state.startMs / 1000) + 300 * DAY_SECONDS;
  return {
    'node-id': node.id,
    'build.timestamp': 1_767_810_814,
    'sys.cpu.combined.percent-normalized': cpu,
    'sys.cpu.host.combined.percent-normalized': cpu * 1.15,
    'sys.cpu.user.percent': cpu * 0.8 * node.cpus,
    'sys.cpu.sys.percent': cpu * 0.2 * node.cpus,
    'sys.rss': Math.floor(node.memoryBytes * 0.42 * wave('rss', node.id, atMs)),
    'sys.totalmem': node.memoryBytes,
    'sys.go.allocbytes': 1_400_000_000,
    'sys.go.totalbytes': 2_100_000_000,
    'sys.go.limitbytes': 7_700_000_000,
    'sys.cgo.allocbytes': 8_200_000_000,
    'sys.cgo.totalbytes': 9_000_000_000,
    'sys.goroutines': 1200,
    'sys.runnable.goroutines.per.cpu': 0.3 * wave('runnable', node.id, atMs),
    'sys.fd.open': 420 + 3 * node.id,
    'sys.fd.softlimit': 1_048_576,
    'sys.host.disk.iopsinprogress': 1,
    'sql.conns': Math.round(state.options.sessions / nodes.length),
    'sql.statements.active': 4,
    'sql.txns.open': 6,
    'sql.mem.root.current': 1_720_320 * 8,
    'liveness.livenodes': live,
    'clock-offset.meannanos': Math.round(2e6 * (fractionOf('clock', node.id) - 0.5)),
    'clock-offset.stddevnanos': 57_812,
    'rpc.connection.healthy': 2 * (reached - cut),
    'rpc.connection.unhealthy': counted.length - reached + 2 * cut,
    'gossip.connections.incoming': 2,
    'gossip.connections.outgoing': 1,
    'gossip.connections.refused': 0,
    'requests.slow.distsender': 0,
    'changefeed.running': node.id === 1 ? 2 : 0,
    'changefeed.backfill_count': state.backfillNodeId === node.id ? 1 : 0,
    'changefeed.max_behind_nanos': node.id === 1 ? 3e9 * wave('behind', node.id, atMs) : 0,
    ...LICENSES[state.license],
    'security.certificate.expiration.ca': secure === 0 ? 0 : secure + 3000 * DAY_SECONDS,
    'security.certificate.expiration.node': secure,
    // The sum of the expiries of the certificates of all SQL users.
    'security.certificate.expiration.client': secure * SQL_USERS_WITH_CERTIFICATE,
    'security.certificate.ttl.node': secure === 0 ? 0 : secure - Math.floor(atMs / 1000),
  };
}

/** A slow wave from 0.85 to 1.15, different for each key and node. */
function wave(key: string, nodeId: number, atMs: number): number {
  return 1 + 0.15 * Math.sin(2 * Math.PI * (atMs / 900_000 + fractionOf(key, nodeId)));
}
