import { interleave } from '../../interleave.ts';
import { PROBLEMS } from '../../vocabulary.ts';
import { type Places, UNKNOWN_TABLE } from './known-ranges.ts';
import { type Ranked, TopList } from './top-list.ts';

type TableLoad = ReturnType<typeof emptyLoad>;

/** By number of a place; of a node or a scan. */
export class PlaceLoads {
  readonly #loads: TableLoad[] = [];

  of(place: number): TableLoad {
    return (this.#loads[place] ??= emptyLoad());
  }

  addAll(others: PlaceLoads): void {
    others.#loads.forEach((load, place) => {
      addLoad(this.of(place), load);
    });
  }

  /** By table id, 0 for ranges outside of tables. */
  byTable(places: Places): ReadonlyMap<number, TableLoad> {
    const byTable = new Map<number, TableLoad>();
    this.#loads.forEach((load, number) => {
      const tableId = places.tableAt(number);
      const total = byTable.get(tableId) ?? emptyLoad();
      byTable.set(tableId, total);
      addLoad(total, load);
    });
    return byTable;
  }
}

/** Load of the ranges that begin in a table, of lease-holding replicas but for the CPU, which is of all. */
function emptyLoad() {
  return { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };
}

function addLoad(to: TableLoad, load: TableLoad): void {
  to.ranges += load.ranges;
  to.queries += load.queries;
  to.writes += load.writes;
  to.cpuNanos += load.cpuNanos;
}

/** Which tables are shown, from scan to scan. */
export class TableLists {
  readonly #byQueries = new TopList();
  readonly #byCpu = new TopList();
  readonly #byRanges = new TopList();
  readonly #byProblems = new TopList();

  /**
   * Figures of the tables that are shown, by their label: an id, `none` outside of tables, `other` for the rest. The most
   * loaded come first; `problems` are distinct ranges by index of PROBLEMS.
   */
  update(
    byTable: ReadonlyMap<number, TableLoad>,
    problemsByTable: ReadonlyMap<number, readonly number[]>,
    length: number,
  ) {
    const shown = [
      this.#byQueries.update(
        rankTables(byTable, ({ queries }) => queries),
        length,
      ),
      this.#byCpu.update(
        rankTables(byTable, ({ cpuNanos }) => cpuNanos),
        length,
      ),
      this.#byRanges.update(
        rankTables(byTable, ({ ranges }) => ranges),
        length,
      ),
    ];
    const loads = new Map<string, TableLoad>();
    for (const [label, values] of labelled(byTable, interleave(shown))) {
      const total = loads.get(label) ?? emptyLoad();
      addLoad(total, values);
      loads.set(label, total);
    }
    for (const label of ['other', 'none']) {
      if (!loads.has(label)) loads.set(label, emptyLoad());
    }
    const worst = this.#byProblems.update(rankTables(problemsByTable, sum), length);
    const problems = new Map<string, readonly number[]>();
    for (const [label, counts] of labelled(problemsByTable, worst)) {
      const before = problems.get(label);
      problems.set(
        label,
        PROBLEMS.map((_, at) => (counts[at] ?? 0) + (before?.[at] ?? 0)),
      );
    }
    const ids = [...new Set([...loads.keys(), ...problems.keys()])];
    return { ids: ids.filter((label) => label !== 'other' && label !== 'none'), loads, problems };
  }
}

function* rankTables<T>(
  byTable: ReadonlyMap<number, T>,
  measure: (values: T) => number,
): Iterable<Ranked> {
  for (const [id, values] of byTable) {
    const value = measure(values);
    if (id !== 0 && id !== UNKNOWN_TABLE && value > 0) yield { id, value };
  }
}

/** The shown tables in their order, then the others. */
function* labelled<T>(
  byTable: ReadonlyMap<number, T>,
  shown: readonly number[],
): Iterable<readonly [label: string, values: T]> {
  for (const id of shown) {
    const values = byTable.get(id);
    if (values !== undefined) yield [String(id), values];
  }
  const isShown = new Set(shown);
  for (const [id, values] of byTable) {
    if (!isShown.has(id)) yield [id === 0 ? 'none' : 'other', values];
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
