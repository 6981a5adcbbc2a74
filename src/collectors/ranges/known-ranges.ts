import { formatCount, PROBLEMS, type RangeProblem, REPORTED_PROBLEMS } from '#base';
import { RequestError } from '#cockroach';
import { MAX_READ_AGAIN } from './key-space.ts';
import { NO_PLACE, RangeMap, walk, type Work, MARK } from './range-map.ts';
import {
  countProblems,
  LEASE_KINDS,
  MAX_COUNTED_REPLICAS,
  NO_LEASE,
  type ReplicaColumns,
} from './replica.ts';
import type { RangeCounts } from './scan-result.ts';
import { TableIndexes } from './table-index.ts';

/** Ranges that one exporter knows, in 240 MB, and up to 20 MB for those with more than eight replicas. More need shards. */
export const MAX_RANGES = 5_000_000;
/** The most that the column holds. */
const MAX_FOUND = 0xff;
const MAX_SEQUENCE = 0xffff_ffff;
/** Problems of a replica that serves nothing, as bits. */
export const SERVES_NOTHING = bitsOf('no_raft_leader', 'circuit_breaker_error', 'no_lease');
export const UNAVAILABLE = bitsOf('unavailable');
/** Replicas without the lease that report their range as unavailable, and that are held. */
const MAX_CLAIMS = 20_000;
/** Ranges whose replicas report different ends, and that are held. */
const MAX_DIFFERING = 20_000;

/** A bit for each of these problems, by their index in PROBLEMS. */
export function bitsOf(...names: readonly RangeProblem[]): number {
  return PROBLEMS.reduce((bits, name, index) => bits | (names.includes(name) ? 1 << index : 0), 0);
}

/** A replica that reports its range as unavailable. */
interface Claim {
  readonly rangeId: number;
  readonly nodeId: number;
}

/** The ranges that the scans of a cluster have found. A scan calls `beginScan`, `commit` for each node, and `count`. */
export class KnownRanges {
  readonly map = new RangeMap();
  readonly tableIndexes = new TableIndexes();
  /** Increases of lease sequences since the start of the exporter. */
  leaseChanges = 0;
  /**
   * All nodes that report in this scan that their replica of a range serves nothing, by its id: of as many ranges as are asked a second
   * time. The others stay unverified.
   */
  readonly suspects = new Map<number, Set<number>>();
  /** Replicas without the lease that report their range as unavailable in this scan. */
  claims: Claim[] = [];
  /** The hashes of the end keys of each range whose replicas do not report the same one in this scan, by its id. */
  readonly differingEnds = new Map<number, Set<number>>();

  /** Clears what the last scan reported. Sequences and descriptors stay. */
  *beginScan(): Work {
    this.suspects.clear();
    this.claims = [];
    this.differingEnds.clear();
    this.tableIndexes.isFull = false;
    yield* this.map.beginScan();
  }

  /** The table that the range begins in, as `TableIndexes` has it. */
  tableOf(slot: number): number {
    return this.tableIndexes.tableOf(this.map.columns.tableIndexes[slot] ?? 0);
  }

  /** Takes numbers from table indexes in which no range begins any more. True when numbers may have changed. */
  *renumberTables(): Work<boolean> {
    if (!this.tableIndexes.hasGrown) return false;
    const { capacity, columns } = this.map;
    const { ids, tableIndexes } = columns;
    const isUsed = new Uint8Array(2 ** 16);
    yield* walk(capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        if (ids[slot] !== 0) isUsed[tableIndexes[slot] ?? 0] = 1;
      }
    });
    const numbers = this.tableIndexes.keep(isUsed);
    yield* walk(capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) {
        tableIndexes[slot] = numbers[tableIndexes[slot] ?? 0] ?? 0;
      }
    });
    return true;
  }

  /** Adds the replicas of a node that was read to its end. Throws before it adds any when they do not fit. */
  *commit(nodeId: number, replicas: ReplicaColumns): Work {
    const { map } = this;
    const { rangeIds, length } = replicas;
    let size = map.size;
    // Most scans find known ranges: that all fit even if they were new saves a twentieth of the scan.
    if (size + length > Math.min(map.maxSize, MAX_RANGES)) {
      yield* walk(length, (from, to) => {
        size += this.#countNew(rangeIds, from, to);
      });
    }
    if (size > MAX_RANGES) {
      const most = formatCount(MAX_RANGES);
      const message = `the nodes of this exporter have more than ${most} ranges`;
      const remedy = 'divide the nodes among shards, which know their own ranges only';
      throw new RequestError('limit', `ranges of node ${nodeId}: ${message}`, {
        limit: 'items',
        remedy,
      });
    }
    yield* map.reserve(size);
    yield* walk(length, (from, to) => this.#commitReplicas(nodeId, replicas, from, to));
  }

  #countNew(rangeIds: Uint32Array, from: number, to: number): number {
    let added = 0;
    for (let index = from; index < to; index += 1) {
      if (this.map.slotOf(rangeIds[index] ?? 0) === undefined) added += 1;
    }
    return added;
  }

  #commitReplicas(nodeId: number, replicas: ReplicaColumns, from: number, to: number): void {
    const { map } = this;
    const { found, tableIndexes, problems: problemsColumn } = map.columns;
    for (let index = from; index < to; index += 1) {
      const slot = map.put(replicas.rangeIds[index] ?? 0);
      const foundBefore = found[slot] ?? 0;
      if (foundBefore === 0) {
        tableIndexes[slot] = this.tableIndexes.numberOf(replicas.tableIndexes[index] ?? 0);
      }
      found[slot] = Math.min(foundBefore + 1, MAX_FOUND);
      const problems = replicas.problems[index] ?? 0;
      // Writing a 0, too, would fetch one more cache line of a large map for each replica.
      if (problems !== 0) problemsColumn[slot] = (problemsColumn[slot] ?? 0) | problems;
      if ((problems & SERVES_NOTHING) !== 0) this.#suspect(slot, nodeId);
      const place = map.report(slot, nodeId);
      const lease = replicas.leases[index] ?? NO_LEASE;
      if ((problems & UNAVAILABLE) !== 0) this.#claim(slot, nodeId, lease !== NO_LEASE);
      const sequence = replicas.sequences[index] ?? 0;
      this.#commitLease(slot, place, lease, sequence);
      this.commitKeys(slot, {
        start: replicas.startKeys[index] ?? 0,
        end: replicas.endKeys[index] ?? 0,
        isNew: foundBefore === 0,
        leaseSequence: lease === NO_LEASE ? undefined : sequence,
      });
    }
  }

  #suspect(slot: number, nodeId: number): void {
    const { suspects } = this;
    const rangeId = this.map.columns.ids[slot] ?? 0;
    if (suspects.has(rangeId)) suspects.get(rangeId)?.add(nodeId);
    else if (suspects.size < MAX_READ_AGAIN) suspects.set(rangeId, new Set([nodeId]));
  }

  /** Claims beyond those that are held count as if the holder of the lease had made them, too. */
  #claim(slot: number, nodeId: number, holdsLease: boolean): void {
    const { ids, marks } = this.map.columns;
    const isStated = holdsLease || this.claims.length === MAX_CLAIMS;
    marks[slot] = (marks[slot] ?? 0) | (isStated ? MARK.holderHasNoQuorum : MARK.isClaimed);
    if (!isStated) this.claims.push({ rangeId: ids[slot] ?? 0, nodeId });
  }

  /**
   * Keeps the keys of the replica that holds the lease, else of the one that was read last, and whether they differ. `leaseSequence` is
   * undefined of a replica that claims no lease. Of two that claim it the one with the higher sequence holds it: an old replica on another
   * store of the node has old keys.
   */
  commitKeys(
    slot: number,
    {
      start,
      end,
      isNew,
      leaseSequence,
    }: {
      readonly start: number;
      readonly end: number;
      readonly isNew: boolean;
      readonly leaseSequence: number | undefined;
    },
  ): void {
    const { keys } = this.map;
    const { marks, leases, sequences } = this.map.columns;
    const differ = !isNew && (keys[2 * slot] !== start || keys[2 * slot + 1] !== end);
    if (differ) {
      marks[slot] = (marks[slot] ?? 0) | MARK.isUncertain;
      this.#addEnds(slot, [keys[2 * slot + 1] ?? 0, end]);
    }
    const holdsLease = leaseSequence !== undefined && leaseSequence >= (sequences[slot] ?? 0);
    const isHeldElsewhere = !holdsLease && ((leases[slot] ?? 0) & 3) !== NO_LEASE;
    if (!isNew && (!differ || isHeldElsewhere)) return;
    keys[2 * slot] = start;
    keys[2 * slot + 1] = end;
  }

  #addEnds(slot: number, ends: readonly number[]): void {
    const rangeId = this.map.columns.ids[slot] ?? 0;
    const known = this.differingEnds.get(rangeId);
    if (known === undefined && this.differingEnds.size === MAX_DIFFERING) return;
    this.differingEnds.set(rangeId, new Set([...(known ?? []), ...ends]));
  }

  /**
   * Records the lease that a replica reports, and counts its changes since an earlier scan. Example: the sequence was 7 in
   * the last scan, and the replica that holds the lease reports 9, so the lease has changed twice. If two replicas report
   * that they hold it, as may happen while it moves, the one with the higher sequence counts.
   */
  #commitLease(slot: number, place: number, kind: number, reportedSequence: number): void {
    if (kind === NO_LEASE && reportedSequence === 0) return;
    const { leases, sequences, marks } = this.map.columns;
    const knownSequence = sequences[slot] ?? 0;
    const sequence = reportedSequence <= MAX_SEQUENCE ? reportedSequence : 0;
    if (kind !== NO_LEASE) {
      const isOfEarlierScan = ((marks[slot] ?? 0) & MARK.hasOldSequence) !== 0;
      if (isOfEarlierScan && sequence > knownSequence) {
        this.leaseChanges += sequence - knownSequence;
      }
      const isHeld = ((leases[slot] ?? 0) & 3) !== NO_LEASE;
      if (!isHeld || sequence >= knownSequence) leases[slot] = kind | (place << 2);
    }
    sequences[slot] = Math.max(sequence, knownSequence);
  }

  /** Takes the range out of the scan: nobody holds it any more. */
  remove(slot: number): void {
    const { found, reported, problems, leases } = this.map.columns;
    for (const column of [found, reported, problems]) column[slot] = 0;
    leases[slot] = NO_PLACE << 2;
  }

  /** Counts the ranges of the scan, and the problems of all but some, by their ids. */
  *count(ignored: ReadonlySet<number> = new Set()): Work<RangeCounts> {
    const counts: RangeCounts = {
      ranges: 0,
      byReplicas: Array.from({ length: MAX_COUNTED_REPLICAS + 2 }, () => 0),
      byLeaseKind: LEASE_KINDS.map(() => 0),
      byProblem: PROBLEMS.map(() => 0),
      problemsByTable: new Map(),
    };
    yield* walk(this.map.capacity, (from, to) => {
      for (let slot = from; slot < to; slot += 1) this.#count(counts, slot, ignored);
    });
    return counts;
  }

  #count(counts: RangeCounts, slot: number, ignored: ReadonlySet<number>): void {
    const { ids, found, sequences, marks, leases, problems: column } = this.map.columns;
    if (sequences[slot] !== 0) marks[slot] = (marks[slot] ?? 0) | MARK.hasOldSequence;
    const replicas = found[slot] ?? 0;
    if (replicas === 0) return;
    counts.ranges += 1;
    increase(counts.byReplicas, Math.min(replicas, MAX_COUNTED_REPLICAS + 1));
    increase(counts.byLeaseKind, (leases[slot] ?? NO_LEASE) & 3);
    const problems = column[slot] ?? 0;
    if (problems === 0 || ignored.has(ids[slot] ?? 0)) return;
    const tableId = this.tableOf(slot);
    const tableCounts = counts.problemsByTable.get(tableId) ?? REPORTED_PROBLEMS.map(() => 0);
    counts.problemsByTable.set(tableId, tableCounts);
    countProblems(counts.byProblem, problems);
    countProblems(tableCounts, problems);
  }
}

function increase(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}
