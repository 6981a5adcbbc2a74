import { interleave } from '../../interleave.ts';
import { type Places, UNKNOWN_TABLE } from './known-ranges.ts';
import { labelOfTable } from './range.ts';
import { TopList } from './top-list.ts';

type TableLoad = ReturnType<typeof emptyLoad>;

/** Load of the ranges that begin in a table, of lease-holding replicas but for the CPU, which is of all. */
function emptyLoad() {
  return { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };
}

function addLoads(one: TableLoad, other: TableLoad): TableLoad {
  return {
    ranges: one.ranges + other.ranges,
    queries: one.queries + other.queries,
    writes: one.writes + other.writes,
    cpuNanos: one.cpuNanos + other.cpuNanos,
  };
}

const COLUMNS = 4;
const GROWTH = 1.5;

/** By number of a place; of a node or a scan. In columns: as objects, hundreds of thousands take four times the memory. */
export class PlaceLoads {
  /** Of each place its ranges, queries, writes and CPU. */
  #values = new Float64Array(64 * COLUMNS);

  add(place: number, { ranges, queries, writes, cpuNanos }: TableLoad): void {
    const at = place * COLUMNS;
    if (at >= this.#values.length) {
      const larger = new Float64Array(Math.ceil(GROWTH * (place + 1)) * COLUMNS);
      larger.set(this.#values);
      this.#values = larger;
    }
    const values = this.#values;
    values[at] = (values[at] ?? 0) + ranges;
    values[at + 1] = (values[at + 1] ?? 0) + queries;
    values[at + 2] = (values[at + 2] ?? 0) + writes;
    values[at + 3] = (values[at + 3] ?? 0) + cpuNanos;
  }

  addAll(others: PlaceLoads): void {
    for (const [place, load] of others.#entries()) this.add(place, load);
  }

  /** By table id, 0 for ranges outside of tables. */
  byTable(places: Places): ReadonlyMap<number, TableLoad> {
    const byTable = new Map<number, TableLoad>();
    for (const [place, load] of this.#entries()) {
      const tableId = places.tableAt(place);
      const sum = byTable.get(tableId);
      byTable.set(tableId, sum === undefined ? load : addLoads(sum, load));
    }
    return byTable;
  }

  /** The places with any load. */
  *#entries(): Iterable<readonly [place: number, load: TableLoad]> {
    const values = this.#values;
    for (let at = 0; at < values.length; at += COLUMNS) {
      const [ranges = 0, queries = 0, writes = 0, cpuNanos = 0] = values.subarray(at, at + COLUMNS);
      if (ranges + queries + writes + cpuNanos === 0) continue;
      yield [at / COLUMNS, { ranges, queries, writes, cpuNanos }];
    }
  }
}

/** Which tables are shown, from scan to scan. */
export class TableLists {
  readonly #byQueries = new TopList();
  readonly #byCpu = new TopList();
  readonly #byRanges = new TopList();
  readonly #byProblems = new TopList();

  /**
   * Load and problems of the tables that are shown, by their label: an id, `none` outside of tables, `other` for the
   * rest. The most loaded come first; `problems` are distinct ranges by index of PROBLEMS.
   */
  update(
    byTable: ReadonlyMap<number, TableLoad>,
    problemsByTable: ReadonlyMap<number, readonly number[]>,
    length: number,
  ) {
    const shown = interleave([
      updateList(this.#byQueries, length, byTable, ({ queries }) => queries),
      updateList(this.#byCpu, length, byTable, ({ cpuNanos }) => cpuNanos),
      updateList(this.#byRanges, length, byTable, ({ ranges }) => ranges),
    ]);
    const loads = sumByLabel(byTable, shown, addLoads);
    for (const label of ['other', 'none']) {
      if (!loads.has(label)) loads.set(label, emptyLoad());
    }
    const worst = updateList(this.#byProblems, length, problemsByTable, (counts) =>
      counts.reduce((total, count) => total + count, 0),
    );
    const problems = sumByLabel(problemsByTable, worst, (one, other) =>
      one.map((count, at) => count + (other[at] ?? 0)),
    );
    const ids = [...new Set([...loads.keys(), ...problems.keys()])];
    return { ids: ids.filter((label) => label !== 'other' && label !== 'none'), loads, problems };
  }
}

/** The ids of the new list: of tables with most of what is measured. */
function updateList<T>(
  list: TopList,
  length: number,
  byTable: ReadonlyMap<number, T>,
  measure: (values: T) => number,
): readonly number[] {
  return list.update(rankTables(byTable, measure), length);
}

function* rankTables<T>(byTable: ReadonlyMap<number, T>, measure: (values: T) => number) {
  for (const [id, values] of byTable) {
    const value = measure(values);
    if (id !== 0 && id !== UNKNOWN_TABLE && value > 0) yield { id, value };
  }
}

/** By label: the shown tables in their order, then the others. */
function sumByLabel<T>(
  byTable: ReadonlyMap<number, T>,
  shown: readonly number[],
  add: (one: T, other: T) => T,
): Map<string, T> {
  const sums = new Map<string, T>();
  const isShown = new Set(shown);
  for (const id of isShown.union(byTable)) {
    const values = byTable.get(id);
    if (values === undefined) continue;
    const rest = id === 0 ? 'none' : 'other';
    const label = isShown.has(id) ? labelOfTable(id) : rest;
    const sum = sums.get(label);
    sums.set(label, sum === undefined ? values : add(sum, values));
  }
  return sums;
}
