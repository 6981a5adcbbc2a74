import type { ListedRange, RangesResult } from '../../collectors/ranges.ts';
import type { FailureDomains } from '../../collectors/ranges/failure-domains.ts';
import { labelsOfPlace, QUERIES } from '../../collectors/ranges/range.ts';
import type { TablesResult } from '../../collectors/tables.ts';
import type { ScanCheck } from '../../findings/scan-history.ts';
import { formatCount, formatList } from '../../format.ts';
import { LISTED_PROBLEMS } from '../../vocabulary.ts';
import { type HealthIssue, NORMAL_SECONDS, toTime } from './health.ts';
import { isDown, type NodesStatus } from './nodes.ts';
import { readScanCheck, scanCheckIssues } from './scan-check.ts';

export type RangesStatus = ReturnType<typeof readRanges>;

export function readRanges(
  { scanned, failed, skipped, summary }: RangesResult,
  tables: TablesResult | undefined,
  nodes: NodesStatus | undefined,
  scanCheck?: ScanCheck,
) {
  const stores = summary === undefined ? [] : scanned.flatMap((node) => [...node.stores.values()]);
  const found = [...(summary?.byProblem ?? []), summary?.lost];
  const counts = LISTED_PROBLEMS.map((problem, at) => [problem, found[at] ?? 0] as const);
  const problems: Readonly<Record<string, number>> = Object.fromEntries(
    counts.filter(([, count]) => count > 0),
  );
  const listed = LISTED_PROBLEMS.flatMap((problem, at) =>
    (summary?.problems[at] ?? []).map((range) => ({
      problem: problem as string,
      ...describeRange(range, tables),
      firstSeenAt: toTime(range.firstSeenSeconds * 1000) ?? '',
    })),
  );
  const downSinceScan = (nodes?.list ?? [])
    .filter(isDown)
    .filter(({ id }) => scanned.some(({ nodeId }) => nodeId === id))
    .map(({ id }) => id);
  return {
    /** Absent unless this exporter read every node that is up. */
    ranges: summary?.domains && summary.ranges,
    replicas: sumOf(stores.map(({ replicas }) => replicas)),
    queriesPerSecond: sumOf(stores.map(({ load }) => load[QUERIES] ?? 0)),
    /** Nodes of the last scan by outcome. */
    nodes: { scanned: scanned.length, failed: failed.length, skipped },
    /** Nodes that could not be read. */
    failedNodes: failed.map(({ nodeId }) => nodeId),
    /** Nodes that went down after the scan had read them: it shows nothing of that yet. */
    downSinceScan,
    /** The scan against the nodes' own counts; absent while no node that was read has a fresh record. */
    scanCheck: scanCheck && readScanCheck(scanCheck),
    /** Ranges by problem, without the problems that no range has. */
    problems,
    tables: summary === undefined ? [] : readTables(summary, tables),
    dependent: downSinceScan.length > 0 ? undefined : readDependent(summary?.domains),
    unknownVoters: summary?.domains?.unknownVoters,
    /** Oldest first; of each problem as many as the collector lists. */
    oldest: listed.toSorted((a, b) => Date.parse(a.firstSeenAt) - Date.parse(b.firstSeenAt)),
    /** The hottest by queries or by CPU first. */
    hottest: (summary?.hot ?? [])
      .filter(({ queries, cpuSeconds = 0 }) => queries > 0 || cpuSeconds > 0)
      .map((range) => ({
        ...describeRange(range, tables),
        queriesPerSecond: range.queries,
        writesPerSecond: range.writes,
        cpuSecondsPerSecond: range.cpuSeconds,
      })),
  };
}

/** The tables with most load, CPU or ranges, as the collector chose them; without the rest and what is outside of tables. */
function readTables(
  { tables: { loads }, hasTableCpu }: NonNullable<RangesResult['summary']>,
  tables: TablesResult | undefined,
) {
  // Of thousands of tables a few are shown.
  const shown = tables?.discovery?.all.filter(({ tableId }) => loads.has(tableId));
  const sizes = new Map(shown?.map(({ tableId, sizeBytes }) => [tableId, sizeBytes]));
  return [...loads]
    .filter(([id]) => id !== 'other' && id !== 'none')
    .map(([id, { ranges, queries, writes, cpuNanos }]) => ({
      id,
      /** Absent where the tables collector does not know it. */
      name: tables?.names.get(id),
      ranges,
      queriesPerSecond: queries,
      writesPerSecond: writes,
      /** Of all replicas; absent unless every node sends it. */
      cpuSecondsPerSecond: hasTableCpu ? cpuNanos / 1e9 : undefined,
      /** On disk over all replicas; absent where the server lists no tables. */
      sizeBytes: sizes.get(id),
    }));
}

/** What depends on a node or on a locality: what would happen to ranges if it stopped now. */
export interface DependentRanges {
  /** `node 3` or `region=us-east1,zone=b`. */
  readonly name: string;
  /** Ranges that have a quorum and would lose it. */
  readonly quorum: number;
  /** Ranges that would lose their last live replica. */
  readonly lastReplica: number;
  /** Ranges that have no quorum now and a live replica on the node; absent for a locality. */
  readonly withoutQuorum?: number | undefined;
}

/** Nodes and localities on which ranges depend; undefined unless this exporter read every node that is up. */
function readDependent(
  domains: FailureDomains | undefined,
): readonly DependentRanges[] | undefined {
  if (domains === undefined) return undefined;
  const nodes = Array.from(domains.nodes, ([nodeId, domain]) => ({
    name: `node ${nodeId}`,
    quorum: domain.quorum,
    lastReplica: domain.allReplicas,
    withoutQuorum: domain.withoutQuorum,
  }));
  const localities = domains.localities.map(({ locality, quorum, allReplicas }) => ({
    name: locality,
    quorum,
    lastReplica: allReplicas,
  }));
  return [...nodes, ...localities].filter(
    ({ quorum, lastReplica, withoutQuorum = 0 }: DependentRanges) =>
      quorum + lastReplica + withoutQuorum > 0,
  );
}

function sumOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function describeRange(
  { rangeId, nodeId, storeId, place }: ListedRange,
  tables: TablesResult | undefined,
) {
  const { table_id: id, index_id: index } = labelsOfPlace(place);
  return {
    rangeId,
    /** Of a problem: the node that reports it, which need not be the cause. */
    nodeId,
    storeId,
    /** `movr.public.rides` where the tables collector knows the name, else the id; empty outside of tables. */
    table: tables?.names.get(id) ?? id,
    /** Index id; empty outside of tables. */
    index,
  };
}

/** Ranges that are named in a finding; the table of the page has more. */
const MAX_NAMED = 3;

/** Short ones are part of splits, lease transfers and rebalancing. */
const PERSISTENT = { alert: 'CrdbRangeProblemPersistent' } as const;
const NORMAL = { ...PERSISTENT, normalSeconds: NORMAL_SECONDS.CrdbRangeProblemPersistent } as const;

/** Issues by the members of `problems` that the cluster API sends; `what` follows `12 ranges`. */
export const PROBLEM_ISSUES: Readonly<
  Record<string, Partial<HealthIssue> & { readonly what: string; readonly next: string }>
> = {
  no_live_replica: {
    alert: 'CrdbRangesLost',
    what: 'without a live replica: all nodes that held them are down',
    next: 'Bring back one of the nodes that held them; `crdb-exporter range ID` shows what is known.',
  },
  unavailable: {
    alert: 'CrdbRangesUnavailable',
    what: 'without a quorum of replicas: requests wait',
    next: 'Bring back the nodes that hold their replicas.',
  },
  no_lease: {
    alert: 'CrdbRangesWithoutLease',
    what: 'without a valid lease: requests wait',
    next: 'If this lasts for more than seconds, check the log of the reporting node.',
  },
  no_raft_leader: {
    alert: 'CrdbRangesWithoutLease',
    what: 'with a replica that knows no Raft leader',
    next: 'If this lasts for more than seconds, check the network between the nodes.',
  },
  circuit_breaker_error: {
    alert: 'CrdbRangesWithoutLease',
    what: 'with a tripped circuit breaker: requests fail immediately',
    next: 'Check the nodes that hold their replicas for lost quorum and stalled disks.',
  },
  underreplicated: {
    alert: 'CrdbRangesUnderreplicated',
    what: 'with fewer live replicas than configured',
    next: 'Bring the nodes back; the cluster then adds replicas automatically.',
  },
  raft_log_too_large: {
    ...PERSISTENT,
    what: 'with a Raft log that has grown too large',
    next: 'A follower cannot keep up: check its disk and its network.',
  },
  paused_followers: {
    ...PERSISTENT,
    what: 'whose leader has paused overloaded followers',
    next: 'Check the load and the disks of the followers.',
  },
  range_too_large: {
    ...PERSISTENT,
    what: 'more than twice as large as allowed',
    next: 'They cannot be split: look for a row with very many versions.',
  },
  other: {
    ...PERSISTENT,
    what: 'with a problem that this exporter does not know',
    next: '`crdb-exporter ranges --problems` shows it.',
  },
  overreplicated: {
    ...NORMAL,
    what: 'with more replicas than configured',
    next: 'The cluster removes the surplus automatically.',
  },
  leader_not_lease_holder: {
    ...NORMAL,
    what: 'whose Raft leader does not hold the lease',
    next: 'Harmless for a short time.',
  },
  quiescent_equals_ticking: {
    ...NORMAL,
    what: 'whose states quiescent and ticking contradict each other',
    next: 'Harmless unless it lasts.',
  },
};

export function rangeIssues(status: RangesStatus, isApiDown: boolean): readonly HealthIssue[] {
  const { problems, oldest, nodes, failedNodes } = status;
  const issues: HealthIssue[] = [];
  const about = 'ranges';
  for (const [problem, { what, ...issue }] of Object.entries(PROBLEM_ISSUES)) {
    const count = problems[problem] ?? 0;
    if (count === 0) continue;
    const listed = oldest.filter((range) => range.problem === problem);
    const named = listed.slice(0, MAX_NAMED).map(formatPlace);
    const more = count - named.length;
    const places = formatList(more > 0 ? [...named, `${formatCount(more)} more`] : named);
    const text = `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'} ${what}. ${places}.`;
    const since = listed[0]?.firstSeenAt;
    issues.push({ ...issue, key: `ranges ${problem}`, about, text, since });
  }
  // An API that fails explains them.
  if (nodes.failed > 0 && !isApiDown) {
    const verb = failedNodes.length === 1 ? 'node' : 'nodes';
    const text = `The ranges of ${nodes.failed} of ${nodes.failed + nodes.scanned} nodes were not read (${verb} ${formatList(failedNodes)}): the counts are lower bounds.`;
    const next = 'Check whether these nodes hang; `crdb-exporter ranges NODE` reads one.';
    const alert = 'CrdbRangeScanIncomplete';
    issues.push({ key: 'unread nodes', about: 'exporter', alert, text, next });
  }
  return status.scanCheck === undefined
    ? issues
    : [...issues, ...scanCheckIssues(status.scanCheck)];
}

/** `r7 of movr.public.users on node 1`. */
function formatPlace({ rangeId, table, nodeId }: RangesStatus['oldest'][number]): string {
  const of = table === '' ? '' : ` of ${formatTable(table)}`;
  return `r${rangeId}${of} on node ${nodeId}`;
}

/** The name of a table, or `table 112` where only its id is known. */
export function formatTable(table: string, word = 'table'): string {
  return /^\d+$/.test(table) ? `${word} ${table}` : table;
}
