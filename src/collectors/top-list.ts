/** Something that may be on a list: a range, a table, an application. */
export interface Ranked<Id extends number | string = number> {
  readonly id: Id;
  readonly value: number;
}

/** The value of a listed entry counts this many times, so that two entries of nearly equal value do not take turns. */
const MEMBER_BONUS = 1.2;
/** An entry that is above the last of the list in this number of scans in a row is listed, too. */
const MIN_SCANS_ABOVE = 3;

/**
 * Sorts by value, largest first; a member counts 20 % more, wins ties, and further ties are decided by id. Example: of the
 * member A with 50 and the newcomers B with 61 and C with 60 the order is B (61), A (60), C (60).
 */
export function rank<Entry extends Ranked<number | string>>(
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
 * The ranges or tables with the largest values, from scan to scan. A list of two that holds A with 100 and B with 50 takes
 * C in place of B at once when C has more than 60, and in the third scan in a row in which C has more than B.
 */
export class TopList {
  /** Ids of the entries on the list. */
  #members: ReadonlySet<number> = new Set();
  /** The number of scans in a row in which an entry was above the last of the list without getting in. */
  #scansAbove: ReadonlyMap<number, number> = new Map();

  isMember(id: number): boolean {
    return this.#members.has(id);
  }

  /** The entries of the new list, largest first, at most `length`. */
  update<Entry extends Ranked>(entries: readonly Entry[], length: number): readonly Entry[] {
    const ranked = rank(entries, (id) => this.#members.has(id));
    let list = ranked.slice(0, length).toSorted(byValue);
    for (const entry of ranked.slice(length).toSorted(byValue)) {
      const scansAbove = (this.#scansAbove.get(entry.id) ?? 0) + 1;
      const lowest = list.at(-1)?.value ?? Infinity;
      if (scansAbove < MIN_SCANS_ABOVE || entry.value <= lowest) continue;
      list = [...list.slice(0, -1), entry].toSorted(byValue);
    }
    const members = new Set(list.map(({ id }) => id));
    const lowest = list.length < length ? Infinity : (list.at(-1)?.value ?? Infinity);
    const above = ranked.filter(({ id, value }) => value > lowest && !members.has(id));
    this.#scansAbove = new Map(above.map(({ id }) => [id, (this.#scansAbove.get(id) ?? 0) + 1]));
    this.#members = members;
    return list;
  }
}

/**
 * The candidates for a list among any number of entries: its members and the largest of the others, twice as many as the
 * list is long.
 */
export class Candidates<Entry extends Ranked> {
  readonly #list: TopList;
  readonly #length: number;
  #entries: Entry[] = [];
  /** Enough others have a larger value than this one. */
  #minValue = -Infinity;

  constructor(list: TopList, length: number) {
    this.#list = list;
    this.#length = length;
    if (length === 0) this.#minValue = Infinity;
  }

  /** Whether an entry of this value may get on the list. */
  wants(id: number, value: number): boolean {
    return value > this.#minValue || this.#list.isMember(id);
  }

  add(entry: Entry): void {
    if (!this.wants(entry.id, entry.value)) return;
    this.#entries.push(entry);
    if (this.#entries.length > 8 * this.#length + 64) this.#cut();
  }

  /** Largest first; of two with the same id the larger one. */
  entries(): readonly Entry[] {
    this.#cut();
    return this.#entries;
  }

  #cut(): void {
    const seen = new Set<number>();
    let others = 0;
    this.#entries = this.#entries.toSorted(byValue).filter(({ id, value }) => {
      if (seen.has(id)) return false;
      seen.add(id);
      if (this.#list.isMember(id)) return true;
      others += 1;
      if (others === 2 * this.#length) this.#minValue = value;
      return others <= 2 * this.#length;
    });
  }
}

/** Largest first, ties by id. */
function byValue(a: Ranked, b: Ranked): number {
  return b.value - a.value || a.id - b.id;
}

/** The items of several lists, each once: the first of every list before the second of any. */
export function interleave<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const rows = Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list[at] ?? []));
  return [...new Set(rows.flat())];
}
