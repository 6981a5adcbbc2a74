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

/** By number of a place; of a node or a scan. */
export class PlaceLoads {
  readonly #loads: TableLoad[] = [];

  of(place: number): TableLoad {
    return (this.#loads[place] ??= emptyLoad());
  }

  addAll(others: PlaceLoads): void {
    others.#loads.forEach((load, place) => {
      this.#loads[place] = addLoads(this.of(place), load);
    });
  }

  /** By table (see `tableOf`). */
  byTable(places: Places): ReadonlyMap<number, TableLoad> {
    const byTable = new Map<number, TableLoad>();
    this.#loads.forEach((load, number) => {
      const tableId = places.tableAt(number);
      byTable.set(tableId, addLoads(byTable.get(tableId) ?? emptyLoad(), load));
    });
    return byTable;
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
  const ranked = Array.from(byTable, ([id, values]) => ({ id, value: measure(values) }));
  const tables = ranked.filter(({ id, value }) => id !== 0 && id !== UNKNOWN_TABLE && value > 0);
  return list.update(tables, length);
}

/** By label: the shown tables in their order, then the others. */
function sumByLabel<T>(
  byTable: ReadonlyMap<number, T>,
  shown: readonly number[],
  add: (one: T, other: T) => T,
): Map<string, T> {
  const sums = new Map<string, T>();
  const isShown = new Set(shown);
  for (const id of new Set([...isShown, ...byTable.keys()])) {
    const values = byTable.get(id);
    if (values === undefined) continue;
    const rest = id === 0 ? 'none' : 'other';
    const label = isShown.has(id) ? labelOfTable(id) : rest;
    const sum = sums.get(label);
    sums.set(label, sum === undefined ? values : add(sum, values));
  }
  return sums;
}
