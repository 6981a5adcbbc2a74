import type { ClusterFacts } from './facts.ts';
import type { Finding } from './findings.ts';
import type { RangesStatus } from './ranges.ts';
import { sayNumber } from './words.ts';

interface ProblemRule {
  readonly level: Finding['level'];
  /** Follows `12 ranges`; also explains the problem in the table. */
  readonly what: string;
  readonly next: string;
}

const REPLICAS_NEXT = 'Bring nodes back; the cluster then mends it by itself.';

/** By the members of `problems` that the cluster API sends. */
export const PROBLEM_RULES: Readonly<Record<string, ProblemRule>> = {
  unavailable: {
    level: 'trouble',
    what: 'without a quorum of replicas: requests wait',
    next: 'Bring back the nodes that hold their replicas.',
  },
  no_lease: {
    level: 'trouble',
    what: 'without a valid lease: requests wait',
    next: 'Should pass within seconds; if not, see the log of the reporting node.',
  },
  circuit_breaker_error: {
    level: 'trouble',
    what: 'with a tripped circuit breaker: requests fail at once',
    next: 'See the nodes that hold their replicas: lost quorum or a stalled disk.',
  },
  no_raft_leader: {
    level: 'trouble',
    what: 'with a replica that knows no raft leader',
    next: 'Should pass within seconds; if not, see the network between the nodes.',
  },
  underreplicated: {
    level: 'warning',
    what: 'with fewer live replicas than wanted',
    next: REPLICAS_NEXT,
  },
  raft_log_too_large: {
    level: 'warning',
    what: 'with a raft log that has grown too large',
    next: 'A follower cannot keep up: see its disk and the network to it.',
  },
  paused_followers: {
    level: 'warning',
    what: 'whose leader has paused overloaded followers',
    next: 'See the load and the disks of the followers.',
  },
  range_too_large: {
    level: 'warning',
    what: 'more than twice as large as allowed',
    next: 'They cannot be split: look for one row with very many versions.',
  },
  other: {
    level: 'warning',
    what: 'with a problem that this exporter does not know',
    next: '`crdb-exporter ranges --problems` shows it.',
  },
  overreplicated: {
    level: 'notice',
    what: 'with more replicas than wanted',
    next: 'The cluster removes the surplus by itself.',
  },
  leader_not_lease_holder: {
    level: 'notice',
    what: 'whose raft leader does not hold the lease',
    next: 'Harmless for a short time.',
  },
  quiescent_equals_ticking: {
    level: 'notice',
    what: 'of which the states quiescent and ticking contradict each other',
    next: 'Harmless unless it lasts.',
  },
};

export function findInRanges({ ranges }: ClusterFacts): readonly Finding[] {
  return ranges === undefined ? [] : [...findProblems(ranges), ...findUnread(ranges)];
}

function findProblems({ problems, oldest }: RangesStatus): readonly Finding[] {
  return Object.entries(PROBLEM_RULES).flatMap(([problem, { level, what, next }]) => {
    const count = problems[problem] ?? 0;
    if (count === 0) return [];
    const text = `${sayNumber(count)} ${count === 1 ? 'range' : 'ranges'} ${what}.`;
    const since = oldest.find((range) => range.problem === problem)?.firstSeenAt;
    return [{ key: `ranges ${problem}`, level, text, next, since }];
  });
}

function findUnread({ nodes }: RangesStatus): readonly Finding[] {
  const { failed = 0, scanned = 0 } = nodes;
  if (failed === 0) return [];
  const text = `The ranges of ${failed} of ${failed + scanned} nodes were not read: the counts are lower bounds.`;
  return [
    {
      key: 'unread nodes',
      level: 'warning',
      text,
      next: '`crdb_range_scan_node_success` tells which.',
    },
  ];
}
