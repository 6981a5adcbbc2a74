import { DEAD, livenessOf, medianRecord } from '#cockroach';
import type { ListedNode, NodesResult } from '#collectors';

// What two lists of nodes in a row show of their records.

/** The times of late records may differ by this much: nodes write them every ten seconds. */
const LATE_TOLERANCE_SECONDS = 15;

/**
 * The nodes that write new records which are late by the same time as those before, with the seconds: a clock that is behind,
 * while a node that stopped writing falls behind further and further.
 */
export function readLateRecords(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlyMap<number, number> {
  const earlier = new Map(before?.nodes.map((node) => [node.id, node]));
  const [medianBefore, median] = [medianRecord(before?.nodes ?? []), medianRecord(now.nodes)];
  const late = now.nodes.flatMap((node) => {
    const previous = earlier.get(node.id);
    if (node.isFresh || previous?.isFresh !== false) return [];
    const seconds = median - node.updatedSeconds;
    const change = seconds - (medianBefore - previous.updatedSeconds);
    const isNew = node.updatedSeconds > previous.updatedSeconds;
    const isLate = isNew && seconds > 0 && Math.abs(change) <= LATE_TOLERANCE_SECONDS;
    return isLate ? [[node.id, seconds] as const] : [];
  });
  return new Map(late);
}

/**
 * The nodes that count as dead in both lists, and have written a record between the two: their processes run. A node that has just
 * died may have a young record, but no newer one.
 */
export function readWriting(
  before: NodesResult | undefined,
  now: NodesResult,
): ReadonlySet<number> {
  const earlier = new Map(before?.nodes.filter(isDead).map((node) => [node.id, node]));
  const writing = now.nodes.filter(
    (node) =>
      isDead(node) && node.updatedSeconds > (earlier.get(node.id)?.updatedSeconds ?? Infinity),
  );
  return new Set(writing.map(({ id }) => id));
}

function isDead(node: ListedNode): boolean {
  return DEAD.has(livenessOf(node));
}
