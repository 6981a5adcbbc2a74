import type { Random } from '../random.ts';

export type LeaseKind = 'epoch' | 'expiration' | 'leader';

export interface Lease {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicaId: number;
  readonly kind: LeaseKind;
  /** The epoch of an epoch lease, the term of a leader lease, 0 of an expiration lease. */
  readonly generation: number;
  readonly sequence: number;
  readonly startMs: number;
  readonly acquisition: 'transfer' | 'request';
}

/** A replica as far as leases depend on it. */
interface Leaseholder {
  readonly nodeId: number;
  readonly storeId: number;
  readonly replicaId: number;
}

/** The server keeps this many leases of a replica. */
const MAX_LEASES = 5;
const HOUR_MS = 3_600_000;

/** A lease history that ends with a lease of one of the replicas, of this kind or of any. */
export function generateLeases(
  replicas: readonly Leaseholder[],
  random: Random,
  startMs: number,
  known?: LeaseKind,
): Lease[] {
  const drawn = random.chance(0.6) ? 'leader' : random.chance(0.9) ? 'epoch' : 'expiration';
  const kind = known ?? drawn;
  const length = random.integer(1, MAX_LEASES);
  const firstSequence = random.integer(1, 40);
  const leases: Lease[] = [];
  for (let index = 0; index < length; index++) {
    const replica = random.pick(replicas);
    leases.push({
      nodeId: replica.nodeId,
      storeId: replica.storeId,
      replicaId: replica.replicaId,
      kind,
      generation: kind === 'expiration' ? 0 : firstSequence + index,
      sequence: firstSequence + index,
      startMs: Math.floor(startMs - HOUR_MS * (length - index + random.next())),
      acquisition: index === 0 ? 'request' : 'transfer',
    });
  }
  return leases;
}

/** The history with a new lease of the replica: the next sequence, the same kind, without the oldest. */
export function withNextLease(
  leases: readonly Lease[],
  replica: Leaseholder,
  acquisition: Lease['acquisition'],
  startMs: number,
): Lease[] {
  const last = leases.at(-1);
  const kind = last?.kind ?? 'epoch';
  const next: Lease = {
    nodeId: replica.nodeId,
    storeId: replica.storeId,
    replicaId: replica.replicaId,
    kind,
    generation: kind === 'expiration' ? 0 : (last?.generation ?? 0) + 1,
    sequence: (last?.sequence ?? 0) + 1,
    startMs,
    acquisition,
  };
  return [...leases, next].slice(-MAX_LEASES);
}

/**
 * The leases that a replica knows that lags by that many of the newest. Its process keeps them in memory: after a restart
 * at `sinceMs` it knows none until one is applied.
 */
export function leasesKnownTo(
  leases: readonly Lease[],
  lag: number,
  sinceMs: number,
): readonly Lease[] {
  const applied = lag === 0 ? leases : leases.slice(0, Math.max(1, leases.length - lag));
  return applied.filter(({ startMs }) => startMs >= sinceMs);
}
