// Ranges as a server describes them in both forms, with all that it sends beside the descriptor: as JSON 10.6 kB of a
// leaseholder, as protobuf 1.2 kB.
import { loadPublished } from '../test/support/published-protobuf.ts';

/** A member of a message: 64-bit integers are bigints, null is a message that is not there. */
type Value =
  | bigint
  | number
  | string
  | boolean
  | null
  | Buffer
  | readonly Value[]
  | { readonly [name: string]: Value };

interface StoredReplica {
  readonly nodeId: number;
  readonly storeId: number;
}

/** What one replica of a range says of it. */
export interface DescribedRange {
  readonly rangeId: number;
  /** All of them vote. */
  readonly replicas: readonly StoredReplica[];
  readonly source: StoredReplica;
  readonly isLeaseholder: boolean;
}

const WALL_TIME = 1_764_000_000_123_456_789n;

const TIMESTAMP = { wall_time: WALL_TIME, logical: 0, synthetic: false };

const PROGRESS = {
  match: 48_123n,
  next: 48_124n,
  state: 'StateReplicate',
  paused: false,
  pending_snapshot: 0n,
};

function key(number: number): Buffer {
  return Buffer.from([0xf0, 0x89, 0x12, 0x61, ...Buffer.from(`customer-${number}`), 0, 1]);
}

function lease(sequence: bigint): Value {
  return {
    start: TIMESTAMP,
    expiration: null,
    replica: { node_id: 3, store_id: 3, replica_id: 2, type: 0 },
    deprecated_start_stasis: null,
    proposed_ts: TIMESTAMP,
    epoch: 12n,
    sequence,
    acquisition_type: 1,
  };
}

/** The range as RangeInfo of 24.2, with the names of its definition. */
function describe({ rangeId, replicas, source, isLeaseholder }: DescribedRange): Value {
  const members = replicas.map(({ nodeId, storeId }, at) => ({
    node_id: nodeId,
    store_id: storeId,
    replica_id: at + 1,
    type: 0,
  }));
  const statistics = [
    'live_bytes',
    'live_count',
    'key_bytes',
    'key_count',
    'val_bytes',
    'val_count',
    'range_key_count',
    'range_key_bytes',
    'range_val_count',
    'range_val_bytes',
    'sys_bytes',
    'sys_count',
    'intent_bytes',
    'intent_count',
    'lock_bytes',
    'lock_count',
    'lock_age',
    'gc_bytes_age',
    'last_update_nanos',
  ].map((name, at) => [name, at < 6 ? 301_234_567n : 0n] as const);
  return {
    span: {
      start_key: `/Table/104/1/"customer-${rangeId}"`,
      end_key: `/Table/104/1/"customer-${rangeId + 1}"`,
    },
    raft_state: {
      replica_id: 2n,
      hard_state: { term: 17n, vote: 2n, commit: 48_123n },
      lead: 2n,
      state: 'StateLeader',
      applied: 48_123n,
      progress: { 1: PROGRESS, 2: PROGRESS, 3: PROGRESS },
      lead_transferee: 0n,
    },
    state: {
      state: {
        raft_applied_index: 48_123n,
        lease_applied_index: 41_007n,
        desc: {
          range_id: BigInt(rangeId),
          start_key: key(rangeId),
          end_key: key(rangeId + 1),
          internal_replicas: members,
          next_replica_id: members.length + 1,
          generation: 57n,
          sticky_bit: { wall_time: 0n, logical: 0, synthetic: false },
        },
        lease: lease(9n),
        truncated_state: { index: 48_000n, term: 17n },
        gc_threshold: TIMESTAMP,
        stats: { contains_estimates: 0n, ...Object.fromEntries(statistics) },
        deprecated_using_applied_state_key: true,
        version: { major_val: 24, minor_val: 2, patch: 0, internal: 0 },
        raft_closed_timestamp: TIMESTAMP,
        raft_applied_index_term: 17n,
        gc_hint: null,
      },
      last_index: 48_123n,
      num_pending: 0n,
      num_dropped: 0n,
      raft_log_size: 8_765n,
      raft_log_size_trusted: true,
      approximate_proposal_quota: 8_388_608n,
      proposal_quota_base_index: 48_123n,
      proposal_quota_release_queue: [],
      range_max_bytes: 536_870_912n,
      active_closed_timestamp: TIMESTAMP,
      rangefeed_registrations: 0n,
      tenant_id: 1n,
      closed_timestamp_policy: 0,
      closed_timestamp_sidetransport_info: {
        replica_closed: { wall_time: 0n, logical: 0, synthetic: false },
        replica_lai: 0n,
        central_closed: { wall_time: 0n, logical: 0, synthetic: false },
        central_lai: 0n,
      },
      circuit_breaker_error: '',
      paused_replicas: [],
    },
    source_node_id: source.nodeId,
    source_store_id: source.storeId,
    error_message: '',
    lease_history: [5n, 6n, 7n, 8n, 9n].map(lease),
    problems: {
      unavailable: false,
      leader_not_lease_holder: false,
      no_raft_leader: false,
      underreplicated: false,
      overreplicated: false,
      no_lease: false,
      quiescent_equals_ticking: false,
      raft_log_too_large: false,
      circuit_breaker_error: false,
      paused_followers: false,
      range_too_large: false,
    },
    stats: {
      queries_per_second: 12.345_678_901,
      writes_per_second: 3.456_789_012,
      requests_per_second: 12.345_678_901,
      write_bytes_per_second: 4_567.890_123,
      read_bytes_per_second: 45_678.901_234,
      cpu_time_per_second: 123_456.789_012,
    },
    lease_status: {
      lease: lease(9n),
      now: TIMESTAMP,
      request_time: { wall_time: 0n, logical: 0, synthetic: false },
      state: 1,
      error_info: '',
      liveness: {
        node_id: 3,
        epoch: 12n,
        expiration: { wall_time: WALL_TIME, logical: 0 },
        draining: false,
        membership: 0,
      },
      min_valid_observed_timestamp: TIMESTAMP,
    },
    quiescent: false,
    ticking: true,
    read_latches: 0n,
    write_latches: 0n,
    locks: 0n,
    locks_with_wait_queues: 0n,
    lock_wait_queue_waiters: 0n,
    top_k_locks_by_wait_queue_waiters: [],
    locality: {
      tiers: [
        { key: 'region', value: 'europe-west3' },
        { key: 'zone', value: 'europe-west3-b' },
      ],
    },
    is_leaseholder: isLeaseholder,
    lease_valid: true,
  };
}

/** As jsonpb writes it: camelCase, 64-bit integers as strings, bytes as base64. */
function toJson(value: Value): unknown {
  if (typeof value === 'bigint') return String(value);
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return value.map(toJson);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase()),
      toJson(member),
    ]),
  );
}

/** As the published definitions take it. Zeros are written, which servers do in some messages alone. */
function toMessage(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return value;
  if (isList(value)) return value.map(toMessage);
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, toMessage(member)]));
}

function isList(value: object): value is readonly Value[] {
  return Array.isArray(value);
}

/** The response with these ranges as JSON. */
export function describeAsJson(ranges: readonly DescribedRange[]): string {
  const sent = { ranges: ranges.map((range) => toJson(describe(range))), next: 0 };
  return JSON.stringify(sent, undefined, 2);
}

/** The same as protobuf. */
export function describeAsMessage(ranges: readonly DescribedRange[]): Buffer {
  published ??= loadPublished();
  const sent = { ranges: ranges.map((range) => toMessage(describe(range))), next: 0 };
  return Buffer.from(published.RangesResponse.encode(sent).finish());
}

let published: ReturnType<typeof loadPublished> | undefined;
