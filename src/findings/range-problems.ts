import type { RangesResult } from '../collectors/ranges/collector.ts';
import type { Thresholds } from '../config/alert-settings.ts';
import { formatCount, formatList, formatPercent } from '../format.ts';
import { NORMAL_SECONDS, type Problem } from './problem.ts';
import {
  formatTable,
  type ProblemRangeStatus,
  type RangesStatus,
  systemRangeName,
} from './ranges.ts';
import { formatRanges } from './safe-to-stop.ts';
import { scanProblems } from './scan-check.ts';

/** Ranges that are named in a finding; the table of the page has more. */
const MAX_NAMED = 3;

/** Short ones are part of splits, lease transfers and rebalancing. */
const PERSISTENT = { alert: 'CrdbRangeProblemPersistent' } as const;
const NORMAL = { ...PERSISTENT, normalSeconds: NORMAL_SECONDS.CrdbRangeProblemPersistent } as const;

/** Issues by the members of `problems` that the cluster API sends; `what` follows `12 ranges`. */
export const PROBLEM_ISSUES: Readonly<
  Record<string, Partial<Problem> & { readonly what: string; readonly next: string }>
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

export function rangeProblems(
  status: RangesStatus,
  isApiDown: boolean,
  nodeCount = Infinity,
): readonly Problem[] {
  const { problems, oldest, nodes, failedNodes } = status;
  const issues: Problem[] = [];
  const about = 'ranges';
  for (const [problem, { what, ...issue }] of Object.entries(PROBLEM_ISSUES)) {
    const count = problems[problem] ?? 0;
    if (count === 0) continue;
    const listed = oldest.filter((range) => range.problem === problem);
    const shown = listed.slice(0, MAX_NAMED);
    const named = shown.map(formatPlace);
    const rangeIds = shown.map(({ rangeId }) => rangeId);
    const more = count - named.length;
    const places = formatList(more > 0 ? [...named, `${formatCount(more)} more`] : named);
    const text = `${formatCount(count)} ${count === 1 ? 'range' : 'ranges'} ${what}. ${places}.`;
    const since = listed[0]?.firstSeenAt;
    // One or two nodes cannot hold three replicas: that has no alert.
    const isSmall = problem === 'underreplicated' && nodeCount < 3;
    const level = isSmall ? 'info' : issue.level;
    issues.push({ ...issue, key: `ranges ${problem}`, about, level, text, since, rangeIds });
  }
  // An API that fails explains them.
  if (nodes.failed > 0 && !isApiDown) {
    const verb = failedNodes.length === 1 ? 'node' : 'nodes';
    const text = `The ranges of ${nodes.failed} of ${nodes.failed + nodes.scanned} nodes were not read (${verb} ${formatList(failedNodes)}): the counts are lower bounds.`;
    const next = 'Check whether these nodes hang; `crdb-exporter ranges NODE` reads one.';
    const alert = 'CrdbRangeScanIncomplete';
    issues.push({ key: 'unread nodes', about: 'exporter', alert, text, next });
  }
  return status.scanCheck === undefined ? issues : [...issues, ...scanProblems(status.scanCheck)];
}

/** `r7 of movr.public.users on node 1`. */
function formatPlace(range: ProblemRangeStatus): string {
  const { rangeId, table, nodeId } = range;
  const name = systemRangeName(range);
  if (name !== undefined) return `r${rangeId} (${name}) on node ${nodeId}`;
  const of = table === '' ? '' : ` of ${formatTable(table)}`;
  return `r${rangeId}${of} on node ${nodeId}`;
}

/** So many under-replicated ranges that the next failure makes many unavailable: more than a tenth of those with a lease. */
export function widespreadProblems(
  { scanned, summary }: RangesResult,
  nodeCount: number,
  thresholds: Thresholds,
): readonly Problem[] {
  const stores = scanned.flatMap((node) => [...node.stores.values()]);
  const leases = stores.reduce((sum, store) => sum + store.leases, 0);
  const count = summary?.problems.get('underreplicated')?.ranges ?? 0;
  if (nodeCount < 3 || count <= thresholds.underreplicated * leases) return [];
  const share = formatPercent(leases > 0 ? Math.min(1, count / leases) : 1);
  return [
    {
      key: 'many underreplicated',
      about: 'ranges',
      alert: 'CrdbRangesUnderreplicated',
      level: 'critical',
      normalSeconds: 7200,
      text: `${formatRanges(count)}, ${share} of all, ${count === 1 ? 'has' : 'have'} too few live replicas.`,
      next: 'While this lasts the next failure may make many unavailable: look for nodes that are down and for full stores.',
    },
  ];
}

/** Localities whose loss some ranges would not survive, although most would: of the tier with most localities. */
export function quorumProblems(
  { summary }: RangesResult,
  thresholds: Thresholds,
): readonly Problem[] {
  if (summary?.domains === undefined) return [];
  const tiers = [...Map.groupBy(summary.domains.localities, ({ tier }) => tier).values()];
  const [widest = []] = tiers.toSorted((a, b) => b.length - a.length);
  const most = thresholds.quorum_risk * summary.ranges;
  const risky = widest.filter(({ quorum }) => quorum > 0 && quorum < most);
  if (widest.length < 3 || risky.length === 0) return [];
  const names = formatList(risky.slice(0, MAX_NAMED).map(({ locality }) => locality));
  const more = risky.length > MAX_NAMED ? ` and ${risky.length - MAX_NAMED} more` : '';
  return [
    {
      key: 'quorum at risk',
      about: 'ranges',
      alert: 'CrdbQuorumAtRisk',
      normalSeconds: 1800,
      text: `Some ranges would lose their quorum with ${names}${more}.`,
      next: 'Look for replicas that are still missing, for full nodes elsewhere and for zone configurations that cannot be satisfied.',
    },
  ];
}
