import { describe, expect, test } from 'vitest';
import { REPORTED_PROBLEMS } from '../../../src/base/vocabulary.ts';
import { NO_LEASE, ReplicaColumns } from '../../../src/collectors/ranges/replica.ts';
import { UNKNOWN_TABLE } from '../../../src/collectors/ranges/table-index.ts';
import { TopTables } from '../../../src/collectors/ranges/top-tables.ts';
import { tableIndexOf } from './table-index.ts';

/** Queries, CPU and ranges by table id. */
type Figures = Readonly<Record<number, readonly [queries: number, cpu: number, ranges: number]>>;

/** A replica of a table; a lease holder unless it has no ranges. */
function addReplica(columns: ReplicaColumns, id: string, load: Figures[number]): void {
  const [queries, cpuNanos, leases] = load;
  const index = columns.append();
  columns.tableIndexes[index] = tableIndexOf(`/Table/${id}/1`);
  columns.leases[index] = leases === 0 ? NO_LEASE : 1;
  columns.queries[index] = queries;
  columns.writes[index] = 10 * queries;
  columns.cpuNanos[index] = cpuNanos;
}

function choose(lists: TopTables, figures: Figures, length: number) {
  const columns = new ReplicaColumns();
  for (const [id, load] of Object.entries(figures)) {
    addReplica(columns, id, load);
    for (let more = 1; more < load[2]; more += 1) addReplica(columns, id, [0, 0, 1]);
  }
  lists.begin();
  lists.add({ nodeId: 1, replicas: columns, from: 0, to: columns.length });
  return lists.end(new Map(), length).loads;
}

describe('the tables by load', () => {
  test('are those with most queries, most CPU and most ranges; the rest is summed up', () => {
    const figures = {
      1: [9, 0, 1],
      2: [0, 9, 1],
      3: [0, 0, 9],
      4: [1, 2, 3],
      5: [2, 3, 4],
    } as const;
    const loads = choose(new TopTables(), { ...figures, 0: [7, 0, 5] }, 1);
    expect([...loads.keys()]).toEqual(['1', '2', '3', 'none', 'other']);
    expect(loads.get('other')).toEqual({ queries: 3, writes: 30, cpuNanos: 5, ranges: 7 });
    expect(loads.get('none')).toEqual({ queries: 7, writes: 70, cpuNanos: 0, ranges: 5 });
  });
});

/** Of the first problem only. */
function counts(first: number): number[] {
  return REPORTED_PROBLEMS.map((_, at) => (at === 0 ? first : 0));
}

test('the tables by problems are those with most, the rest and the unknown are other', () => {
  const byTable = new Map([7, 8, 9, 0, UNKNOWN_TABLE].map((id, at) => [id, counts(at + 1)]));
  const { problems, ids } = new TopTables().end(byTable, 2);
  expect(Array.from(problems, ([label, [first]]) => [label, first])).toEqual([
    ['9', 3],
    ['8', 2],
    ['other', 6],
    ['none', 4],
  ]);
  expect(ids).toEqual(['9', '8']);
});
