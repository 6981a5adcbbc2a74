import type { Family } from './family.ts';
import type { Sheet, SheetFamily } from './sheet.ts';
import type { Snapshot } from './snapshot.ts';

export interface Budget {
  readonly sheet: Sheet;
  /** Series that the sheet, together with `others`, may have. */
  readonly maxSeries: number;
  /** What else counts: nothing for the budget of a collector, the cluster's other snapshots for that of a cluster. */
  readonly others?: Iterable<Snapshot>;
}

/**
 * Takes the series over the budget out of the sheet and returns how many, by family name. Families with the lowest
 * `dropOrder` lose theirs first; among equals the last written go first, so the same sheet always keeps the same series.
 *
 * Series of other snapshots count only against families that are not more important: room that less important
 * ones take there is given back at their own next poll, until when the sum may be over the budget.
 */
export function applyBudget({
  sheet,
  maxSeries,
  others = [],
}: Budget): ReadonlyMap<string, number> {
  const elsewhere = [...others].flatMap((snapshot) => [...snapshot.families.values()]);
  const dropped = new Map<string, number>();
  let kept = 0;
  for (const { family, samples } of mostImportantFirst(sheet)) {
    const taken = elsewhere.reduce(
      (sum, other) => (importance(other.family) >= importance(family) ? sum + other.series : sum),
      0,
    );
    const excess = Math.max(0, Math.min(samples.size, kept + samples.size + taken - maxSeries));
    if (excess > 0) {
      sheet.dropLast(family, excess);
      dropped.set(family.name, excess);
    }
    kept += samples.size;
  }
  return dropped;
}

/** Families of the same importance stay in the order in which they were first written. */
function mostImportantFirst(sheet: Sheet): readonly SheetFamily[] {
  return [...sheet.families()].toSorted((a, b) => importance(b.family) - importance(a.family));
}

function importance({ dropOrder }: Family): number {
  return dropOrder ?? Number.MAX_SAFE_INTEGER;
}
