import type { NodesResult, NodeStatus } from '../collectors/nodes/collector.ts';
import type { SessionsResult } from '../collectors/sessions/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import {
  capitalize,
  formatCount,
  formatDuration,
  formatNodes,
  formatNumber,
  formatPercent,
} from '../format.ts';
import type { AlertName } from '../vocabulary.ts';
import type { Problem } from './status.ts';

/** The facts that the checks of single nodes read beside the node. */
export interface NodeFacts {
  readonly thresholds: Thresholds;
  /** Write stalls per minute by node id. */
  readonly writeStalls?: ReadonlyMap<number, number>;
  readonly sessions?: SessionsResult | undefined;
  /** Whether a job is running that may use all CPUs for hours. */
  readonly isHeavyJobRunning?: boolean;
}

/** A condition of single nodes. Its problem names the nodes: `Nodes 3 and 4: up to 97 % of all CPUs are used.` */
interface NodeCheck {
  readonly alert: AlertName;
  /** The key of its problem, where an alert has several conditions; else the name of the alert. */
  readonly key?: string;
  /** Until the condition has lasted this long, as the alert demands, the finding is information. */
  readonly normalSeconds: number;
  /** The measured value; undefined, NaN or -Infinity when it is not known, which are over no limit. */
  readonly read: (node: NodeStatus, facts: NodeFacts) => number | undefined;
  readonly isOver: (value: number, thresholds: Thresholds) => boolean;
  /** The sentence about the worst value. */
  readonly text: (worst: number) => string;
  readonly next: string;
}

/** The checks of what a node reports. */
const LOAD_CHECKS: readonly NodeCheck[] = [
  {
    alert: 'CrdbClockOffsetHigh',
    normalSeconds: 300,
    read: ({ metrics }) => Math.abs(metrics.get('clock-offset.meannanos') ?? NaN) / 1e9,
    isOver: (offset, { clock_offset }) => offset > clock_offset,
    text: (offset) => `the clock is up to ${Math.round(offset * 1000)} ms off those of the others`,
    next: 'Check the time service: a node stops itself at 80 percent of --max-offset (400 ms by default).',
  },
  {
    alert: 'CrdbNodeMemoryHigh',
    normalSeconds: 1800,
    read: ({ metrics, memoryBytes }) => ratio(metrics.get('sys.rss'), memoryBytes),
    isOver: (share, { memory }) => share > memory,
    text: (share) => `the process uses ${formatPercent(share)} of the memory`,
    next: 'Compare --cache and --max-sql-memory with the memory of the machine: the kernel may kill the node.',
  },
  {
    alert: 'CrdbFileDescriptorsHigh',
    normalSeconds: 900,
    read: ({ metrics }) => ratio(metrics.get('sys.fd.open'), metrics.get('sys.fd.softlimit')),
    isOver: (share, { file_descriptors }) => share > file_descriptors,
    text: (share) => `${formatPercent(share)} of the file descriptors are open`,
    next: 'Raise the limit (nofile) or look for a connection leak.',
  },
  {
    alert: 'CrdbRequestsStuck',
    normalSeconds: 600,
    read: countSlowRequests,
    isOver: (count) => count > 0,
    text: (count) => `up to ${formatCount(count)} requests are stuck`,
    next: 'Look for ranges without a quorum or lease, stalled disks and long transactions.',
  },
  {
    alert: 'CrdbStoreOverloaded',
    normalSeconds: 600,
    read: (node) => largestOfStores(node, 'storage.l0-sublevels'),
    isOver: (sublevels, { l0_sublevels }) => sublevels >= l0_sublevels,
    text: (sublevels) => `a store has ${formatCount(sublevels)} L0 sublevels and throttles writes`,
    next: 'Check disk throughput and bulk writes.',
  },
  {
    alert: 'CrdbStoreOverloaded',
    key: 'io overload',
    normalSeconds: 600,
    read: (node) => largestOfStores(node, 'admission.io.overload'),
    isOver: (overload) => overload >= 1,
    text: (overload) =>
      `a store has an I/O overload of ${formatNumber(overload)} and throttles writes`,
    next: 'Check disk throughput and bulk writes.',
  },
  {
    alert: 'CrdbPurgatory',
    normalSeconds: 1800,
    read: (node) => largestOfStores(node, 'queue.replicate.purgatory'),
    isOver: (count) => count > 0,
    text: () => 'replicas of ranges have no store that satisfies their constraints',
    next: 'Look for nodes that are down or full, and for contradicting zone constraints.',
  },
  {
    alert: 'CrdbChangefeedLagging',
    normalSeconds: 900,
    read: ({ metrics }) => Math.abs(metrics.get('changefeed.max_behind_nanos') ?? NaN) / 1e9,
    isOver: (seconds, { changefeed_lag }) => seconds > changefeed_lag,
    text: (seconds) => `a changefeed is ${formatDuration(seconds)} behind`,
    next: 'Normal during an initial scan; otherwise check the sink and the load.',
  },
  {
    alert: 'CrdbStoreOverloaded',
    key: 'write stalls',
    normalSeconds: 600,
    read: ({ id }, { writeStalls }) => writeStalls?.get(id),
    isOver: (count, { write_stalls }) => count > write_stalls,
    text: (count) => `a store stops all its writes ${formatNumber(count)} times a minute`,
    next: 'Check disk throughput and bulk writes.',
  },
  {
    alert: 'CrdbNodeCpuHigh',
    normalSeconds: 3600,
    read: ({ metrics }, { isHeavyJobRunning }) =>
      isHeavyJobRunning ? undefined : metrics.get('sys.cpu.combined.percent-normalized'),
    isOver: (share, { cpu }) => share > cpu,
    text: (share) => `up to ${formatPercent(share)} of all CPUs are used`,
    next: 'Compare the hottest ranges and the running statements.',
  },
];

/** The checks of the sessions of a node, against its CPUs and its memory. */
const SESSION_CHECKS: readonly NodeCheck[] = [
  {
    alert: 'CrdbStatementConcurrencyHigh',
    normalSeconds: 900,
    read({ id, cpus }, { sessions, thresholds }) {
      const executing = sessions?.nodes.get(id)?.executing ?? 0;
      return executing > thresholds.statements ? ratio(executing, cpus) : undefined;
    },
    isOver: (share, { statements_per_cpu }) => share > statements_per_cpu,
    text: (share) => `up to ${formatNumber(share)} statements per CPU are executing`,
    next: 'Limit the connection pools: more concurrency only adds latency.',
  },
  {
    alert: 'CrdbSessionMemoryHigh',
    normalSeconds: 600,
    read: ({ id, memoryBytes }, { sessions }) =>
      ratio(sessions?.nodes.get(id)?.allocBytes, memoryBytes),
    isOver: (share, { session_memory }) => share > session_memory,
    text: (share) => `SQL sessions use ${formatPercent(share)} of the memory`,
    next: '`crdb-exporter sessions --sort memory` lists the largest first.',
  },
];

/** Jobs that may use all CPUs for hours. */
const HEAVY_JOBS = ['backup', 'import', 'restore'];

/** Problems of the load of single nodes, by their fresh records and their write stalls per minute. */
export function loadProblems(
  { nodes }: NodesResult,
  facts: Pick<NodeFacts, 'thresholds' | 'writeStalls'>,
): readonly Problem[] {
  const fresh = nodes.filter(({ isFresh }) => isFresh);
  const isHeavyJobRunning = fresh.some(({ metrics }) =>
    HEAVY_JOBS.some((job) => (metrics.get(`jobs.${job}.currently_running`) ?? 0) > 0),
  );
  return checkNodes(LOAD_CHECKS, fresh, { ...facts, isHeavyJobRunning });
}

/** Problems of the sessions of single nodes. */
export function sessionLoadProblems(
  sessions: SessionsResult,
  nodes: NodesResult | undefined,
  thresholds: Thresholds,
): readonly Problem[] {
  return checkNodes(SESSION_CHECKS, nodes?.nodes ?? [], { sessions, thresholds });
}

function checkNodes(
  checks: readonly NodeCheck[],
  nodes: readonly NodeStatus[],
  facts: NodeFacts,
): readonly Problem[] {
  return checks.flatMap(({ alert, key = alert, normalSeconds, read, isOver, text, next }) => {
    const over = nodes.flatMap((node) => {
      const value = read(node, facts);
      return value !== undefined && isOver(value, facts.thresholds) ? [{ id: node.id, value }] : [];
    });
    if (over.length === 0) return [];
    const names = capitalize(formatNodes(over.map(({ id }) => id)));
    const worst = over.reduce((most, { value }) => Math.max(most, value), -Infinity);
    const sentence = `${names}: ${text(worst)}.`;
    return [{ key, about: 'nodes', alert, normalSeconds, text: sentence, next } as const];
  });
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
