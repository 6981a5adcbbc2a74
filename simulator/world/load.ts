import { fractionOf } from '../random.ts';
import { validLeaseOf } from './leadership.ts';
import type { Range, Replica } from './ranges.ts';
import type { WorldState } from './state.ts';

/** Averages per second of one replica; all zero for an idle range. */
export interface ReplicaLoad {
  readonly queries: number;
  readonly writes: number;
  readonly requests: number;
  readonly reads: number;
  readonly writeBytes: number;
  readonly readBytes: number;
  /** Nanoseconds of CPU per second. */
  readonly cpuNanos: number;
}

const WAVE_MS = 600_000;
const NANOS_PER_QUERY = 180_000;

const NO_LOAD: ReplicaLoad = {
  queries: 0,
  writes: 0,
  requests: 0,
  reads: 0,
  writeBytes: 0,
  readBytes: 0,
  cpuNanos: 0,
};

/**
 * The leaseholder's replica serves the reads, every replica the writes. Without a valid lease nothing is served: the averages of
 * the server fall to 0 within 30 minutes, here at once.
 */
export function loadOf(
  state: WorldState,
  range: Range,
  replica: Replica,
  nowMs: number = state.now(),
): ReplicaLoad {
  if (validLeaseOf(state, range) === undefined) return NO_LOAD;
  const wave = waveAt(range.id, nowMs);
  const queries = range.queriesPerSecond * wave;
  const writes = queries * (0.1 + 0.3 * fractionOf('writes', range.id));
  const holdsLease = range.leases.at(-1)?.storeId === replica.storeId;
  if (!holdsLease) return followerLoad(writes);
  const reads = queries - writes;
  return {
    queries,
    writes,
    requests: queries * 1.4,
    reads,
    writeBytes: writes * 512,
    readBytes: reads * 2048,
    cpuNanos: queries * NANOS_PER_QUERY + range.extraCpuNanos * wave,
  };
}

function followerLoad(writes: number): ReplicaLoad {
  return {
    queries: 0,
    writes,
    requests: 0,
    reads: 0,
    writeBytes: writes * 512,
    readBytes: 0,
    cpuNanos: writes * 20_000,
  };
}

function waveAt(rangeId: number, nowMs: number): number {
  return 1 + 0.2 * Math.sin(2 * Math.PI * (nowMs / WAVE_MS + fractionOf('wave', rangeId)));
}
