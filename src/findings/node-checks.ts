import type { Thresholds } from '../alerts/alert-settings.ts';
import type { AlertName } from '../alerts/alerts.ts';
import type { NodeStatus } from '../collectors/nodes/collector.ts';
import type { JobsStatus } from '../collectors/nodes/job-status.ts';
import type { RangesResult } from '../collectors/ranges/scan-result.ts';
import type { SessionsResult } from '../collectors/sessions/collector.ts';
import {
  capitalize,
  formatCount,
  formatDuration,
  formatNodes,
  formatNumber,
  formatPercent,
} from '../format.ts';
import type { NetworkEvidence } from './reachability.ts';
import type { Problem } from './status.ts';

/** The facts that checks read; nothing is found in what is not known. */
export interface Facts {
  readonly thresholds: Thresholds;
  readonly nowMs: number;
  readonly nodes: readonly NodeStatus[];
  /** The nodes with fresh records. */
  readonly fresh: readonly NodeStatus[];
  readonly jobs: JobsStatus;
  /** A backup, an import or a restore is running, which may use all CPUs for hours. */
  readonly isHeavyJobRunning: boolean;
  /** Unix time; 0 without one. */
  readonly lastBackupSeconds: number;
  /** Write stalls per minute by node id. */
  readonly writeStalls: ReadonlyMap<number, number>;
  /** Undefined where the collector does not run. */
  readonly network: NetworkEvidence | undefined;
  readonly ranges: RangesResult | undefined;
  readonly sessions: SessionsResult | undefined;
}

/** A condition of a cluster, which is normal for as long as its alert waits. The key of its problem is the name of the alert, unless that has several conditions. */
export interface Check extends Pick<Problem, 'about' | 'level' | 'worsens' | 'next'> {
  readonly alert: AlertName;
  readonly key?: string;
  /** It is never normal, although its alert waits. */
  readonly isImmediate?: true;
  /** The text of the problem, with its severity where the alert has two; undefined while all is well. */
  readonly find: (facts: Facts) => string | Pick<Problem, 'text' | 'level'> | undefined;
}

/**
 * Finds the nodes, all or those with fresh records, at which a value is over its limit: `Nodes 3 and 4: up to 97 % of all
 * CPUs are used.` A value that is not known (undefined, NaN or -Infinity) is over no limit; `text` is about the worst one.
 * `isCritical` is the condition of the critical rule of the alert, where it has one.
 */
function atNodes(
  which: 'nodes' | 'fresh',
  read: (node: NodeStatus, facts: Facts) => number | undefined,
  isOver: (value: number, thresholds: Thresholds) => boolean,
  text: (worst: number) => string,
  isCritical?: typeof isOver,
): Check['find'] {
  return (facts) => {
    const over = facts[which].flatMap((node) => {
      const value = read(node, facts);
      return value !== undefined && isOver(value, facts.thresholds) ? [{ id: node.id, value }] : [];
    });
    if (over.length === 0) return undefined;
    const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
    const sentence = `${capitalize(formatNodes(over.map(({ id }) => id)))}: ${text(worst)}.`;
    return isCritical?.(worst, facts.thresholds) ? { text: sentence, level: 'critical' } : sentence;
  };
}

/** How much older the cluster may be than the oldest start of a process that a record names. */
const RESTARTED_SECONDS = 30 * 86_400;

/** None while a changefeed scans whole tables, on whatever node: what the nodes report then is no lag. */
const findChangefeedLag: Check['find'] = (facts) => {
  const { fresh, nodes, nowMs } = facts;
  if (fresh.some(({ metrics }) => (metrics.get('changefeed.backfill_count') ?? 0) > 0))
    return undefined;
  const starts = nodes.flatMap(({ startedSeconds: start }) => (start ? [start] : []));
  const firstStart = starts.reduce((first, start) => Math.min(first, start), Infinity);
  // A lag of 4 years in a cluster that is a day old is none.
  const longest = starts.length === 0 ? Infinity : nowMs / 1000 - firstStart + RESTARTED_SECONDS;
  return atNodes(
    'fresh',
    ({ metrics }) => {
      const seconds = (metrics.get('changefeed.max_behind_nanos') ?? NaN) / 1e9;
      return seconds > longest ? undefined : seconds;
    },
    (seconds, { changefeed_lag }) => seconds > changefeed_lag,
    (seconds) => `a changefeed is ${formatDuration(seconds)} behind`,
    (seconds, { changefeed_lag_critical }) => seconds > changefeed_lag_critical,
  )(facts);
};

/** The checks of what a node reports. */
export const NODE_CHECKS: readonly Check[] = [
  {
    about: 'nodes',
    alert: 'CrdbClockOffsetHigh',
    find: atNodes(
      'fresh',
      ({ metrics }) => Math.abs(metrics.get('clock-offset.meannanos') ?? NaN) / 1e9,
      (offset, { clock_offset }) => offset > clock_offset,
      (offset) => `the clock is up to ${Math.round(offset * 1000)} ms off those of the others`,
    ),
    next: 'Check the time service: a node stops itself at 80 percent of --max-offset (400 ms by default).',
  },
  {
    about: 'nodes',
    alert: 'CrdbNodeMemoryHigh',
    find: atNodes(
      'fresh',
      ({ metrics, memoryBytes }) => ratio(metrics.get('sys.rss'), memoryBytes),
      (share, { memory }) => share > memory,
      (share) => `the process uses ${formatPercent(share)} of the memory`,
      (share, { memory_critical }) => share > memory_critical,
    ),
    next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
  },
  {
    about: 'nodes',
    alert: 'CrdbFileDescriptorsHigh',
    find: atNodes(
      'fresh',
      ({ metrics }) => ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
      (share, { file_descriptors }) => share > file_descriptors,
      (share) => `${formatPercent(share)} of the file descriptors are open`,
    ),
    next: 'Raise the limit (nofile) or look for a connection leak.',
  },
  {
    about: 'nodes',
    alert: 'CrdbRequestsStuck',
    find: atNodes(
      'fresh',
      countSlowRequests,
      (count) => count > 0,
      (count) => `up to ${formatCount(count)} requests are stuck`,
    ),
    next: 'Look for ranges without a quorum or lease, stalled disks and long transactions.',
  },
  {
    about: 'nodes',
    alert: 'CrdbStoreOverloaded',
    find: atNodes(
      'fresh',
      (node) => largestOfStores(node, 'storage.l0-sublevels'),
      (sublevels, { l0_sublevels }) => sublevels >= l0_sublevels,
      (sublevels) => `a store has ${formatCount(sublevels)} L0 sublevels and throttles writes`,
    ),
    next: 'Check disk throughput and bulk writes.',
  },
  {
    about: 'nodes',
    alert: 'CrdbStoreOverloaded',
    key: 'io overload',
    find: atNodes(
      'fresh',
      (node) => largestOfStores(node, 'admission.io.overload'),
      (overload) => overload >= 1,
      (overload) => `a store has an I/O overload of ${formatNumber(overload)} and throttles writes`,
    ),
    next: 'Check disk throughput and bulk writes.',
  },
  {
    about: 'nodes',
    alert: 'CrdbPurgatory',
    find: atNodes(
      'fresh',
      // One or two nodes cannot hold three replicas.
      (node, { nodes }) =>
        nodes.length < 3 ? undefined : largestOfStores(node, 'queue.replicate.purgatory'),
      (count) => count > 0,
      () => 'replicas of ranges have no store that satisfies their constraints',
    ),
    next: 'Look for nodes that are down or full, and for contradicting zone constraints.',
  },
  {
    about: 'nodes',
    alert: 'CrdbChangefeedLagging',
    find: findChangefeedLag,
    next: 'Check the sink and the load.',
  },
  {
    about: 'nodes',
    alert: 'CrdbStoreOverloaded',
    key: 'write stalls',
    find: atNodes(
      'fresh',
      ({ id }, { writeStalls }) => writeStalls.get(id),
      (count, { write_stalls }) => count > write_stalls,
      (count) => `a store stops all its writes ${formatNumber(count)} times a minute`,
    ),
    next: 'Check disk throughput and bulk writes.',
  },
  {
    about: 'nodes',
    alert: 'CrdbNodeCpuHigh',
    find: atNodes(
      'fresh',
      ({ metrics }, { isHeavyJobRunning }) =>
        isHeavyJobRunning ? undefined : metrics.get('sys.cpu.combined.percent-normalized'),
      (share, { cpu }) => share > cpu,
      (share) => `up to ${formatPercent(share)} of all CPUs are used`,
    ),
    next: 'Compare the hottest ranges and the running statements.',
  },
];

/** The checks of the sessions of a node, against its CPUs and its memory. */
export const SESSION_CHECKS: readonly Check[] = [
  {
    about: 'nodes',
    alert: 'CrdbStatementConcurrencyHigh',
    find: atNodes(
      'nodes',
      ({ id, cpus }, { sessions, thresholds }) => {
        const executing = sessions?.nodes.get(id)?.executing ?? 0;
        return executing > thresholds.statements ? ratio(executing, cpus) : undefined;
      },
      (share, { statements_per_cpu }) => share > statements_per_cpu,
      (share) => `up to ${formatNumber(share)} statements per CPU are executing`,
    ),
    next: 'Limit the connection pools: more concurrency only adds latency.',
  },
  {
    about: 'nodes',
    alert: 'CrdbSessionMemoryHigh',
    find: atNodes(
      'nodes',
      ({ id, memoryBytes }, { sessions }) =>
        ratio(sessions?.nodes.get(id)?.allocBytes, memoryBytes),
      (share, { session_memory }) => share > session_memory,
      (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    ),
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  },
];

/** Whether a job is running that may use all CPUs for hours. */
export function findHeavyJob(fresh: Facts['fresh']): boolean {
  const keys = ['backup', 'import', 'restore'].map((job) => `jobs.${job}.currently_running`);
  return fresh.some(({ metrics }) => keys.some((key) => (metrics.get(key) ?? 0) > 0));
}

function countSlowRequests({ metrics, stores }: NodeStatus): number {
  const kinds = ['latch', 'lease', 'raft'].map((kind) => `requests.slow.${kind}`);
  const counts = [...stores.values()].flatMap((store) => kinds.map((key) => store.get(key) ?? 0));
  return counts.reduce((all, count) => all + count, metrics.get('requests.slow.distsender') ?? 0);
}

/** The largest value of all stores; -Infinity where none sends it. */
function largestOfStores({ stores }: NodeStatus, key: string): number {
  return Math.max(...[...stores.values()].flatMap((store) => store.get(key) ?? []));
}

/** The share of the whole; undefined where one of both is not known, or the whole is 0. */
function ratio(value: number | undefined, whole: number | undefined): number | undefined {
  return value === undefined || whole === undefined || !(whole > 0) ? undefined : value / whole;
}
