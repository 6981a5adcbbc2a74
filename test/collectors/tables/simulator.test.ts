import { expect, test } from 'vitest';
import { tables } from '../../../src/collectors/tables/collector.ts';
import { startSimulator } from '../../../src/simulator/index.ts';
import { simulatedApi } from '../ranges/simulated.ts';
import { poll, type Polled } from '../support.ts';

/** Sample values of a family by label text without braces. */
function valuesOf(of: Polled['of'], family: string): ReadonlyMap<string, number> {
  const lines = of(family).map((line) => /^\{(.*)\} (\S+)$/.exec(line));
  return new Map(lines.map((line) => [line?.[1] ?? '', Number(line?.[2])]));
}

function sumOf(values: Iterable<number>): number {
  return [...values].reduce((sum, value) => sum + value, 0);
}

test('sizes of all tables match the simulator, over several pages', async () => {
  await using simulator = await startSimulator({
    frozen: true,
    extraTables: 1200,
    quirks: { tableCacheAgeMs: 0 },
  });
  await using cluster = simulatedApi(simulator);
  const truth = simulator.truth().tables;
  const options = { tables: [], discover: 'auto', max_tables: 1000 } as const;
  const polled = await poll(tables, cluster.api, { options, state: undefined });
  const sizes = valuesOf(polled.of, 'crdb_table_size_bytes');
  expect(sizes.size).toBe(1001);
  expect(sumOf(sizes.values())).toBe(sumOf(truth.map((table) => table.replicatedBytes)));
  for (const { database, schema, table, replicatedBytes, dataBytes, liveBytes } of truth.slice(
    0,
    7,
  )) {
    const labels = `database="${database}",schema="${schema}",table="${table}"`;
    expect([
      sizes.get(labels),
      valuesOf(polled.of, 'crdb_table_data_bytes').get(labels),
      valuesOf(polled.of, 'crdb_table_live_data_bytes').get(labels),
    ]).toEqual([replicatedBytes, dataBytes, liveBytes]);
  }
  expect(valuesOf(polled.of, 'crdb_tables').get('database="movr"')).toBe(5);
  expect(simulator.requests.count('table_metadata')).toBe(3);
  expect([...cluster.decodeErrors.values()].filter((count) => count > 0)).toEqual([]);
});
