import type { Family } from './family.ts';

/**
 * A bounded list of entries that are named by label values, as applications or hot ranges. Over a series budget a list
 * loses whole entries, in all of its families alike.
 */
export interface FamilyList<L extends string = string> {
  /** Families with the same name share their entries. */
  readonly name: string;
  /** The labels that name an entry; the entry that is written first is the most important one. */
  readonly entry: readonly L[];
  /** The label whose values have a list of their own each. */
  readonly per?: L;
}

/** What the series of a family are about; derived from its labels unless it is a list or declared as `chosen`. */
export type Importance = 'cluster' | 'node' | 'store' | 'store_and_kind' | 'list' | 'chosen';

/** Entries of a list that are more important than all that has a series for each node. */
const LIST_HEAD = 5;

/** The most important first. Series of the first class are never dropped. */
const ORDER = ['cluster', 'list head', 'node', 'store', 'store_and_kind', 'list', 'chosen'];

/** What a family with these labels is about, when it is no list. */
export function importanceOf(labels: readonly string[]): Importance {
  if (labels.includes('store_id')) {
    const kinds = labels.filter((label) => !['node_id', 'store_id', 'shard'].includes(label));
    return kinds.length === 0 ? 'store' : 'store_and_kind';
  }
  return labels.includes('node_id') ? 'node' : 'cluster';
}

/** Where a family, or an entry of its list, stands among the classes: 0 is never dropped, the largest is dropped first. */
export function classOf({ importance }: Family, rank: number): number {
  const isHead = importance === 'list' && rank < LIST_HEAD;
  return ORDER.indexOf(isHead ? 'list head' : importance);
}
