/** A lease-holding replica that has queries. */
export interface HotRange {
  readonly rangeId: number;
  readonly nodeId: number;
  readonly storeId: number;
  readonly tableId: string;
  readonly queries: number;
  readonly writes: number;
  /** Undefined when the server does not say. */
  readonly cpuSeconds: number | undefined;
}

/** A range gets in at once when it has this many times the queries of the last of the list … */
const CLEAR_LEAD = 1.2;
/** … or when it has been above it in this number of scans. */
const MIN_SCANS_ABOVE = 3;

/**
 * Keeps the hottest ranges that are added, and all that are on the list already. Twice the length of the list is
 * enough: it holds as many newcomers as could get in.
 */
export class HotCandidates {
  readonly #length: number;
  readonly #members: ReadonlySet<number>;
  #kept: HotRange[] = [];
  #floor = -1;

  constructor(length: number, members: ReadonlySet<number>) {
    this.#length = length;
    this.#members = members;
  }

  /** Whether a range with these queries may get on the list. */
  wants(rangeId: number, queries: number): boolean {
    return queries > this.#floor || this.#members.has(rangeId);
  }

  add(range: HotRange): void {
    this.#kept.push(range);
    if (this.#kept.length > 8 * this.#length) this.#cut();
  }

  addAll(others: HotCandidates): void {
    for (const range of others.list()) this.add(range);
  }

  /** Hottest first; one entry a range, though two stores may claim its lease for a moment. */
  list(): readonly HotRange[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    const seen = new Set<number>();
    const distinct = this.#kept.toSorted(byQueries).filter(({ rangeId }) => {
      const isNew = !seen.has(rangeId);
      seen.add(rangeId);
      return isNew;
    });
    const enough = 2 * this.#length;
    this.#kept = distinct.filter((range, at) => at < enough || this.#members.has(range.rangeId));
    this.#floor = this.#length === 0 ? Infinity : (distinct[enough - 1]?.queries ?? -1);
  }
}

/** The list of hot ranges, from scan to scan. */
export class HotList {
  /** Ids of the ranges on the list. */
  members: ReadonlySet<number> = new Set();
  /** Scans in a row in which a range was above the last of the list without getting in. */
  #waiting: ReadonlyMap<number, number> = new Map();

  /** The new list, hottest first, at most `length` long. A member stays until clearly beaten. */
  update(candidates: HotCandidates, length: number): readonly HotRange[] {
    const ranked = candidates.list();
    const isMember = (range: HotRange): boolean => this.members.has(range.rangeId);
    const chosen = ranked.filter(isMember).slice(0, length);
    const waiting = new Map<number, number>();
    for (const range of ranked) {
      if (isMember(range)) continue;
      const lowest = chosen.length < length ? undefined : chosen.at(-1);
      const scans = (this.#waiting.get(range.rangeId) ?? 0) + 1;
      if (lowest !== undefined && range.queries <= lowest.queries) break;
      if (lowest === undefined || isLetIn(range, lowest, scans)) {
        if (lowest !== undefined) chosen.pop();
        chosen.push(range);
        chosen.sort(byQueries);
      } else {
        waiting.set(range.rangeId, scans);
      }
    }
    this.members = new Set(chosen.map(({ rangeId }) => rangeId));
    this.#waiting = waiting;
    return chosen;
  }
}

function isLetIn(range: HotRange, lowest: HotRange, scans: number): boolean {
  return range.queries > lowest.queries * CLEAR_LEAD || scans >= MIN_SCANS_ABOVE;
}

function byQueries(a: HotRange, b: HotRange): number {
  return b.queries - a.queries || a.rangeId - b.rangeId;
}
