import { expect } from 'vitest';
import type { Truth } from '../../../src/simulator/index.ts';
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
    for (const [effect, { least, most }] of [
      ['quorum', each.quorum] as const,
      ['all_replicas', each.allReplicas] as const,
      ...('withoutQuorum' in each ? [['without_quorum', each.withoutQuorum] as const] : []),
    ]) {
      const value = found[`${labels},effect="${effect}"`] ?? NaN;
      expect([labels, effect, value >= least && value <= most, value, least, most]).toEqual([
        labels,
        effect,
        true,
        value,
        least,
        most,
      ]);
    }
  }
}
