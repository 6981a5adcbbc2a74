import { expect, test } from 'vitest';
import { boundOf } from '../../../src/cli/commands/diagnose.ts';
import { DEFAULT_METRICS } from '../../../src/cli/commands/reference.ts';
import { COLLECTORS } from '../../../src/collectors/index.ts';
import { EXPORTER_FAMILIES } from '../../../src/metrics/exporter-families.ts';
import type { SeriesCount } from '../../../src/metrics/family.ts';
import { startSimulator } from '../../../src/simulator/index.ts';
import { everyCollector } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';

const NODES = 7;
const STORES_PER_NODE = 2;

/** What the words of the reference stand for in the cluster below. */
const SIZES: Readonly<Record<SeriesCount, number>> = {
  APIs: 1,
  URLs: 1,
  certificates: 10,
  'chosen keys': 0,
  collectors: COLLECTORS.length,
  endpoints: 9,
  families: 200,
  'locality tiers': 2,
  nodes: NODES,
  privileges: 10,
  'status codes': 5,
  stores: NODES * STORES_PER_NODE,
  tables: 2,
  'tables named by ranges': 1,
};

test('no family has more series than the reference says', async () => {
  await using simulator = await startSimulator({
    nodes: NODES,
    storesPerNode: STORES_PER_NODE,
    ranges: 200,
    metricKeys: 'useful',
  });
  await using exporter = await startTestExporter({
    yaml: `${everyCollector({ tables: { tables: ['movr.public.rides', 'movr.public.users'] } })}clusters:\n${clusterYaml(simulator)}`,
  });
  const scrape = await exporter.until((seen) =>
    seen.all('crdb_exporter_collector_success').every(({ value }) => value === 1),
  );
  const families = [
    ...COLLECTORS.flatMap((collector) => {
      const options = Object.entries(collector.options).map(([key, spec]) => [key, spec.default]);
      return collector.families.map((family) => ({ family, options: Object.fromEntries(options) }));
    }),
    ...EXPORTER_FAMILIES.map((family) => ({
      family,
      options: {},
    })),
  ];
  const tooMany = families.flatMap(({ family, options }) => {
    const most = boundOf(family, SIZES, options);
    const count = scrape.samples.filter(
      ({ name }) => name.replace(/_(bucket|sum|count)$/, '') === family.name,
    ).length;
    return count > most ? [`${family.name}: ${count}, not ${most}`] : [];
  });
  expect(tooMany).toEqual([]);
  expect(scrape.all('crdb_node_liveness').length).toBe(8 * NODES);
});

test('the process has no metrics that the reference does not name', async () => {
  await using simulator = await startSimulator({ nodes: 1, ranges: 1, sessions: 0 });
  await using exporter = await startTestExporter({ yaml: `clusters:\n${clusterYaml(simulator)}` });
  const { samples } = await exporter.scrape();
  const known = new Set(DEFAULT_METRICS.map(({ name }) => name));
  const ofProcess = samples
    .map(({ name }) => name.replace(/^(nodejs_gc_duration_seconds)_\w+$/, '$1'))
    .filter((name) => /^(process|nodejs)_/.test(name));
  expect(ofProcess.length).toBeGreaterThan(10);
  expect(ofProcess.filter((name) => !known.has(name))).toEqual([]);
});
