import { sum } from '#base';
import { interleave, StableRanking } from '../stable-ranking.ts';
import type { ReplicaSlice } from './problem-ranges.ts';
import { NO_LEASE } from './replica.ts';
import type { ShownTables, TableLoad } from './scan-result.ts';
import { labelOfTable, tableOf, UNKNOWN_TABLE } from './table-index.ts';

/** Tables with a load of their own in a scan: those of 1,500,000 tables would fill the memory. The rest counts together. */
const MAX_TABLE_LOADS = 65_000;
const NO_LOAD: TableLoad = { ranges: 0, queries: 0, writes: 0, cpuNanos: 0 };

/** The lists of tables that are shown, from scan to scan. */
export class TopTables {
  readonly #byLoad = (['queries', 'cpuNanos', 'ranges'] as const).map((measure) => ({
    measure,
    list: new StableRanking(),
  }));
  readonly #byProblems = new StableRanking();
  /** The loads of this scan by table id; 0 is for ranges outside of tables. */
  #loads = new Map<number, TableLoad>();

  begin(): void {
    this.#loads = new Map();
  }

  add({ replicas, from, to }: ReplicaSlice): void {
    for (let index = from; index < to; index += 1) {
      let tableId = tableOf(replicas.tableIndexes[index] ?? 0);
      if (this.#loads.size >= MAX_TABLE_LOADS && !this.#loads.has(tableId)) tableId = UNKNOWN_TABLE;
      let load = this.#loads.get(tableId);
      if (load === undefined) this.#loads.set(tableId, (load = { ...NO_LOAD }));
      load.cpuNanos += replicas.cpuNanos[index] ?? 0;
      if (replicas.leases[index] === NO_LEASE) continue;
      load.ranges += 1;
      load.queries += replicas.queries[index] ?? 0;
      load.writes += replicas.writes[index] ?? 0;
    }
  }

  /** Ends the scan. `problemsByTable` has distinct ranges by table id, then by index of REPORTED_PROBLEMS. */
  end(problemsByTable: ReadonlyMap<number, readonly number[]>, length: number): ShownTables {
    const loads = this.#loads;
    const loaded = interleave(
      this.#byLoad.map(({ list, measure }) =>
        list.rank(length, loads, (load, id) => (isTable(id) ? load[measure] : 0)),
      ),
    );
    const worst = this.#byProblems.rank(length, problemsByTable, (counts, id) =>
      isTable(id) ? sum(counts) : 0,
    );
    const shownLoads = sumByLabel(loads, loaded, (a, b) => ({
      ranges: a.ranges + b.ranges,
      queries: a.queries + b.queries,
      writes: a.writes + b.writes,
      cpuNanos: a.cpuNanos + b.cpuNanos,
    }));
    for (const label of ['other', 'none']) shownLoads.set(label, shownLoads.get(label) ?? NO_LOAD);
    const problems = sumByLabel(problemsByTable, worst, (a, b) =>
      a.map((count, problem) => count + (b[problem] ?? 0)),
    );
    const ids = new Set([...loaded, ...worst]);
    return { ids: Array.from(ids, labelOfTable), loads: shownLoads, problems };
  }
}

/** Whether this is the id of a table, and not what stands for all else. */
function isTable(id: number): boolean {
  return id !== 0 && id !== UNKNOWN_TABLE;
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
    const before = sums.get(label);
    sums.set(label, before === undefined ? values : add(before, values));
  }
  return sums;
}
