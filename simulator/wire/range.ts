import type { Quirks } from '../quirks.ts';
import type { Lease } from '../world/leases.ts';
import { loadOf, type ReplicaLoad } from '../world/load.ts';
import { problemsOf } from '../world/problems.ts';
import type { Problem, Range, Replica } from '../world/ranges.ts';
import { leasesOf, type WorldState } from '../world/state.ts';
import { createEncoding, nanos, type Encoding } from './encoding.ts';

/** In the order of the server; the last three are newer than the others. */
const PROBLEM_ORDER: readonly Problem[] = [
  'unavailable',
  'leader_not_lease_holder',
  'no_raft_leader',
  'underreplicated',
  'overreplicated',
  'no_lease',
  'quiescent_equals_ticking',
  'raft_log_too_large',
  'circuit_breaker_error',
  'paused_followers',
  'range_too_large',
];
const EXPIRATION_MS = 6000;

/** One element of GET /nodes/{id}/ranges/: as this replica knows it, members in the order of the server. */
export function rangeElement(
  state: WorldState,
  quirks: Quirks,
  range: Range,
  replica: Replica,
): object {
  const encoding = createEncoding(quirks);
  const leases = leasesOf(state, range, replica).map((lease) =>
    leaseElement(lease, encoding, quirks),
  );
  return {
    desc: {
      range_id: range.id,
      start_key: encoding.bytes(range.start.bytes),
      end_key: encoding.bytes(range.end.bytes),
      store_id: 0,
      queries_per_second: 0,
    },
    span: { start_key: range.start.pretty, end_key: range.end.pretty },
    source_node_id: replica.nodeId,
    source_store_id: replica.storeId,
    lease_history: encoding.list(leases),
    problems: problemMembers(state, quirks, range, replica),
    stats: statsMembers(loadOf(state, range, replica), encoding, quirks),
    quiescent: encoding.scalar(replica.quiescent),
    ticking: encoding.scalar(replica.ticking),
    ...(quirks.unknownValues ? { unheard_of: [{ a: [] }] } : {}),
  };
}

function problemMembers(
  state: WorldState,
  quirks: Quirks,
  range: Range,
  replica: Replica,
): Record<string, boolean> {
  const problems = problemsOf(state, range, replica);
  const members: Record<string, boolean> = {};
  for (const name of PROBLEM_ORDER.slice(0, quirks.problemMembers)) {
    if (problems.has(name)) members[name] = true;
    else if (quirks.writeZeros) members[name] = false;
  }
  if (quirks.unknownValues && range.id % 50 === 0) members['unheard_of_problem'] = true;
  return members;
}

function statsMembers(load: ReplicaLoad, encoding: Encoding, quirks: Quirks): object {
  const first = {
    queries_per_second: encoding.scalar(load.queries),
    writes_per_second: encoding.scalar(load.writes),
  };
  if (quirks.statsMembers === 2) return first;
  return {
    ...first,
    requests_per_second: encoding.scalar(load.requests),
    reads_per_second: encoding.scalar(load.reads),
    write_bytes_per_second: encoding.scalar(load.writeBytes),
    read_bytes_per_second: encoding.scalar(load.readBytes),
    cpu_time_per_second: encoding.scalar(load.cpuNanos),
  };
}

function leaseElement(lease: Lease, encoding: Encoding, quirks: Quirks): object {
  const acquisition = lease.acquisition === 'transfer' ? 1 : 2;
  return {
    start: { wall_time: nanos(lease.startMs), logical: encoding.scalar(lease.sequence % 3) },
    expiration:
      lease.kind === 'expiration' ? { wall_time: nanos(lease.startMs + EXPIRATION_MS) } : undefined,
    replica: {
      node_id: lease.nodeId,
      store_id: lease.storeId,
      replica_id: lease.replicaId,
      type: quirks.writeZeros ? 0 : undefined,
    },
    proposed_ts: { wall_time: nanos(lease.startMs) },
    epoch: lease.kind === 'epoch' ? lease.generation : undefined,
    sequence: quirks.hugeIntegers ? hugeSequence(lease) : encoding.scalar(lease.sequence),
    acquisition_type: quirks.unknownValues ? 9 : acquisition,
    min_expiration:
      lease.kind === 'leader' ? { wall_time: nanos(lease.startMs + EXPIRATION_MS) } : undefined,
    term: lease.kind === 'leader' ? lease.generation : undefined,
  };
}

/** An odd number above 2^53, which a double cannot hold. */
function hugeSequence(lease: Lease): object {
  return JSON.rawJSON(String(2n ** 53n + 2n * BigInt(lease.sequence) + 1n));
}
