import { formatCount, formatList, formatNodes, formatRanges, formatTables, plural } from '#base';
import { REACHABLE } from '#cockroach';
import { describeIgnoring } from '#collectors';
import { isDown } from './node-problems.ts';
import type { NodesStatus } from './node-status.ts';
import { formatFirst, MAX_NAMED } from './problem.ts';
import { describeMissing } from './range-status.ts';
import type { Problem, ProblemRangeStatus, RangesStatus, RangeStatus } from './status.ts';

const PERSISTENT = { alert: 'CrdbRangeProblemPersistent' } as const;

/** Ranges without a quorum. */
export const UNAVAILABLE = {
  alert: 'CrdbRangesUnavailable',
  what: 'without a quorum of replicas: requests wait',
  next: 'Start the nodes that are down: they hold the other replicas. Do not decommission them and do not wipe their disks.',
} as const;

/** Problems of ranges by their names in the cluster API, the worst first; `what` follows `12 ranges`. */
export const PROBLEM_ISSUES: Readonly<
  Record<string, Pick<Problem, 'alert' | 'level' | 'next'> & { readonly what: string }>
> = {
  no_live_replica: {
    alert: 'CrdbRangesLost',
    what: 'without a live replica: all nodes that held them are down',
    next: 'Start the nodes that held them: a range serves again when most of its voters are live. Do not decommission them and do not wipe their disks.',
  },
  unavailable: UNAVAILABLE,
  no_lease: {
    alert: 'CrdbRangesWithoutLease',
    what: 'without a valid lease: requests wait',
    next: 'Normal for seconds. If it lasts, check the log of the reporting node.',
  },
  no_raft_leader: {
    alert: 'CrdbRangesWithoutLease',
    what: 'with a replica that knows no Raft leader',
    next: 'Normal for seconds. If it lasts, check the network between the nodes.',
  },
  circuit_breaker_error: {
    alert: 'CrdbRangesWithoutLease',
    what: 'with a tripped circuit breaker: requests fail immediately',
    next: 'Check the nodes that hold their replicas for lost quorum and stalled disks.',
  },
  underreplicated: {
    alert: 'CrdbRangesUnderreplicated',
    what: 'with fewer live replicas than configured',
    next: 'If nodes are down, start them. From 5 minutes after a node died, the cluster rebuilds its replicas on live nodes with space; add nodes only if it cannot come back and fewer are live than a range has voters (three by default). Else look for full stores, and for zone constraints that cannot be satisfied.',
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
    ...PERSISTENT,
    what: 'with more replicas than configured',
    next: 'The cluster removes the surplus automatically.',
  },
  leader_not_lease_holder: {
    ...PERSISTENT,
    what: 'whose Raft leader does not hold the lease',
    next: 'Harmless for a short time.',
  },
  quiescent_equals_ticking: {
    ...PERSISTENT,
    what: 'whose states quiescent and ticking contradict each other',
    next: 'Harmless unless it lasts.',
  },
};

/** Problems of replicas that may serve nothing; whether the range does is asked before it is said. */
export const STUCK: readonly string[] = ['no_lease', 'no_raft_leader', 'circuit_breaker_error'];

/** Problems of ranges that serve nothing. */
export const OUTAGES: readonly string[] = ['no_live_replica', 'unavailable'];

const NO_NODE_DOWN =
  'No node is down now: the next scan tells more. If it finds the same, look for stores that are missing, stalled disks and nodes that do not reach each other. Wipe no disk.';

/** While some of them are down. */
export const START_NODES =
  'Start the nodes that are down, and decommission none of them: they may hold the only replicas.';

/** The next step of an outage of ranges: nodes can be started only while some are down. */
export function adviseOutage(next: string, isNodeDown: boolean): string {
  return isNodeDown ? next : NO_NODE_DOWN;
}

/** The next step of one of PROBLEM_ISSUES. */
export function adviseProblem(problem: string, next: string, isNodeDown: boolean): string {
  return OUTAGES.includes(problem) ? adviseOutage(next, isNodeDown) : next;
}

const SYSTEM_OUTAGE = 'No statement and no login works without the system ranges among these. ';

/**
 * The problems that replicas report, and those that a scan proves. `list` are the nodes as they are known now, which may be later
 * than the scan; undefined without a list. `areMany`: more ranges are under-replicated than the limit of the critical alert allows.
 * `isListOlder`: the scan is later, and nodes that it skipped beyond those that are down by the list went down between the two.
 */
export function rangeProblems(
  ranges: RangesStatus,
  list?: NodesStatus['list'],
  areMany = false,
  isListOlder = false,
): readonly Problem[] {
  const skipped = isListOlder ? ranges.nodes.skipped : 0;
  const isNodeDown =
    list === undefined ||
    list.some(isDown) ||
    skipped > list.filter(({ status }) => !REACHABLE.has(status)).length;
  return [
    ...gapProblems(ranges, isNodeDown),
    ...reportedProblems(ranges, isNodeDown, list, areMany),
    ...disputedProblems(ranges),
    ...servingProblems(ranges),
    ...leftOverProblems(ranges),
  ];
}

/** What replicas report, and what descriptors show of the same kind. */
function reportedProblems(
  ranges: RangesStatus,
  isNodeDown: boolean,
  list: NodesStatus['list'] | undefined,
  areMany: boolean,
): readonly Problem[] {
  const { oldest, verification } = ranges;
  const problems = countByProblem(ranges);
  const { unavailable = 0 } = problems;
  const hasLost = verification?.keySpace === 'gap' || (problems['no_live_replica'] ?? 0) > 0;
  const withoutQuorum = idsWithoutQuorum(oldest);
  return Object.entries(PROBLEM_ISSUES).flatMap(([problem, { what, ...issue }]) => {
    const count = problems[problem] ?? 0;
    if (count === 0) return [];
    const listed = oldest.filter((range) => range.problem === problem && !range.isDisputed);
    const system = OUTAGES.includes(problem) ? listed.filter(isSystemRange) : [];
    const named = [...new Set([...system, ...listed])].slice(0, MAX_NAMED);
    const places = named.length === 0 ? '' : formatFirst(named.map(describePosition), count);
    // One or two nodes cannot hold three replicas: that has no alert.
    const isSmall = problem === 'underreplicated' && (list?.length ?? Infinity) < 3;
    // No node reports a lost range, so that none counts twice.
    const counted =
      problem === 'unavailable' && hasLost
        ? `${formatCount(count)} other ${plural(count, 'range', 'ranges')}`
        : formatRanges(count);
    const unreported =
      problem === 'unavailable' ? describeUnreported(ranges.withoutQuorum, count) : '';
    // The ranges that serve nothing have a problem of their own: a replica is stuck beside others that serve.
    const isStuck = STUCK.includes(problem) && verification?.servingNothing !== undefined;
    // Without a quorum there is no leader and no lease.
    const isSame = listed.every(({ rangeId }) => withoutQuorum.has(rangeId));
    if (isStuck && count <= unavailable && isSame) return [];
    return [
      {
        ...issue,
        ...(isStuck && PERSISTENT),
        ...(areMany && problem === 'underreplicated' && { level: 'critical' as const }),
        key: `ranges ${problem}`,
        about: 'ranges' as const,
        ...(isSmall && { alert: undefined, level: 'info' as const }),
        text: `${system.length > 0 ? SYSTEM_OUTAGE : ''}${counted} ${what}.${places === '' ? '' : ` ${places}.`}${unreported}`,
        next: adviseProblem(problem, issue.next, isNodeDown),
        since: listed[0]?.firstSeenAt,
        rangeIds: named.map(({ rangeId }) => rangeId),
      },
    ];
  });
}

/**
 * Missing ranges whose ids nobody knows: lost ranges that are known have that alert already. Until three scans have found the
 * same gap, it is information, unless it is known that no range is lost: then it is a split or a merge.
 */
function gapProblems({ verification }: RangesStatus, isNodeDown: boolean): readonly Problem[] {
  const text = verification && describeMissing(verification);
  if (text === undefined) return [];
  const missing = {
    about: 'ranges',
    alert: 'CrdbRangesLost',
    next: adviseOutage(START_NODES, isNodeDown),
  } as const;
  return verification?.keySpace === 'gap'
    ? [{ ...missing, key: 'key space gap', text }]
    : [{ ...missing, key: 'open keys', level: 'info', text }];
}

/**
 * The ranges by problem: those that no node reports as unavailable are without a quorum, too, and those that only nodes without their
 * lease report have a problem of their own.
 */
export function countByProblem({
  problems,
  disputed,
  withoutQuorum,
}: RangesStatus): RangesStatus['problems'] {
  const { unavailable = 0 } = problems;
  const count = unavailable - (disputed?.ranges ?? 0) + withoutQuorum.unreportedRanges;
  return { ...problems, unavailable: count };
}

/** How many of these ranges no node reports. */
function describeUnreported(
  { unreportedRanges: unreported }: RangesStatus['withoutQuorum'],
  count: number,
): string {
  if (unreported === 0) return '';
  const which = unreported < count ? ` ${formatCount(unreported)} of them` : '';
  return ` No node reports${which === '' ? ' it' : which}: by the descriptors no majority of the voters is live.`;
}

/** What only some nodes claim, while the holders of the leases serve: their view of the others is in question, and not the disks. */
function disputedProblems({ disputed, oldest }: RangesStatus): readonly Problem[] {
  if (disputed === undefined) return [];
  const { ranges, nodeIds } = disputed;
  const listed = oldest.filter(({ isDisputed }) => isDisputed);
  const named = listed.slice(0, MAX_NAMED);
  const them = plural(nodeIds.length, 'it', 'them');
  return [
    {
      key: 'ranges disputed',
      about: 'ranges',
      alert: 'CrdbRangesUnavailable',
      text: `Only ${formatNodes(nodeIds)} ${plural(nodeIds.length, 'reports', 'report')} ${formatRanges(ranges)} as without a quorum of replicas: the holders of their leases list them without that, and all of their voters are live. ${formatFirst(named.map(nameRange), ranges)}.`,
      next: `Check ${formatNodes(nodeIds)}: whether ${plural(nodeIds.length, 'it reaches', 'they reach')} all others (\`crdb-exporter network\`), ${plural(nodeIds.length, 'its', 'their')} log and ${plural(nodeIds.length, 'its', 'their')} clock. Stop no other node before that: if ${them} alone is right, these ranges have a quorum only just.`,
      since: listed[0]?.firstSeenAt,
      nodeIds,
      rangeIds: named.map(({ rangeId }) => rangeId),
    },
  ];
}

/** Replicas that merges left behind, by range. */
function leftOverProblems({ verification }: RangesStatus): readonly Problem[] {
  const { leftOver = [] } = verification ?? {};
  if (leftOver.length === 0) return [];
  const shown = leftOver.slice(0, MAX_NAMED);
  const places = shown.map((range) => `${nameRange(range)} on ${formatNodes(range.nodeIds)}`);
  const nodeIds = [...new Set(leftOver.flatMap((range) => range.nodeIds))];
  return [
    {
      key: 'ranges left over',
      about: 'ranges',
      level: 'info',
      text: `${formatRanges(leftOver.length)} ${plural(leftOver.length, 'is', 'are')} left over from merges: ${formatFirst(places, leftOver.length)}. They serve no key, whatever their replicas report: other ranges cover all keys without them.`,
      next: 'Nothing is lost and nothing waits. The node removes such replicas by itself, mostly within minutes; its log says why if they stay.',
      nodeIds: nodeIds.toSorted((a, b) => a - b),
      rangeIds: shown.map(({ rangeId }) => rangeId),
    },
  ];
}

/** A server, or a proxy before it, that drops a part of the requests. */
function ignoringProblems(urls: readonly string[] = []): readonly Problem[] {
  if (urls.length === 0) return [];
  return [
    {
      key: 'ignored ranges',
      about: 'exporter',
      text: `${describeIgnoring(urls)} where some are asked for: what is contradictory in a scan is not read a second time there.`,
      next: 'Look for a proxy that drops the query of requests. The exporter tries again after an hour, and at once after a restart.',
      level: 'info',
    },
  ];
}

/** Ranges that serve nothing although they have a quorum, with the replicas that report it, and descriptors that the server refuses. */
function servingProblems({ verification, oldest }: RangesStatus): readonly Problem[] {
  const { stuck: count = 0, servingNothingAtLeast, descriptors, reason } = verification ?? {};
  const least = servingNothingAtLeast ? 'At least ' : '';
  const withoutQuorum = idsWithoutQuorum(oldest);
  const listed = oldest.filter(
    ({ problem, rangeId }) => STUCK.includes(problem) && !withoutQuorum.has(rangeId),
  );
  const named = [...new Map(listed.map((range) => [range.rangeId, range])).values()];
  const [first] = named;
  const shown = named.slice(0, MAX_NAMED);
  // A replica may report it while the others of its range serve.
  const places =
    named.length > count
      ? `Replicas of more report it: ${formatFirst(shown.map(describePosition), named.length)}`
      : `Reported by ${formatList(shown.map(describePosition))}`;
  const stuck: Problem = {
    key: 'ranges serving nothing',
    about: 'ranges',
    alert: 'CrdbRangesWithoutLease',
    text: `${least}${formatRanges(count)} ${plural(count, 'serves', 'serve')} nothing: requests wait or fail.${first === undefined ? '' : ` ${places}.`}`,
    next: 'Check the nodes that hold their replicas for missed heartbeats and stalled disks, and the network between them.',
    since: first?.firstSeenAt,
    rangeIds: shown.map(({ rangeId }) => rangeId),
  };
  const unread: Problem = {
    key: 'descriptors',
    about: 'exporter',
    text: `Which nodes may stop is not known: ${reason}.`,
    next: 'Only descriptors name the replicas and voters of ranges.',
    level: 'info',
  };
  return [
    ...(count > 0 ? [stuck] : []),
    ...(descriptors === 'refused' ? [unread] : []),
    ...ignoringProblems(verification?.ignoringUrls),
  ];
}

/** The listed ranges that are unavailable. */
function idsWithoutQuorum(oldest: RangesStatus['oldest']): ReadonlySet<number> {
  const unavailable = oldest.filter(
    ({ problem, isDisputed }) => problem === 'unavailable' && !isDisputed,
  );
  return new Set(unavailable.map(({ rangeId }) => rangeId));
}

/** `r7 of movr.public.users on node 1`, a lost one `was on nodes 4, 5 and 6`. */
function describePosition(range: ProblemRangeStatus): string {
  const { nodeId, lastNodes = [] } = range;
  const where = lastNodes.length === 0 ? `on node ${nodeId}` : `was on ${formatNodes(lastNodes)}`;
  return `${nameRange(range)} ${where}`;
}

/** `r7 of movr.public.users` or `r2 (system: node liveness)`. */
export function nameRange(range: Pick<RangeStatus, 'rangeId' | 'table' | 'lastTable'>): string {
  const { rangeId, table } = range;
  const name = systemRangeName(range);
  if (name !== undefined) return `r${rangeId} (${name})`;
  return table === '' ? `r${rangeId}` : `r${rangeId} of ${formatTables(range)}`;
}

/** The first ranges of a cluster, by id: all requests need them. */
const SYSTEM_RANGES: Readonly<Record<number, string>> = {
  1: 'system: meta ranges',
  2: 'system: node liveness',
  3: 'system',
};

/** Ids of system tables are below this one; users' tables begin at 100. */
const FIRST_USER_TABLE = 100;

/** Whether the range is one of the system: without them no statement and no login works. */
export function isSystemRange(range: Pick<RangeStatus, 'rangeId' | 'table'>): boolean {
  const { table } = range;
  const isTable = /^\d+$/.test(table) && Number(table) < FIRST_USER_TABLE;
  return isTable || table.startsWith('system.') || systemRangeName(range) !== undefined;
}

/** `system: node liveness` for range 2; undefined for a range of a table and where it is not certain. */
export function systemRangeName({
  rangeId,
  table,
}: Pick<RangeStatus, 'rangeId' | 'table'>): string | undefined {
  return table === '' ? SYSTEM_RANGES[rangeId] : undefined;
}
