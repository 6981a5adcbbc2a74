import { describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import {
  clusterYaml,
  readScrape,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../../support/exporter.ts';

interface Probed extends AsyncDisposable {
  readonly exporter: TestExporter;
  readonly simulator: Simulator;
  probe(query?: string, headers?: Readonly<Record<string, string>>): Promise<Scrape>;
  /** Requests that the simulator has seen, by endpoint. */
  count(endpoint: string): number;
}

const COLLECTORS = onlyCollectors({ nodes: {}, ranges: {}, sessions: {}, tables: {} });

/** An exporter with one cluster that only /probe polls. */
async function openProbed({ intervalSeconds = 600, more = '' } = {}): Promise<Probed> {
  const simulator = await startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
  const exporter = await startTestExporter({
    yaml: `${COLLECTORS}clusters:\n${clusterYaml(simulator)}    poll: false\n${more}`,
    intervalSeconds,
  });
  return {
    exporter,
    simulator,
    async probe(query = '', headers = {}) {
      const { status, text } = await exporter.get(`/probe?cluster=sim${query}`, headers);
      expect(status).toBe(200);
      return readScrape(text);
    },
    count: (endpoint) => simulator.requests.count(endpoint),
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      await simulator.close();
    },
  };
}

describe('/probe', () => {
  test('polls a cluster that nothing else polls', async () => {
    await using probed = await openProbed();
    expect((await probed.exporter.get('/-/ready')).status).toBe(200);
    expect((await probed.exporter.scrape()).all('crdb_nodes')).toEqual([]);
    expect(probed.count('nodes')).toBe(0);
    const scrape = await probed.probe();
    expect(scrape.value('crdb_nodes', { status: 'live' })).toBe(3);
    expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(1);
    expect(probed.count('nodes')).toBe(1);
    expect((await probed.exporter.scrape()).all('crdb_nodes')).toEqual([]);
  });

  test('returns data, crdb_up and the outcome of the polls, and no metrics of the process', async () => {
    await using probed = await openProbed();
    const scrape = await probed.probe();
    const names = new Set(scrape.samples.map(({ name }) => name));
    expect(names).toContain('crdb_exporter_collector_success');
    const strange = [...names].filter(
      (name) =>
        /^(?!crdb_)/.test(name) ||
        /^crdb_exporter_(?!collector_|series$|node_keys_missing$)/.test(name),
    );
    expect(strange).toEqual([]);
    for (const { labels } of scrape.samples) expect(labels['crdb_cluster']).toBe('sim');
  });

  test('skips ranges and tables unless they are named', async () => {
    await using probed = await openProbed();
    const usual = await probed.probe();
    expect(usual.all('crdb_ranges')).toEqual([]);
    expect(usual.all('crdb_exporter_collector_success', { collector: 'ranges' })).toEqual([]);
    expect(probed.count('node_ranges')).toBe(0);
    const named = await probed.probe('&collect[]=ranges');
    expect(named.value('crdb_ranges')).toBe(probed.simulator.truth().ranges.distinct);
    expect(named.all('crdb_nodes')).toEqual([]);
    expect(named.value('crdb_up', { api: 'cluster' })).toBe(1);
  });

  test('polls once for concurrent probes, and not again within the interval', async () => {
    await using probed = await openProbed();
    probed.simulator.fault({ kind: 'slow', ms: 100, endpoint: 'nodes' });
    const scrapes = await Promise.all(
      Array.from({ length: 8 }, () => probed.probe('&collect[]=nodes')),
    );
    for (const scrape of scrapes) expect(scrape.value('crdb_nodes', { status: 'live' })).toBe(3);
    await probed.probe('&collect[]=nodes');
    expect(probed.count('nodes')).toBe(1);
  });

  test('does not poll again within the interval after a failed poll', async () => {
    await using probed = await openProbed();
    const fault = probed.simulator.fault({ kind: 'status', status: 403, endpoint: 'nodes' });
    const first = await probed.probe('&collect[]=nodes');
    expect(first.value('crdb_up', { api: 'cluster' })).toBe(0);
    const hits = fault.hits;
    const second = await probed.probe('&collect[]=nodes');
    expect(second.value('crdb_exporter_collector_success', { collector: 'nodes' })).toBe(0);
    expect(fault.hits).toBe(hits);
  });

  test('stops waiting at the deadline of the scraper, and says that no poll has succeeded', async () => {
    await using probed = await openProbed();
    probed.simulator.fault({ kind: 'hang', endpoint: 'nodes' });
    const scrape = await probed.probe('&collect[]=nodes', {
      'x-prometheus-scrape-timeout-seconds': '0.8',
    });
    expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(0);
    expect(scrape.value('crdb_exporter_collector_success', { collector: 'nodes' })).toBe(0);
    expect(scrape.all('crdb_nodes')).toEqual([]);
  });

  test('leaves a poll its own timeout, however short the deadlines of scrapers are', async () => {
    await using probed = await openProbed({ intervalSeconds: 0.2 });
    probed.simulator.fault({ kind: 'slow', ms: 400, endpoint: 'nodes' });
    const deadline = { 'x-prometheus-scrape-timeout-seconds': '0.1' };
    const probe = (): Promise<Scrape> => probed.probe('&collect[]=nodes', deadline);
    await expect.poll(async () => (await probe()).value('crdb_up', { api: 'cluster' })).toBe(1);
    for (let each = 0; each < 10; each += 1) {
      const scrape = await probe();
      expect(scrape.value('crdb_up', { api: 'cluster' })).toBe(1);
      expect(scrape.value('crdb_nodes', { status: 'live' })).toBe(3);
    }
  });

  test('shares the scheduled polls of a cluster', async () => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
    await using exporter = await startTestExporter({
      yaml: `${COLLECTORS}clusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 600,
    });
    await exporter.until((scrape) => scrape.all('crdb_nodes').length > 0);
    const { text } = await exporter.get('/probe?cluster=sim&collect[]=nodes');
    expect(readScrape(text).value('crdb_nodes', { status: 'live' })).toBe(3);
    // One for the nodes, one for the list of nodes of the range scan.
    expect(simulator.requests.count('nodes')).toBeLessThanOrEqual(2);
  });

  test.each([
    ['', 400, 'is missing: /probe?cluster=NAME; configured clusters: sim\n'],
    ['?cluster=', 400, 'is missing: /probe?cluster=NAME; configured clusters: sim\n'],
    ['?cluster=sim&cluster=sim', 400, 'the parameter cluster is there more than once\n'],
    ['?cluster=127.0.0.1:26257', 404, 'unknown cluster; configured clusters: sim\n'],
    [
      '?cluster=sim&collect[]=nonsense',
      400,
      'not enabled for this cluster; enabled collectors: nodes',
    ],
    ['?cluster=sim&collect[]=users', 400, 'not enabled for this cluster'],
    ['?cluster=sim&exclude[]=users', 400, 'not enabled for this cluster'],
  ])('%s is refused without a poll', async (query, status, text) => {
    await using probed = await openProbed();
    const answer = await probed.exporter.get(`/probe${query}`);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(text);
    expect(probed.simulator.requests.entries).toEqual([]);
  });
});
