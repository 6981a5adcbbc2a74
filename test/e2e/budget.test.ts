import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import { clusterYaml, type Scrape, startTestExporter } from '../support/exporter.ts';

/** The data families of the collectors. */
const FAMILIES: ReadonlyMap<string, readonly string[]> = new Map(
  COLLECTORS.map(({ name, families }) => [name, families.map((family) => family.name)]),
);

function countSeries(scrape: Scrape, collector: string): number {
  const names = FAMILIES.get(collector) ?? [];
  return names.reduce((sum, name) => sum + scrape.all(name).length, 0);
}

/** Series dropped over a budget so far, by family. */
function dropped(scrape: Scrape): Readonly<Record<string, number>> {
  const counters = scrape.all('crdb_exporter_series_dropped_total', { reason: 'budget' });
  return Object.fromEntries(counters.map(({ labels, value }) => [labels['family'], value]));
}

async function poll(simulator: Simulator, yaml: string): Promise<Scrape> {
  await using exporter = await startTestExporter({
    yaml: `${yaml}\nclusters:\n${clusterYaml(simulator)}`,
  });
  return await exporter.until((scrape) => {
    const success = scrape.all('crdb_exporter_collector_success');
    return success.length > 0 && success.every(({ value }) => value === 1);
  });
}

/** Range ids of a family of hot ranges. */
function rangesOf(scrape: Scrape, family: string): readonly (string | undefined)[] {
  return scrape.all(family).map(({ labels }) => labels['range_id']);
}

/** Collectors that hit their budget. */
function limited(scrape: Scrape): readonly (string | undefined)[] {
  const hit = scrape.all('crdb_exporter_collector_limit_hit', { limit: 'series' });
  return hit.filter(({ value }) => value === 1).map(({ labels }) => labels['collector']);
}

const DATA = ['nodes', 'ranges', 'sessions', 'tables'];

describe('a series budget', () => {
  test('of a collector cuts lists first, and counts what it drops', async () => {
    await using simulator = await startSimulator({
      nodes: 24,
      ranges: 900,
      frozen: true,
      metricKeys: 'useful',
    });
    const whole = await poll(simulator, '');
    const families = COLLECTORS.flatMap((collector) => collector.families);
    const lists = families.filter(({ list }) => list !== undefined).map(({ name }) => name);
    const hot = lists.filter((name) => name.startsWith('crdb_hot_range'));
    const maxSeries = countSeries(whole, 'ranges') - 9;
    expect(maxSeries).toBeGreaterThan(500);

    const cut = await poll(simulator, `collectors: { ranges: { max_series: ${maxSeries} } }`);
    expect(countSeries(cut, 'ranges')).toBeLessThanOrEqual(maxSeries);
    expect(cut.value('crdb_exporter_series', { collector: 'ranges' })).toBe(
      countSeries(cut, 'ranges'),
    );
    expect(Object.keys(dropped(cut)).every((family) => lists.includes(family))).toBe(true);
    expect(Object.values(dropped(cut)).reduce((a, b) => a + b, 0)).toBe(
      countSeries(whole, 'ranges') - countSeries(cut, 'ranges'),
    );
    const [ids = [], ...others] = hot.map((family) => rangesOf(cut, family));
    expect(ids).toEqual(rangesOf(whole, hot[0] ?? '').slice(0, 5));
    for (const other of others) expect(other).toEqual(ids);
    expect(limited(cut)).toEqual(['ranges']);
    expect(countSeries(cut, 'nodes')).toBe(countSeries(whole, 'nodes'));
  });

  test('of each collector never drops series of the whole cluster', async () => {
    await using simulator = await startSimulator({
      nodes: 24,
      ranges: 900,
      frozen: true,
      metricKeys: 'useful',
    });
    const metrics = 'metrics: ["sys.*"]';
    const whole = await poll(simulator, `collectors: { nodes: { ${metrics} } }`);
    const own = DATA.map((name) => {
      return `${name}: { max_series: 500${name === 'nodes' ? `, ${metrics}` : ''} }`;
    });
    const cut = await poll(simulator, `collectors: { ${own.join(', ')} }`);
    const ofCluster = COLLECTORS.flatMap(({ families }) => families)
      .filter(({ importance }) => importance === 'cluster')
      .map(({ name }) => name);
    const countOf = (scrape: Scrape): readonly (readonly [string, number])[] =>
      ofCluster.map((name) => [name, scrape.all(name).length]);
    expect(countOf(whole).filter(([, count]) => count > 0).length).toBeGreaterThan(10);
    expect(countOf(cut)).toEqual(countOf(whole));
    expect(cut.all('crdb_range_problem_ranges')).toEqual(whole.all('crdb_range_problem_ranges'));
    const above = DATA.filter((name) => countSeries(whole, name) > 500);
    expect(above).toEqual(expect.arrayContaining(['nodes', 'ranges']));
    for (const name of DATA) expect(countSeries(cut, name)).toBeLessThanOrEqual(500);
    expect(limited(cut)).toEqual(above);
    expect(cut.all('crdb_node_metric')).toEqual([]);
  });
});
