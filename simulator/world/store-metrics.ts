import { traitsOf } from '../releases.ts';
import { bulkMetrics } from './bulk-metrics.ts';
import { heldByStore } from './held-replicas.ts';
import { validLeaseOf } from './leadership.ts';
import { loadOf } from './load.ts';
import { histogramOf } from './node-metrics.ts';
import type { ClusterNode, Store } from './nodes.ts';
import { problemsOf } from './problems.ts';
import type { Range, Replica } from './ranges.ts';
import { nodeIdsOf, nodeOf, type WorldState } from './state.ts';

const BYTES_PER_REPLICA = 48_000_000;
/** Of the disk, by logs and others: neither available to the store nor used by it. */
const FOREIGN_BYTES = 5 * 2 ** 30;

/** The metrics of one store in a record; the counts are those of its replicas. */
export function storeMetrics(
  state: WorldState,
  node: ClusterNode,
  store: Store,
  atMs: number,
): Record<string, number> {
  const uptime = Math.max(0, (atMs - node.startedAtMs) / 1000);
  const used = Math.floor(store.capacityBytes * store.usedShare);
  const peers =
    nodeIdsOf(state).flatMap((id) => nodeOf(state, id).stores).length - node.stores.length;
  return {
    ...(state.options.metricKeys === 'full' ? bulkMetrics('store', store.id, uptime) : {}),
    capacity: store.capacityBytes,
    'capacity.available': store.capacityBytes - used - FOREIGN_BYTES,
    'capacity.used': used,
    sysbytes: 24_846,
    intentcount: 3,
    gcbytesage: -174,
    'raftlog.behind': 0,
    'requests.slow.latch': 0,
    'requests.slow.lease': 0,
    'requests.slow.raft': 0,
    'admission.raft.paused_replicas': 0,
    'storage.l0-sublevels': 2,
    'storage.disk-slow': 0,
    'storage.disk-stalled': 0,
    'storage.write-stalls': 0,
    'queue.replicate.pending': 1,
    'leases.preferences.violating': 0,
    'leases.transfers.success': Math.floor(uptime / 600),
    'range.snapshots.rcvd-bytes': Math.floor(uptime) * 20_000,
    'kv.concurrency.lock_wait_queue_waiters': 0,
    'storeliveness.heartbeat.failures': 0,
    'storeliveness.support_withdraw.successes': node.withdrawnSupport,
    'storeliveness.support_from.stores': peers,
    'storeliveness.support_for.stores': peers,
    [renamedKey(node)]: 0,
    'admission.io.overload': 0.05,
    'range.splits': Math.floor(uptime / 3600),
    'range.merges': Math.floor(uptime / 7200),
    ...histogramOf('storage.wal.fsync.latency', 3e6, uptime * 40),
    ...histogramOf('raft.process.logcommit.latency', 4e6, uptime * 60),
    ...countReplicas(state, store, atMs),
    'queue.replicate.purgatory': countPurgatory(state, store),
    ...node.overrides.stores,
  };
}

/** Releases with cluster metrics have this key under another name. */
function renamedKey(node: ClusterNode): string {
  return traitsOf(node).hasClusterMetrics
    ? 'kv.bulk_low_pri_read.delay.total'
    : 'exportrequest.delay.total';
}

/** A single node has no place for a second replica: each range of the store waits for one. */
function countPurgatory(state: WorldState, store: Store): number {
  if (nodeIdsOf(state).length > 1) return 0;
  return heldByStore(state, store.id).filter(({ range }) => range.wantedReplicas > 1).length;
}

function countReplicas(state: WorldState, store: Store, atMs: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of COUNTED) counts[key] = 0;
  for (const { range, replica } of heldByStore(state, store.id)) {
    countReplica(counts, state, range, replica, atMs);
  }
  return counts;
}

const COUNTED = [
  'ranges',
  'ranges.unavailable',
  'ranges.underreplicated',
  'ranges.overreplicated',
  'ranges.decommissioning',
  'replicas',
  'replicas.leaders',
  'replicas.leaders_not_leaseholders',
  'replicas.leaders_invalid_lease',
  'replicas.leaders_not_fortified',
  'replicas.leaseholders',
  'replicas.quiescent',
  'replicas.asleep',
  'replicas.uninitialized',
  'leases.epoch',
  'leases.expiration',
  'leases.leader',
  'leases.error',
  'livebytes',
  'totalbytes',
  'keycount',
  'raftlog.size.max',
  'raftlog.size.total',
  'kv.replica_circuit_breaker.num_tripped_replicas',
  'rebalancing.queriespersecond',
  'rebalancing.writespersecond',
];

function countReplica(
  counts: Record<string, number>,
  state: WorldState,
  range: Range,
  replica: Replica,
  atMs: number,
): void {
  const add = (key: string, amount: number): void => {
    counts[key] = (counts[key] ?? 0) + amount;
  };
  const lease = range.leases.at(-1);
  const load = loadOf(state, range, replica, atMs);
  const problems = problemsOf(state, range, replica);
  add('replicas', 1);
  add('replicas.quiescent', replica.quiescent ? 1 : 0);
  add('livebytes', BYTES_PER_REPLICA);
  add('totalbytes', BYTES_PER_REPLICA * 1.1);
  add('keycount', 50_000);
  add('raftlog.size.total', 3000);
  counts['raftlog.size.max'] = 50_380;
  add('rebalancing.queriespersecond', load.queries);
  add('rebalancing.writespersecond', load.writes);
  for (const problem of ['unavailable', 'underreplicated', 'overreplicated'] as const) {
    add(`ranges.${problem}`, problems.has(problem) ? 1 : 0);
  }
  add(
    'kv.replica_circuit_breaker.num_tripped_replicas',
    problems.has('circuit_breaker_error') ? 1 : 0,
  );
  if (lease?.storeId !== replica.storeId || problems.has('no_lease')) return;
  add('ranges', 1);
  const isLeaving = range.replicas.some(
    ({ nodeId }) => state.nodes.get(nodeId)?.membership === 'decommissioning',
  );
  add('ranges.decommissioning', isLeaving ? 1 : 0);
  // A node counts valid leases only; a listing shows the last known one.
  if (validLeaseOf(state, range) === undefined) return;
  for (const key of ['replicas.leaseholders', 'replicas.leaders', `leases.${lease.kind}`])
    add(key, 1);
}
