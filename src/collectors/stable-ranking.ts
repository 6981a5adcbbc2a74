/** Something that may be on a list: a range, a table, an application. */
interface Ranked<Id> {
  readonly id: Id;
  readonly value: number;
}

/** The value of a listed entry counts this many times, so that two entries of nearly equal value do not take turns. */
const MEMBER_BONUS = 1.2;
/** An entry that is above the last of the list in this number of scans in a row counts as a member, too. */
const MIN_SCANS_ABOVE = 3;

/**
 * Sorts by value, largest first; a member counts 20 % more, wins ties, and further ties are decided by id. Example: of the
 * member A with 50 and the newcomers B with 61 and C with 60 the order is B (61), A (60), C (60).
 */
function rank<Entry extends Ranked<number | string>>(
  entries: readonly Entry[],
  isMember: (id: Entry['id']) => boolean,
): readonly Entry[] {
  return entries
    .map((entry) => {
      const isListed = isMember(entry.id);
      return { entry, isListed, score: isListed ? entry.value * MEMBER_BONUS : entry.value };
    })
    .toSorted(
      (a, b) =>
        b.score - a.score ||
        Number(b.isListed) - Number(a.isListed) ||
        (a.entry.id < b.entry.id ? -1 : 1),
    )
    .map(({ entry }) => entry);
}

/**
 * The ranges, tables or applications with the largest values, from scan to scan: a scan calls `begin`, `add` for any number of entries, and
 * `end`. A list of two that holds A with 100 and B with 50 takes C in place of B at once when C has more than 60, and in the
 * third scan in a row in which C has more than B.
 */
export class StableRanking<
  Id extends number | string = number,
  Entry extends Ranked<Id> = Ranked<Id>,
> {
  /** Ids of the entries on the list. */
  #members: ReadonlySet<Id> = new Set();
  /** The number of scans in a row in which an entry was above the last of the list without getting in. */
  #scansAbove: ReadonlyMap<Id, number> = new Map();
  #length = 0;
  /** The entries of this scan that may get on the list: its members and the largest others, twice as many as it is long. */
  #added: Entry[] = [];
  /** Enough others have a larger value than this one. */
  #minValue = -Infinity;

  /** Begins a scan, after which the list is to have this many entries. */
  begin(length: number): void {
    this.#length = length;
    this.#added = [];
    this.#minValue = length === 0 ? Infinity : -Infinity;
  }

  /** Whether an entry of this value may get on the list. */
  wants(id: Id, value: number): boolean {
    return value > this.#minValue || this.#members.has(id);
  }

  add(entry: Entry): void {
    if (!this.wants(entry.id, entry.value)) return;
    this.#added.push(entry);
    if (this.#added.length > 8 * this.#length + 64) this.#cut();
  }

  /** Keeps the members and the largest of the others, of two with the same id the larger one. */
  #cut(): void {
    const seen = new Set<Id>();
    let others = 0;
    this.#added = this.#added.toSorted(byValue).filter(({ id, value }) => {
      if (seen.has(id)) return false;
      seen.add(id);
      if (this.#members.has(id)) return true;
      others += 1;
      if (others === 2 * this.#length) this.#minValue = value;
      return others <= 2 * this.#length;
    });
  }

  /** Ends the scan. Returns the entries of the new list, largest first. */
  end(): readonly Entry[] {
    this.#cut();
    const before = this.#scansAbove;
    const countsAsMember = (id: Id) =>
      this.#members.has(id) || (before.get(id) ?? 0) + 1 >= MIN_SCANS_ABOVE;
    const ranked = rank(this.#added, countsAsMember);
    const list = ranked.slice(0, this.#length).toSorted(byValue);
    const lowest = list.at(-1)?.value ?? Infinity;
    const above = ranked.slice(this.#length).filter(({ value }) => value > lowest);
    this.#scansAbove = new Map(above.map(({ id }) => [id, (before.get(id) ?? 0) + 1]));
    this.#members = new Set(list.map(({ id }) => id));
    this.#added = [];
    return list;
  }

  /** One scan of these items by what is measured of each; those with 0 get on no list. Returns the ids of the new list. */
  rank<Item>(
    this: StableRanking<Id>,
    length: number,
    items: Iterable<readonly [Id, Item]>,
    measure: (item: Item, id: Id) => number,
  ): readonly Id[] {
    this.begin(length);
    for (const [id, item] of items) {
      const value = measure(item, id);
      if (value > 0) this.add({ id, value });
    }
    return this.end().map(({ id }) => id);
  }
}

/** Largest first, ties by id. */
function byValue(a: Ranked<number | string>, b: Ranked<number | string>): number {
  return b.value - a.value || (a.id < b.id ? -1 : 1);
}

/** The items of several lists, each once: the first of every list before the second of any. [1, 2] and [3, 1] give 1, 3, 2. */
export function interleave<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const rows = Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => list[index] ?? []),
  );
  return [...new Set(rows.flat())];
}
