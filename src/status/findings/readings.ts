import { formatCount, formatList, formatPercent, ratio, sum } from '#base';
import type { ListedNode } from '#collectors';
import type { Evidence } from './evidence.ts';
import { type Figure, ofNodes } from './find-figures.ts';
import { freeShare, secondsOf } from './node-metrics.ts';
import { MAX_NAMED } from './problem.ts';
import { countSessions } from './session-problems.ts';

// Values of figures.ts that follow from more than one metric.

/** How much older the cluster may be than the oldest start of a process that a record names. */
const RESTARTED_SECONDS = 30 * 86_400;

/** How far changefeeds are behind; none while one scans whole tables, on whatever node: what the nodes report then is no lag. */
export const changefeedLags: Figure['read'] = (evidence) => {
  const { fresh, nodes, clusterMs } = evidence;
  if (fresh.some(({ metrics }) => (metrics.get('changefeed.backfill_count') ?? 0) > 0)) return [];
  const starts = nodes.flatMap(({ startedSeconds: start }) => (start ? [start] : []));
  const firstStart = starts.reduce((first, start) => Math.min(first, start), Infinity);
  // A lag of 4 years in a cluster that is a day old is none.
  const longest =
    starts.length === 0 ? Infinity : clusterMs / 1000 - firstStart + RESTARTED_SECONDS;
  return ofNodes('fresh', ({ metrics }) => {
    const behind = secondsOf(metrics, 'changefeed.max_behind_nanos') ?? NaN;
    return behind > longest ? undefined : behind;
  })(evidence);
};

/** Whether the free bytes of a store count: its free share is small, but not so small that it is critical anyway. */
export function isScarce(store: ReadonlyMap<string, number>, { thresholds }: Evidence): boolean {
  const { disk_critical: critical, disk_floor: floor } = thresholds;
  const free = freeShare(store) ?? 1;
  const bytes = store.get('capacity.available') ?? Infinity;
  return bytes < floor && free >= critical && free < 3 * critical;
}

/** Free share of the others once they hold the data of the largest node; three nodes cannot take over those of a fourth. */
export function shareWithoutLargest({ fresh }: Evidence): number | undefined {
  const sizes = fresh.map(sizeOf).filter(({ capacity }) => capacity > 0);
  if (sizes.length <= 3) return undefined;
  const largest = Math.max(...sizes.map(({ capacity }) => capacity));
  const available = sum(sizes.map((size) => size.available));
  return (available - largest) / (sum(sizes.map((size) => size.capacity)) - largest);
}

function sizeOf({ stores }: ListedNode) {
  const list = [...stores.values()];
  const total = (key: string) => sum(list.map((store) => store.get(key) ?? 0));
  return { capacity: total('capacity'), available: total('capacity.available') };
}

/** How old the data is that paused jobs keep: of changefeeds, whose consumers get no changes, or of the others. */
export function ageOfPaused({ jobs: { jobs } }: Evidence, which: 'changefeeds' | 'others'): number {
  const ages = jobs.map(({ type, paused = 0, protectedAgeSeconds = 0 }) => {
    const isAsked = (type === 'changefeed') === (which === 'changefeeds');
    return isAsked && paused > 0 ? protectedAgeSeconds : 0;
  });
  return Math.max(0, ...ages);
}

/** The types of paused jobs that keep too old data: `backup and restore`. */
export function typesOfPaused({ jobs: { jobs }, thresholds }: Evidence): string {
  const paused = jobs.filter(
    ({ type, paused: count = 0, protectedAgeSeconds: age = 0 }) =>
      type !== 'changefeed' && count > 0 && age > thresholds.protected_age,
  );
  return formatList(paused.map(({ type }) => type));
}

/** The CPU of the hottest range, seconds per second; undefined where the servers do not send it. */
export function hottestCpu({ ranges }: Pick<Evidence, 'ranges'>): number | undefined {
  const nanos = (ranges?.scanned ?? []).flatMap(({ isDetailed, maxCpuNanos }) =>
    isDetailed && maxCpuNanos !== undefined ? [maxCpuNanos] : [],
  );
  return nanos.length === 0 ? undefined : Math.max(...nanos) / 1e9;
}

/** The requests that wait for locks. */
function countWaiters({ fresh }: Evidence): number {
  const stores = fresh.flatMap((node) => [...node.stores.values()]);
  return sum(stores.map((store) => store.get('kv.concurrency.lock_wait_queue_waiters') ?? 0));
}

/** The share of sessions that wait for their clients within a transaction; undefined while few requests wait for locks. */
export function shareOfIdle(evidence: Evidence): number | undefined {
  const { sessions, thresholds } = evidence;
  if (sessions === undefined || countWaiters(evidence) <= thresholds.lock_waiters) return undefined;
  const counts = countSessions(sessions);
  return ratio(counts.idleInTransaction, sum(Object.values(counts)));
}

/** The applications with most of such sessions. */
export function describeIdle(share: number, evidence: Evidence): string {
  const most = (evidence.sessions?.applications ?? [])
    .filter(({ idle_in_transaction: count }) => count > 0)
    .toSorted((a, b) => b.idle_in_transaction - a.idle_in_transaction)
    .slice(0, MAX_NAMED)
    .map((one) => `${one.application} (${one.user}) ${formatCount(one.idle_in_transaction)}`);
  const names = most.length === 0 ? '' : `. Most: ${formatList(most)}`;
  return `${formatPercent(share)} of the sessions are idle in a transaction, and ${formatCount(countWaiters(evidence))} requests wait for locks${names}`;
}
