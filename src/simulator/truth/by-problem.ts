import type { Problem } from '../world/ranges.ts';

/** A value for each problem there is. */
export function forEachProblem<T>(value: (problem: Problem) => T): Record<Problem, T> {
  return {
    unavailable: value('unavailable'),
    underreplicated: value('underreplicated'),
    overreplicated: value('overreplicated'),
    range_too_large: value('range_too_large'),
    leader_not_lease_holder: value('leader_not_lease_holder'),
    no_raft_leader: value('no_raft_leader'),
    no_lease: value('no_lease'),
    quiescent_equals_ticking: value('quiescent_equals_ticking'),
    raft_log_too_large: value('raft_log_too_large'),
    circuit_breaker_error: value('circuit_breaker_error'),
    paused_followers: value('paused_followers'),
  };
}
