import type { FamilyList } from './importance.ts';

type Labels = Readonly<Record<string, string>>;

/** Numbers the entries of lists in the order in which they are first written: an entry has one rank in all families of its list. */
export class ListRanks {
  /** By list, value of `per` and entry. */
  readonly #ranks = new Map<string, number>();
  /** By list and entry: the lowest of its ranks, for families without the label `per`. */
  readonly #lowest = new Map<string, number>();
  /** By list and value of `per`. */
  readonly #lengths = new Map<string, number>();

  /** The rank of the entry with these labels, 0 for the first one. */
  of({ name, entry, per }: FamilyList, labels: Labels): number {
    const key = JSON.stringify([name, ...entry.map((label) => labels[label])]);
    const lowest = this.#lowest.get(key);
    if (per === undefined && lowest !== undefined) return lowest;
    const group = JSON.stringify([name, per === undefined ? '' : labels[per]]);
    const known = this.#ranks.get(group + key);
    if (known !== undefined) return known;
    const rank = this.#lengths.get(group) ?? 0;
    this.#lengths.set(group, rank + 1);
    this.#ranks.set(group + key, rank);
    this.#lowest.set(key, Math.min(rank, lowest ?? rank));
    return rank;
  }
}
