import { interleave } from '../../interleave.ts';
import type { Place } from './range.ts';
import { byValue, TopList } from './top-list.ts';

/** A lease-holding replica with its load. */
export interface HotRange {
  readonly rangeId: number;
  readonly nodeId: number;
  readonly storeId: number;
  readonly place: Place;
  readonly queries: number;
  readonly writes: number;
  /** Undefined when the server does not report it. */
  readonly cpuSeconds: number | undefined;
}

/** The hottest ranges that are added, by queries and by CPU, and all that are on the lists already. */
export class HotCandidates {
  readonly byQueries: Candidates;
  readonly byCpu: Candidates;

  /** `of`: those of the whole scan, when these are of one node. */
  constructor(length: number, { byQueries, byCpu }: HotList, of?: HotCandidates) {
    this.byQueries = new Candidates(length, byQueries.members, of?.byQueries.floor);
    this.byCpu = new Candidates(length, byCpu.members, of?.byCpu.floor);
  }

  /** Whether a range with this load may get on a list. */
  wants(rangeId: number, queries: number, cpuSeconds: number | undefined): boolean {
    return this.byQueries.wants(rangeId, queries) || this.byCpu.wants(rangeId, cpuSeconds);
  }

  add(range: HotRange): void {
    this.byQueries.add(range, range.queries);
    this.byCpu.add(range, range.cpuSeconds);
  }

  addAll({ byQueries, byCpu }: HotCandidates): void {
    this.byQueries.addAll(byQueries);
    this.byCpu.addAll(byCpu);
  }
}

/** Twice the length of the list is enough: it holds as many newcomers as could get in. */
class Candidates {
  readonly #length: number;
  readonly #members: ReadonlySet<number>;
  #kept: { readonly range: HotRange; readonly id: number; readonly value: number }[] = [];
  /** No newcomer gets in that is not above. */
  floor: number;

  constructor(length: number, members: ReadonlySet<number>, floor = -1) {
    this.#length = length;
    this.#members = members;
    this.floor = floor;
  }

  wants(id: number, value: number | undefined): value is number {
    return value !== undefined && (value > this.floor || this.#members.has(id));
  }

  add(range: HotRange, value: number | undefined): void {
    if (!this.wants(range.rangeId, value)) return;
    this.#kept.push({ range, id: range.rangeId, value });
    if (this.#kept.length > 8 * this.#length) this.#cut();
  }

  addAll(others: Candidates): void {
    for (const { range, value } of others.list()) this.add(range, value);
  }

  /** Hottest first; one entry a range, though two stores may claim its lease for a moment. */
  list() {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    const byId = Map.groupBy(this.#kept.toSorted(byValue), ({ id }) => id);
    const distinct = [...byId.values()].flatMap((claims) => claims.slice(0, 1));
    const enough = 2 * this.#length;
    this.#kept = distinct.filter(({ id }, at) => at < enough || this.#members.has(id));
    const lowest = this.#length === 0 ? Infinity : (distinct[enough - 1]?.value ?? -1);
    this.floor = Math.max(this.floor, lowest);
  }
}

/** The list of hot ranges, from scan to scan: those with most queries and those with most CPU. */
export class HotList {
  readonly byQueries = new TopList();
  readonly byCpu = new TopList();

  /** The new list: at most `length` by each measure, the hottest by either first. */
  update({ byQueries, byCpu }: HotCandidates, length: number): readonly HotRange[] {
    const [queries, cpu] = [byQueries.list(), byCpu.list()];
    const byId = new Map([...cpu, ...queries].map(({ id, range }) => [id, range]));
    const ids = [this.byQueries.update(queries, length), this.byCpu.update(cpu, length)];
    return interleave(ids).flatMap((id) => byId.get(id) ?? []);
  }
}
