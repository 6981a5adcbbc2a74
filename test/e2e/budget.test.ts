import { describe, expect, test } from 'vitest';
import { COLLECTORS } from '../../src/collectors/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { clusterYaml, type Scrape, startTestExporter } from '../support/exporter.ts';

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 5, ranges: 200, frozen: true, metricKeys: 'useful' });
}

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

/** Applications that have sessions, with their users. */
function pairsOf(scrape: Scrape): ReadonlySet<string> {
  const samples = scrape.all('crdb_application_sessions');
  return new Set(samples.map(({ labels }) => `${labels['application']} ${labels['user']}`));
}

function sessionsOf(scrape: Scrape): number {
  return scrape.all('crdb_application_sessions').reduce((sum, { value }) => sum + value, 0);
}

describe('a budget of series', () => {
  test('of a collector takes its least important series first, counts them and says so', async () => {
    await using simulator = await simulate();
    const whole = await poll(simulator, '');
    const hot = FAMILIES.get('ranges')?.filter((name) => name.startsWith('crdb_hot_range')) ?? [];
    const hotSeries = hot.reduce((sum, name) => sum + whole.all(name).length, 0);
    expect(hotSeries).toBeGreaterThan(10);
    const maxSeries = countSeries(whole, 'ranges') - hotSeries + 5;

    const cut = await poll(simulator, `collectors: { ranges: { max_series: ${maxSeries} } }`);
    expect(countSeries(cut, 'ranges')).toBe(maxSeries);
    expect(cut.value('crdb_exporter_series', { collector: 'ranges' })).toBe(maxSeries);
    expect(Object.keys(dropped(cut)).every((family) => hot.includes(family))).toBe(true);
    expect(Object.values(dropped(cut)).reduce((a, b) => a + b, 0)).toBe(hotSeries - 5);
    const limit = { limit: 'series' };
    const hit = cut.all('crdb_exporter_collector_limit_hit', limit);
    expect(hit.filter(({ value }) => value === 1).map(({ labels }) => labels['collector'])).toEqual(
      ['ranges'],
    );
    expect(countSeries(cut, 'nodes')).toBe(countSeries(whole, 'nodes'));
  });

  test('of a cluster drops the metrics by key before anything else', async () => {
    await using simulator = await simulate();
    const nodes = 'nodes: { metrics: ["sys.*", "sql.*"] }';
    const whole = await poll(simulator, `collectors: { ${nodes} }`);
    const byKey = whole.all('crdb_node_metric').length;
    expect(byKey).toBeGreaterThan(10);
    const others = ['nodes', 'ranges', 'sessions'].reduce(
      (sum, collector) => sum + countSeries(whole, collector),
      -byKey,
    );
    await using exporter = await startTestExporter({
      yaml: `max_series: ${others + 3}\ncollectors: { ${nodes} }\nclusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
    });
    // The collectors end their first polls in any order; the next ones know of each other.
    const settled = await exporter.until(
      (scrape) =>
        scrape.all('crdb_node_metric').length === 3 && scrape.all('crdb_ranges').length > 0,
    );
    expect(Object.keys(dropped(settled))).toContain('crdb_node_metric');
    const kept = ['nodes', 'ranges', 'sessions'].map((name) => countSeries(settled, name));
    expect(kept.reduce((a, b) => a + b, 0)).toBe(others + 3);
  });

  test('of application names folds the rest into `other`', async () => {
    await using simulator = await simulate();
    const whole = await poll(simulator, '');
    const cut = await poll(simulator, 'collectors: { sessions: { max_applications: 2 } }');
    expect(pairsOf(whole).size).toBeGreaterThan(3);
    expect(pairsOf(cut).size).toBe(3);
    expect(pairsOf(cut)).toContain('other other');
    expect(sessionsOf(cut)).toBe(sessionsOf(whole));
  });
});
