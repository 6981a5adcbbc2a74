import type { ListedRange, RangesResult } from '../../collectors/ranges.ts';
import type { TablesResult } from '../../collectors/tables.ts';
import { formatTableName } from '../../collectors/tables/table.ts';
import { formatCount } from '../../format.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import { type HealthIssue, toTime } from './health.ts';

export type RangesStatus = ReturnType<typeof readRanges>;

export function readRanges(
  { scanned, failed, skipped, summary }: RangesResult,
  tables: TablesResult | undefined,
) {
  const stores = summary === undefined ? [] : scanned.flatMap((node) => [...node.stores.values()]);
  const placeOf = locate(tables);
  const counts = PROBLEMS.map((problem, at) => [problem, summary?.byProblem[at] ?? 0] as const);
  const problems: Readonly<Record<string, number>> = Object.fromEntries(
    counts.filter(([, count]) => count > 0),
  );
  const listed = PROBLEMS.flatMap((problem, at) =>
    (summary?.problems[at] ?? []).map((range) => ({
      problem: problem as string,
      ...placeOf(range),
      firstSeenAt: toTime(range.firstSeenSeconds * 1000) ?? '',
    })),
  );
  return {
    /** Absent unless this exporter read every node that is up. */
    ranges: summary?.isWholeCluster ? summary.ranges : undefined,
    replicas: sumOf(stores.map(({ replicas }) => replicas)),
    queriesPerSecond: sumOf(stores.map(({ queries }) => queries)),
    /** Nodes of the last scan by outcome. */
    nodes: { scanned: scanned.length, failed: failed.length, skipped },
    /** Ranges by problem, without the problems that no range has. */
    problems,
    /** Oldest first; of each problem as many as the collector lists. */
    oldest: listed.toSorted((a, b) => Date.parse(a.firstSeenAt) - Date.parse(b.firstSeenAt)),
    /** Most queries first. */
    hottest: (summary?.hot ?? [])
      .filter(({ queries }) => queries > 0)
      .map((range) => ({
        ...placeOf(range),
        queriesPerSecond: range.queries,
        writesPerSecond: range.writes,
        cpuSecondsPerSecond: range.cpuSeconds,
      })),
  };
}

function sumOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function locate(tables: TablesResult | undefined) {
  const names = new Map(tables?.tables.map((table) => [table.tableId, formatTableName(table)]));
  return ({ rangeId, nodeId, storeId, tableId }: ListedRange) => ({
    rangeId,
    /** Of a problem: the node that reports it, which need not be the cause. */
    nodeId,
    storeId,
    /** `movr.public.rides` where the tables collector knows the name, else the id; empty outside of tables. */
    table: (tableId === '' ? undefined : names.get(tableId)) ?? tableId,
  });
}

/** Issues by the members of `problems` that the cluster API sends; `what` follows `12 ranges`. */
export const PROBLEM_ISSUES: Readonly<
  Record<string, Pick<HealthIssue, 'level' | 'next'> & { readonly what: string }>
> = {
  unavailable: {
    level: 'trouble',
    what: 'without a quorum of replicas: requests wait',
    next: 'Bring back the nodes that hold their replicas.',
  },
  no_lease: {
    level: 'trouble',
    what: 'without a valid lease: requests wait',
    next: 'If this lasts for more than seconds, check the log of the reporting node.',
  },
  circuit_breaker_error: {
    level: 'trouble',
    what: 'with a tripped circuit breaker: requests fail immediately',
    next: 'Check the nodes that hold their replicas for lost quorum and stalled disks.',
  },
  no_raft_leader: {
    level: 'trouble',
    what: 'with a replica that knows no Raft leader',
    next: 'If this lasts for more than seconds, check the network between the nodes.',
  },
  underreplicated: {
    level: 'warning',
    what: 'with fewer live replicas than configured',
    next: 'Bring the nodes back; the cluster then adds replicas automatically.',
  },
  raft_log_too_large: {
    level: 'warning',
    what: 'with a Raft log that has grown too large',
    next: 'A follower cannot keep up: check its disk and its network.',
  },
  paused_followers: {
    level: 'warning',
    what: 'whose leader has paused overloaded followers',
    next: 'Check the load and the disks of the followers.',
  },
  range_too_large: {
    level: 'warning',
    what: 'more than twice as large as allowed',
    next: 'They cannot be split: look for a row with very many versions.',
  },
  other: {
    level: 'warning',
    what: 'with a problem that this exporter does not know',
    next: '`crdb-exporter ranges --problems` shows it.',
  },
  overreplicated: {
    level: 'notice',
    what: 'with more replicas than configured',
    next: 'The cluster removes the surplus automatically.',
  },
  leader_not_lease_holder: {
    level: 'notice',
    what: 'whose Raft leader does not hold the lease',
    next: 'Harmless for a short time.',
  },
  quiescent_equals_ticking: {
    level: 'notice',
    what: 'whose states quiescent and ticking contradict each other',
    next: 'Harmless unless it lasts.',
  },
};

export function rangeIssues({ problems, oldest, nodes }: RangesStatus): readonly HealthIssue[] {
  const issues: HealthIssue[] = [];
  for (const [problem, { level, what, next }] of Object.entries(PROBLEM_ISSUES)) {
    const count = problems[problem] ?? 0;
    if (count === 0) continue;
    const text = `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'} ${what}.`;
    const since = oldest.find((range) => range.problem === problem)?.firstSeenAt;
    issues.push({ key: `ranges ${problem}`, level, text, next, since });
  }
  const { failed, scanned } = nodes;
  if (failed > 0) {
    const text = `The ranges of ${failed} of ${failed + scanned} nodes were not read: the counts are lower bounds.`;
    const next = '`crdb_range_scan_node_success` shows which nodes.';
    issues.push({ key: 'unread nodes', level: 'warning', text, next });
  }
  return issues;
}
