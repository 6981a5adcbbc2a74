import { reportersOf } from './descriptors.ts';
import type { KnownRanges } from './known-ranges.ts';
import type { AbsentReplica } from './second-reading.ts';

/**
 * The slots of ranges that a node may only not have yet, because it has not seen the split that made them. Example: [a, c) was
 * split at b while node 3 was down. Node 3 has returned, and still reports [a, c). It has no replica of [b, c), which is not lost.
 */
export function findUnsplit(
  known: KnownRanges,
  absent: readonly AbsentReplica[],
): ReadonlySet<number> {
  const { keys } = known.map;
  const unsplit = new Set<number>();
  if (known.differingEnds.size === 0) return unsplit;
  for (const [nodeId, ranges] of Map.groupBy(absent, (replica) => replica.nodeId)) {
    const ends = differingEndsOn(known, nodeId);
    // After several splits some ranges lie between others. Which of the ends is the older one is not known.
    for (const [near, far] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const byKey = Map.groupBy(ranges, ({ slot }) => keys[2 * slot + near] ?? 0);
      const reached = new Set(ends);
      for (const key of reached) {
        for (const { slot } of byKey.get(key) ?? []) {
          unsplit.add(slot);
          reached.add(keys[2 * slot + far] ?? 0);
        }
      }
    }
  }
  return unsplit;
}

/** The hashes of the keys where ranges of the node end by one of their replicas, while another one reports another end. */
function differingEndsOn({ map, differingEnds }: KnownRanges, nodeId: number): Set<number> {
  const ends = new Set<number>();
  for (const [rangeId, rangeEnds] of differingEnds) {
    const slot = map.slotOf(rangeId);
    if (slot === undefined || !reportersOf(map, slot).includes(nodeId)) continue;
    for (const end of rangeEnds) ends.add(end);
  }
  return ends;
}
