import { expect } from 'vitest';
import type { Truth } from '../../../simulator/index.ts';
import type { Polled } from './cluster.ts';

/** Sample values of a family, by label text without braces. */
export function valuesOf({ of }: Polled, family: string): Record<string, number> {
  const entries = of(family).map((line) => {
    const [labels = '', value = ''] = line.split(' ');
    return [labels.slice(1, -1), Number(value)] as const;
  });
  return Object.fromEntries(entries);
}

export function expectTables(polled: Polled, { ranges: { tables } }: Truth): void {
  const labelled = (value: (table: Truth['ranges']['tables'][string]) => number) =>
    Object.fromEntries(
      Object.entries(tables).map(([id, table]) => [`table_id="${id}",shard="0"`, value(table)]),
    );
  const others = { 'table_id="other",shard="0"': 0, 'table_id="none",shard="0"': 0 };
  const leases = valuesOf(polled, 'crdb_range_table_ranges');
  expect(leases).toEqual({ ...others, ...labelled((table) => table.leases) });
  for (const [family, value] of [
    ['queries', (table: Truth['ranges']['tables'][string]) => table.queriesPerSecond],
    ['writes', (table: Truth['ranges']['tables'][string]) => table.writesPerSecond],
    ['cpu_seconds', (table: Truth['ranges']['tables'][string]) => table.cpuNanosPerSecond / 1e9],
  ] as const) {
    const found = valuesOf(polled, `crdb_range_table_${family}_per_second`);
    for (const [labels, expected] of Object.entries(labelled(value))) {
      expect(found[labels]).toBeCloseTo(expected, 6);
    }
  }
  const problems = Object.entries(tables).flatMap(([id, table]) =>
    Object.entries(table.problems)
      .filter(([, count]) => count > 0)
      .map(([problem, count]) => [`table_id="${id}",problem="${problem}",shard="0"`, count]),
  );
  expect(valuesOf(polled, 'crdb_range_table_problem_ranges')).toEqual(Object.fromEntries(problems));
}

export function expectDependence(polled: Polled, { dependence }: Truth): void {
  const found: Record<string, number> = {
    ...valuesOf(polled, 'crdb_node_dependent_ranges'),
    ...valuesOf(polled, 'crdb_locality_dependent_ranges'),
  };
  const domains = [
    ...Object.entries(dependence.nodes).map(([id, each]) => [`node_id="${id}"`, each] as const),
    ...Object.entries(dependence.localities).map(([name, each]) => {
      const [tier, locality] = name.split(' ');
      return [`tier="${tier}",locality="${locality}"`, each] as const;
    }),
  ];
  expect(Object.keys(found)).toHaveLength(
    3 * Object.keys(dependence.nodes).length + 2 * Object.keys(dependence.localities).length,
  );
  for (const [labels, each] of domains) {
    for (const [effect, expected] of [
      ['quorum', each.quorum] as const,
      ['all_replicas', each.allReplicas] as const,
      ...(labels.startsWith('node_id') ? [['without_quorum', each.withoutQuorum] as const] : []),
    ]) {
      expect([labels, effect, found[`${labels},effect="${effect}"`]]).toEqual([
        labels,
        effect,
        expected,
      ]);
    }
  }
}

/** What is summed up by store. */
export function expectStores(polled: Polled, { stores }: Truth): void {
  const filled = stores.filter(({ replicas }) => replicas > 0);
  const byStore = (value: (store: Truth['stores'][number]) => number): Record<string, number> =>
    Object.fromEntries(
      filled.map((store) => [
        `node_id="${store.nodeId}",store_id="${store.storeId}"`,
        value(store),
      ]),
    );
  expect(valuesOf(polled, 'crdb_range_replicas')).toEqual(byStore((store) => store.replicas));
  expect(valuesOf(polled, 'crdb_range_leases')).toEqual(byStore((store) => store.leases));
  expect(valuesOf(polled, 'crdb_range_replicas_quiescent')).toEqual(byStore((s) => s.quiescent));
  expect(valuesOf(polled, 'crdb_range_replicas_ticking')).toEqual(byStore((s) => s.ticking));
  const queries = valuesOf(polled, 'crdb_store_queries_per_second');
  for (const [labels, value] of Object.entries(byStore((store) => store.queriesPerSecond))) {
    expect(queries[labels]).toBeCloseTo(value, 6);
  }
  const cpu = valuesOf(polled, 'crdb_store_cpu_seconds_per_second');
  for (const [labels, value] of Object.entries(byStore((store) => store.cpuNanosPerSecond))) {
    expect(cpu[labels]).toBeCloseTo(value / 1e9, 9);
  }
  const problems = valuesOf(polled, 'crdb_range_problem_replicas');
  for (const store of filled) {
    for (const [problem, count] of Object.entries(store.problems)) {
      const labels = `problem="${problem}",node_id="${store.nodeId}",store_id="${store.storeId}"`;
      expect([labels, problems[labels]]).toEqual([labels, count || undefined]);
    }
  }
}

/** The counts of distinct ranges. */
export function expectRanges(polled: Polled, { ranges: truth }: Truth): void {
  expect(valuesOf(polled, 'crdb_ranges')).toEqual({ 'shard="0"': truth.distinct });
  const problems = valuesOf(polled, 'crdb_range_problem_ranges');
  for (const [problem, count] of Object.entries(truth.problems)) {
    const counted = problems[`problem="${problem}",shard="0"`];
    expect([problem, counted]).toEqual([problem, count]);
  }
  const byReplicas = valuesOf(polled, 'crdb_ranges_by_replicas');
  for (const count of [1, 2, 3, 4, 5, 6, 7]) {
    expect(byReplicas[`replicas="${count}",shard="0"`]).toBe(truth.byReplicas[count] ?? 0);
  }
  const kinds = valuesOf(polled, 'crdb_ranges_by_lease_kind');
  for (const [kind, count] of Object.entries(truth.byLeaseKind)) {
    expect([kind, kinds[`kind="${kind}",shard="0"`]]).toEqual([kind, count]);
  }
  const held = truth.hot.map(({ queriesPerSecond }) => queriesPerSecond);
  const byQueries = valuesOf(polled, 'crdb_ranges_by_queries_per_second_bucket');
  for (const upper of [1, 10, 50, 100, 250, 500, 1000, 2500, 5000]) {
    const count = held.filter((queries) => queries <= upper).length;
    expect(byQueries[`le="${upper}",shard="0"`]).toBe(count);
  }
  expect(byQueries['le="+Inf",shard="0"']).toBe(held.length);
}
