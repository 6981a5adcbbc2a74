import { sum } from '#base';
import type { Family, FamilySamples } from './family.ts';
import type { SampleSet } from './sample-set.ts';

/** The samples of a poll that fit into the budget. */
export interface WithinBudget {
  readonly families: readonly FamilySamples[];
  /** Number of dropped series by name of the family. */
  readonly dropped: ReadonlyMap<string, number>;
}

/**
 * Drops the least important series until at most `maxSeries` are left: first families of metrics that the configuration adds,
 * then what lists have after their first five entries, then families by store and kind, by store and by node, and at last the
 * lists. Apart from that cut a family is dropped as a whole, the last one first. Families of the whole cluster stay. Example:
 * a list of 20 hot ranges with 4 series each loses 60 series, even if it is one too many.
 */
export function fitBudget(set: SampleSet, maxSeries: number): WithinBudget {
  const all = [...set.families()];
  let left = all;
  const isOver = (): boolean => sum(left.map(({ samples }) => samples.size)) > maxSeries;
  const dropFamilies = (importance: Family['importance']): void => {
    while (isOver()) {
      const last = left.findLastIndex(({ family }) => family.importance === importance);
      if (last === -1) return;
      left = left.toSpliced(last, 1);
    }
  };
  dropFamilies('chosen');
  if (isOver()) left = left.map(cutList);
  for (const importance of ['store_and_kind', 'store', 'node', 'list'] as const) {
    dropFamilies(importance);
  }
  const sizes = new Map(left.map(({ family, samples }) => [family, samples.size]));
  const dropped = all.map(
    ({ family, samples }) => [family.name, samples.size - (sizes.get(family) ?? 0)] as const,
  );
  return { families: left, dropped: new Map(dropped.filter(([, count]) => count > 0)) };
}

function cutList({ family, samples, first }: FamilySamples): FamilySamples {
  if (first === undefined) return { family, samples };
  return { family, samples: new Map([...samples].filter(([labels]) => first.has(labels))) };
}
