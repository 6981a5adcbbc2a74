/** An entry of a list by rank; the id is that of a range or a table. */
interface Ranked {
  readonly id: number;
  readonly value: number;
}

/** An entry gets in at once when it has this many times the value of the last of the list … */
const CLEAR_LEAD = 1.2;
/** … or when it has been above it in this number of scans. */
const MIN_SCANS_ABOVE = 3;

/** The entries with the largest values, from scan to scan. A member stays until clearly beaten. */
export class TopList {
  /** Ids of the entries on the list. */
  members: ReadonlySet<number> = new Set();
  /** Scans in a row in which an entry was above the last of the list without getting in. */
  #waiting: ReadonlyMap<number, number> = new Map();

  /** The ids of the new list, largest first, at most `length`. */
  update(entries: Iterable<Ranked>, length: number): readonly number[] {
    const isMember = ({ id }: Ranked): boolean => this.members.has(id);
    const ranked = selectLargest(entries, 2 * length, isMember);
    const chosen = ranked.filter(isMember).slice(0, length);
    const waiting = new Map<number, number>();
    for (const entry of ranked) {
      if (isMember(entry)) continue;
      const lowest = chosen.length < length ? undefined : chosen.at(-1);
      const scans = (this.#waiting.get(entry.id) ?? 0) + 1;
      if (lowest !== undefined && entry.value <= lowest.value) break;
      const isClear = lowest === undefined || entry.value > lowest.value * CLEAR_LEAD;
      if (isClear || scans >= MIN_SCANS_ABOVE) {
        if (lowest !== undefined) chosen.pop();
        chosen.push(entry);
        chosen.sort(byValue);
      } else {
        waiting.set(entry.id, scans);
      }
    }
    const ids = chosen.map(({ id }) => id);
    this.members = new Set(ids);
    this.#waiting = waiting;
    return ids;
  }
}

/** The members and the largest of the others, largest first: twice the length of a list are more than can get in. */
function selectLargest(
  entries: Iterable<Ranked>,
  length: number,
  isMember: (entry: Ranked) => boolean,
): readonly Ranked[] {
  const members: Ranked[] = [];
  let others: Ranked[] = [];
  for (const entry of entries) {
    if (isMember(entry)) members.push(entry);
    else others.push(entry);
    if (others.length >= 4 * length + 64) others = others.toSorted(byValue).slice(0, length);
  }
  return [...members, ...others.toSorted(byValue).slice(0, length)].toSorted(byValue);
}

/** Largest first, ties by id. */
export function byValue(a: Ranked, b: Ranked): number {
  return b.value - a.value || a.id - b.id;
}
