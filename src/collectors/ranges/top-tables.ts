import { interleave, type Ranked, Candidates, TopList } from '../top-list.ts';
import { labelOfTable, type TableIndexes, UNKNOWN_TABLE } from './replica.ts';

/** Load of the ranges that begin in a table: of lease-holding replicas, except the CPU, which is of all replicas. */
export interface TableLoad {
  readonly ranges: number;
  readonly queries: number;
  readonly writes: number;
  readonly cpuNanos: number;
}

/** The tables that are shown, by their label: an id, `none` outside of tables, `other` for the sum of the others. */
export interface ShownTables {
  /** The ids among the labels, without `none` and `other`. */
  readonly ids: readonly string[];
  /** The most loaded tables first. */
  readonly loads: ReadonlyMap<string, TableLoad>;
  /** Distinct ranges by index of REPORTED_PROBLEMS. */
  readonly problems: ReadonlyMap<string, readonly number[]>;
}

const NO_LOAD: TableLoad = { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };

function addLoads(a: TableLoad, b: TableLoad): TableLoad {
  return {
    ranges: a.ranges + b.ranges,
    queries: a.queries + b.queries,
    writes: a.writes + b.writes,
    cpuNanos: a.cpuNanos + b.cpuNanos,
  };
}

const COLUMNS = 4;
const GROWTH = 1.5;

/**
 * Loads by number of the table index, of a node or of a scan. They are columns because the objects of hundreds of thousands
 * of table indexes would take four times the memory.
 */
export class TableLoads {
  /** Ranges, queries, writes and CPU of number 0, then of number 1 … */
  #values = new Float64Array(64 * COLUMNS);

  add(tableIndex: number, { ranges, queries, writes, cpuNanos }: TableLoad): void {
    const first = tableIndex * COLUMNS;
    if (first >= this.#values.length) {
      const larger = new Float64Array(Math.ceil(GROWTH * (tableIndex + 1)) * COLUMNS);
      larger.set(this.#values);
      this.#values = larger;
    }
    const values = this.#values;
    values[first] = (values[first] ?? 0) + ranges;
    values[first + 1] = (values[first + 1] ?? 0) + queries;
    values[first + 2] = (values[first + 2] ?? 0) + writes;
    values[first + 3] = (values[first + 3] ?? 0) + cpuNanos;
  }

  addAll(others: TableLoads): void {
    for (const [tableIndex, load] of others.#entries()) this.add(tableIndex, load);
  }

  /** Sums by table id; 0 is for ranges outside of tables. */
  byTable(indexes: TableIndexes): ReadonlyMap<number, TableLoad> {
    const byTable = new Map<number, TableLoad>();
    for (const [tableIndex, load] of this.#entries()) {
      const tableId = indexes.tableOf(tableIndex);
      byTable.set(tableId, addLoads(byTable.get(tableId) ?? NO_LOAD, load));
    }
    return byTable;
  }

  /** The table indexes with any load. */
  *#entries(): Iterable<readonly [tableIndex: number, load: TableLoad]> {
    const values = this.#values;
    for (let first = 0; first < values.length; first += COLUMNS) {
      const [ranges = 0, queries = 0, writes = 0, cpuNanos = 0] = values.subarray(
        first,
        first + COLUMNS,
      );
      if (ranges + queries + writes + cpuNanos === 0) continue;
      yield [first / COLUMNS, { ranges, queries, writes, cpuNanos }];
    }
  }
}

/** The lists of tables that are shown, from scan to scan. */
export class TopTables {
  readonly #byQueries = new TopList();
  readonly #byCpu = new TopList();
  readonly #byRanges = new TopList();
  readonly #byProblems = new TopList();

  /** Both maps are by table id; `problemsByTable` has distinct ranges by index of REPORTED_PROBLEMS. */
  update(
    loadByTable: ReadonlyMap<number, TableLoad>,
    problemsByTable: ReadonlyMap<number, readonly number[]>,
    length: number,
  ): ShownTables {
    const loaded = interleave([
      updateList(this.#byQueries, length, loadByTable, ({ queries }) => queries),
      updateList(this.#byCpu, length, loadByTable, ({ cpuNanos }) => cpuNanos),
      updateList(this.#byRanges, length, loadByTable, ({ ranges }) => ranges),
    ]);
    const loads = sumByLabel(loadByTable, loaded, addLoads);
    for (const label of ['other', 'none']) loads.set(label, loads.get(label) ?? NO_LOAD);
    const worst = updateList(this.#byProblems, length, problemsByTable, (counts) =>
      counts.reduce((total, count) => total + count, 0),
    );
    const problems = sumByLabel(problemsByTable, worst, (a, b) =>
      a.map((count, problem) => count + (b[problem] ?? 0)),
    );
    const ids = new Set([...loaded, ...worst]);
    return { ids: Array.from(ids, labelOfTable), loads, problems };
  }
}

/** The ids of the new list, of tables with most of what is measured. */
function updateList<T>(
  list: TopList,
  length: number,
  byTable: ReadonlyMap<number, T>,
  measure: (values: T) => number,
): readonly number[] {
  const candidates = new Candidates<Ranked>(list, length);
  for (const [id, values] of byTable) {
    const value = measure(values);
    if (id !== 0 && id !== UNKNOWN_TABLE && value > 0) candidates.add({ id, value });
  }
  return list.update(candidates.entries(), length).map(({ id }) => id);
}

/** Adds up by label: the shown tables in their order, then the sums of the others. */
function sumByLabel<T>(
  byTable: ReadonlyMap<number, T>,
  shownIds: readonly number[],
  add: (a: T, b: T) => T,
): Map<string, T> {
  const sums = new Map<string, T>();
  const shown = new Set(shownIds);
  for (const id of shown.union(byTable)) {
    const values = byTable.get(id);
    if (values === undefined) continue;
    const sumLabel = id === 0 ? 'none' : 'other';
    const label = shown.has(id) ? labelOfTable(id) : sumLabel;
    const sum = sums.get(label);
    sums.set(label, sum === undefined ? values : add(sum, values));
  }
  return sums;
}
