import { reportersOf } from './descriptors.ts';
import { CONFIRMING_SCANS, type OpenEnds } from './key-space.ts';
import { keepsMajority } from './majority.ts';
import type { ScannedRanges } from './verification.ts';

/** Proofs that are kept. */
const MAX_PROVED = 2_000;

/** What a range was like when it was proved that it is left over. */
interface Proof {
  readonly start: number;
  readonly end: number;
  readonly generation: number;
  readonly nodeIds: readonly number[];
}

/** What the keys of a scan show, as slots of the map. */
export interface KeySpace {
  /** The open ends without the ranges that are left over. */
  readonly open: OpenEnds;
  readonly leftOver: ReadonlySet<number>;
  readonly overlapping: ReadonlySet<number>;
  /** Slots of `overlapping` that do not stand, and slots of ranges that a node had when it was read and has no longer. */
  readonly doubtful: ReadonlySet<number>;
  /**
   * The others join, agree about their keys, and those that may not be real report nothing: as far as is known, those of `overlapping` are
   * left over. Nothing is proved where no descriptor can be read, or where the descriptor of another range is missing.
   */
  readonly isOverlapAlone: boolean;
}

/**
 * What the scans of a cluster have shown of ranges over the keys of others. What a merge left behind never serves again, so that what
 * one scan has proved stays true in scans that cannot prove it. Example: node 2 dies, and the next scan verifies no range of it.
 */
export class LeftOvers {
  /** What proves that a range is left over, by its id, the oldest first. */
  #proved: ReadonlyMap<number, Proof> = new Map();
  /** In how many scans in a row the range was of an overlap that is not resolved, by its id. */
  #unresolved: ReadonlyMap<number, number> = new Map();
  #ignored: ReadonlySet<number> = new Set();

  /** The slots of the ranges that were proved to be left over, and that nothing has disproved since. */
  proved(ranges: ScannedRanges): ReadonlySet<number> {
    const { map } = ranges.known;
    const slots = new Set<number>();
    for (const [rangeId, proof] of this.#proved) {
      const slot = map.slotOf(rangeId);
      if (slot !== undefined && isUnchanged(ranges, slot, proof)) slots.add(slot);
    }
    return slots;
  }

  /**
   * Ends a scan of all nodes. Returns the slots of doubtful overlapping ranges whose reports do not count yet: those that may be left
   * over, but for ranges that would have no majority if they were real. `down` are the nodes that are down.
   */
  add(ranges: ScannedRanges, space: KeySpace, down: readonly number[]): ReadonlySet<number> {
    const { map } = ranges.known;
    const idOf = (slot: number): number => map.columns.ids[slot] ?? 0;
    const isUnseen = (rangeId: number): boolean =>
      (map.columns.found[map.slotOf(rangeId) ?? -1] ?? 0) === 0;
    // A node that is down may return with its replica.
    const unseen = [...this.#proved].filter(([rangeId]) => isUnseen(rangeId));
    const seen = Array.from(space.leftOver, (slot) => {
      const before = this.#proved.get(idOf(slot));
      const isKept = before !== undefined && isUnchanged(ranges, slot, before);
      return [idOf(slot), isKept ? before : proofOf(ranges, slot)] as const;
    });
    this.#proved = new Map([...unseen, ...seen].slice(-MAX_PROVED));
    return this.#quieten(ranges, space, down);
  }

  /** Ends a scan that did not read all nodes: what the last one of all nodes showed goes on. */
  addPartial(ranges: ScannedRanges, space: KeySpace, down: readonly number[]): void {
    const { map } = ranges.known;
    const before = Array.from(this.#unresolved.keys(), (rangeId) => map.slotOf(rangeId) ?? -1);
    const doubtful = new Set([...before, ...space.doubtful]);
    doubtful.delete(-1);
    const leftOver = this.proved(ranges).union(space.leftOver);
    this.#quieten(ranges, { ...space, leftOver, doubtful }, down);
  }

  #quieten(
    ranges: ScannedRanges,
    { leftOver, doubtful, isOverlapAlone }: KeySpace,
    down: readonly number[],
  ): ReadonlySet<number> {
    const { ids } = ranges.known.map.columns;
    const idOf = (slot: number): number => ids[slot] ?? 0;
    if (isOverlapAlone) this.#unresolved = new Map();
    const scansOf = (slot: number): number => this.#unresolved.get(idOf(slot)) ?? 0;
    this.#unresolved = new Map(Array.from(doubtful, (slot) => [idOf(slot), 1 + scansOf(slot)]));
    const quiet = [...doubtful].filter(
      (slot) => scansOf(slot) < CONFIRMING_SCANS && mayHaveMajority(ranges, slot, down),
    );
    this.#ignored = new Set([...leftOver, ...quiet].map(idOf));
    return new Set(quiet);
  }

  /** The ids of the ranges whose reported problems do not count in this scan. */
  get ignored(): ReadonlySet<number> {
    return this.#ignored;
  }
}

function proofOf({ known: { map } }: ScannedRanges, slot: number): Proof {
  return {
    start: map.keys[2 * slot] ?? 0,
    end: map.keys[2 * slot + 1] ?? 0,
    generation: map.generationOf(slot),
    nodeIds: reportersOf(map, slot),
  };
}

/** Whether the range is reported as it was, by no other nodes, and none of them holds a valid lease. */
function isUnchanged(ranges: ScannedRanges, slot: number, proof: Proof): boolean {
  const { map } = ranges.known;
  const { found } = map.columns;
  if (found[slot] === 0 || ranges.verification.isReadNow(slot)) return false;
  const now = proofOf(ranges, slot);
  // A slot that was free meanwhile has no descriptor yet.
  const isSameDescriptor = map.replicasOf(slot) === 0 || now.generation === proof.generation;
  return (
    now.start === proof.start &&
    now.end === proof.end &&
    isSameDescriptor &&
    now.nodeIds.every((nodeId) => proof.nodeIds.includes(nodeId))
  );
}

/**
 * Whether the range, if it is real, may have a majority of its voters as far as is known: one whose voters are down must not be
 * hidden. Nodes that are not listed any more have left the cluster, so that what names them is old.
 */
function mayHaveMajority(
  { known: { map }, verification }: ScannedRanges,
  slot: number,
  down: readonly number[],
): boolean {
  if (!verification.hasDescriptor(slot)) return true;
  const [voters, votersBefore] = [map.votersOf(slot), map.votersBeforeOf(slot)];
  let serving = 0;
  for (let place = 0; place < map.placesOf(slot); place += 1) {
    if (!down.includes(map.nodeAt(slot, place))) serving |= 1 << place;
  }
  return keepsMajority({ voters, votersBefore, serving }, 0);
}
