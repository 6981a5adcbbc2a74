import type { Place } from './range.ts';
import { byValue, interleave, TopList } from './top-list.ts';

/** A lease-holding replica with its load. */
export interface HotRange {
  readonly rangeId: number;
  readonly nodeId: number;
  readonly storeId: number;
  readonly place: Place;
  readonly queries: number;
  readonly writes: number;
  /** Undefined when the server does not say. */
  readonly cpuSeconds: number | undefined;
}

/** What a range can be hot by: a list for each. */
const MEASURES = [
  ({ queries }: Load): number | undefined => queries,
  ({ cpuSeconds }: Load): number | undefined => cpuSeconds,
] as const;
type Load = Pick<HotRange, 'queries' | 'cpuSeconds'>;

/** The hottest ranges that are added, by queries and by CPU, and all that are on the lists already. */
export class HotCandidates {
  readonly halves: readonly Candidates[];

  constructor(length: number, { halves }: HotList) {
    this.halves = halves.map(({ members }) => new Candidates(length, members));
  }

  /** Whether a range with this load may get on a list. */
  wants(rangeId: number, load: Load): boolean {
    return this.halves.some((half, at) => half.wants(rangeId, MEASURES[at]?.(load)));
  }

  add(range: HotRange): void {
    this.halves.forEach((half, at) => half.add(range, MEASURES[at]?.(range)));
  }

  addAll(others: HotCandidates): void {
    this.halves.forEach((half, at) => {
      for (const { range, value } of others.halves[at]?.list() ?? []) half.add(range, value);
    });
  }
}

interface Candidate {
  readonly range: HotRange;
  readonly id: number;
  readonly value: number;
}

/** Twice the length of the list is enough: it holds as many newcomers as could get in. */
class Candidates {
  readonly #length: number;
  readonly #members: ReadonlySet<number>;
  #kept: Candidate[] = [];
  #floor = -1;

  constructor(length: number, members: ReadonlySet<number>) {
    this.#length = length;
    this.#members = members;
  }

  wants(id: number, value: number | undefined): value is number {
    return value !== undefined && (value > this.#floor || this.#members.has(id));
  }

  add(range: HotRange, value: number | undefined): void {
    if (!this.wants(range.rangeId, value)) return;
    this.#kept.push({ range, id: range.rangeId, value });
    if (this.#kept.length > 8 * this.#length) this.#cut();
  }

  /** Hottest first; one entry a range, though two stores may claim its lease for a moment. */
  list(): readonly Candidate[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    const seen = new Set<number>();
    const distinct = this.#kept.toSorted(byValue).filter(({ id }) => {
      const isNew = !seen.has(id);
      seen.add(id);
      return isNew;
    });
    const enough = 2 * this.#length;
    this.#kept = distinct.filter(({ id }, at) => at < enough || this.#members.has(id));
    this.#floor = this.#length === 0 ? Infinity : (distinct[enough - 1]?.value ?? -1);
  }
}

/** The list of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export class HotList {
  readonly halves = MEASURES.map(() => new TopList());

  /** The new list: at most `length` by each measure, the hottest by either first. */
  update({ halves }: HotCandidates, length: number): readonly HotRange[] {
    const byId = new Map<number, HotRange>();
    const lists = halves.map((half, at) => {
      const candidates = half.list();
      for (const { id, range } of candidates) if (!byId.has(id)) byId.set(id, range);
      return this.halves[at]?.update(candidates, length) ?? [];
    });
    return interleave(lists).flatMap((id) => byId.get(id) ?? []);
  }
}
