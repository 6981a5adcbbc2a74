import { describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { clusterYaml, startTestExporter } from '../support/exporter.ts';

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
}

const NODES = { collector: 'nodes', shard: '0' };

describe.concurrent('the reason of a failed poll', () => {
  const cases: readonly (readonly [string, Parameters<Simulator['fault']>[0], string])[] = [
    ['a 500', { kind: 'status', status: 500 }, 'http'],
    ['a 503', { kind: 'status', status: 503 }, 'http'],
    ['a 429', { kind: 'status', status: 429, headers: { 'retry-after': '1' } }, 'http'],
    ['a 400', { kind: 'status', status: 400, body: 'bad limit' }, 'http'],
    ['a 307', { kind: 'redirect', location: 'https://elsewhere.invalid/' }, 'http'],
    ['a 403', { kind: 'status', status: 403 }, 'forbidden'],
    ['a 401 on every header', { kind: 'status', status: 401 }, 'auth'],
    ['a 404', { kind: 'status', status: 404 }, 'not_available'],
    ['a 501', { kind: 'status', status: 501 }, 'not_available'],
    ['a 204', { kind: 'no-content' }, 'decode'],
    ['an empty 200', { kind: 'empty' }, 'decode'],
    ['text with 200', { kind: 'text' }, 'decode'],
    ['HTML with 200', { kind: 'html' }, 'decode'],
    ['half a document', { kind: 'bad-json' }, 'decode'],
    ['a reset connection', { kind: 'reset' }, 'network'],
    ['a body cut short', { kind: 'cut', bytes: 500 }, 'network'],
    ['fewer bytes than announced', { kind: 'wrong-length' }, 'network'],
  ];

  test.each(cases)('%s', async (_name, fault, reason) => {
    await using simulator = await simulate();
    const handle = simulator.fault({ endpoint: 'nodes', ...fault });
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
    });
    const failed = await exporter.until(
      (scrape) =>
        (scrape.value('crdb_exporter_poll_failures_total', { ...NODES, reason }) ?? 0) > 0,
    );
    expect(failed.value('crdb_exporter_collector_success', NODES)).toBe(0);
    expect(failed.value('crdb_up', { api: 'cluster' })).toBe(0);
    expect(failed.all('crdb_nodes')).toEqual([]);
    expect(exporter.log()).toMatch(new RegExp(`level=warn .*collector=nodes .*reason=${reason}`));

    handle.remove();
    const good = await exporter.until(
      (scrape) => scrape.value('crdb_up', { api: 'cluster' }) === 1,
    );
    expect(good.all('crdb_nodes').length).toBeGreaterThan(0);
  });
});

describe('a timeout that is no whole number of milliseconds in floating point', () => {
  test('is a timeout like others', async () => {
    await using simulator = await simulate();
    await using exporter = await startTestExporter({
      yaml: `collectors: { nodes: { timeout: 1s3ms } }\nclusters:\n${clusterYaml(simulator, { more: ', timeout: 1s9ms' })}`,
      intervalSeconds: 0.2,
    });
    const seen = await exporter.until((scrape) => scrape.value('crdb_up') === 1);
    expect(seen.value('crdb_exporter_collector_success', NODES)).toBe(1);
  });
});
