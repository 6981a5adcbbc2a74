import { describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../../simulator/index.ts';
import type { Config } from '../../src/config/keys-and-flags.ts';
import type { Status } from '../../src/status/findings/status.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';

function simulate(): Promise<Simulator> {
  return startSimulator({ nodes: 3, ranges: 30, metricKeys: 'useful' });
}

const NODES = { collector: 'nodes', shard: '0' };

describe('the reason of a failed poll', () => {
  const cases: readonly (readonly [string, Parameters<Simulator['fault']>[0], string])[] = [
    ['a 503', { kind: 'status', status: 503 }, 'http'],
    ['a 403', { kind: 'status', status: 403 }, 'forbidden'],
    ['a 401 on every header', { kind: 'status', status: 401 }, 'auth'],
    ['a 404', { kind: 'status', status: 404 }, 'not_available'],
    ['HTML with 200', { kind: 'html' }, 'decode'],
    ['half a document', { kind: 'bad-json' }, 'decode'],
    [
      'good JSON of something else',
      { kind: 'status', status: 200, body: '{"message":"ok"}' },
      'decode',
    ],
    ['a reset connection', { kind: 'reset' }, 'network'],
    ['a body cut short', { kind: 'cut', bytes: 500 }, 'network'],
  ];

  test.each(cases)('%s', async (_name, fault, reason) => {
    await using simulator = await simulate();
    const handle = simulator.fault({ endpoint: 'nodes', ...fault });
    await using exporter = await startTestExporter({
      yaml: `clusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
      // The other collectors, polled five times a second, would only take time.
      adapt: (config) => withOnly(config, 'nodes'),
    });
    const failed = await exporter.until(
      (scrape) =>
        (scrape.value('crdb_exporter_poll_failures_total', { ...NODES, reason }) ?? 0) > 0,
    );
    expect(failed.value('crdb_exporter_collector_success', NODES)).toBe(0);
    expect(failed.value('crdb_up', { api: 'cluster' })).toBe(0);
    expect(failed.all('crdb_nodes')).toEqual([]);
    const line = `level=warn .*collector=nodes .*reason=${reason} hint="[^"]{20}`;
    expect(exporter.log()).toMatch(new RegExp(line));

    handle.remove();
    const good = await exporter.until(
      (scrape) => scrape.value('crdb_up', { api: 'cluster' }) === 1,
    );
    expect(good.all('crdb_nodes').length).toBeGreaterThan(0);
  });
});

/** Expects the metrics and the log line of a failed poll. */
async function expectFailure(
  exporter: TestExporter,
  { collector, reason }: { readonly collector: string; readonly reason: string },
): Promise<void> {
  const labels = { collector, shard: '0' };
  await exporter.until(
    (scrape) =>
      (scrape.value('crdb_exporter_poll_failures_total', { ...labels, reason }) ?? 0) > 0 &&
      scrape.value('crdb_exporter_collector_success', labels) === 0,
  );
  expect(exporter.log()).toMatch(new RegExp(`level=warn .*reason=${reason}`));
}

describe('the reason of a failed poll, other cases:', () => {
  test('of a server that never responds is timeout', async () => {
    await using simulator = await simulate();
    const fault = simulator.fault({ endpoint: 'sessions', kind: 'hang' });
    await using exporter = await startTestExporter({
      yaml: `collectors: { sessions: { timeout: 1s } }\nclusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.2,
    });
    await expectFailure(exporter, { collector: 'sessions', reason: 'timeout' });
    const hit = { collector: 'sessions', limit: 'duration' };
    const seen = await exporter.scrape();
    expect(seen.value('crdb_exporter_collector_limit_hit', hit)).toBe(1);
    fault.remove();
    await exporter.until(
      (scrape) => scrape.value('crdb_exporter_collector_success', { collector: 'sessions' }) === 1,
    );
  });
});

test('a poll that an open breaker blocks has the remedy of the failure before, of any collector', async () => {
  const gone =
    '  - name: gone\n    cluster_api: { urls: ["http://127.0.0.1:1"] }\n    poll: false\n';
  const only = onlyCollectors({ nodes: {}, users: {} });
  await using exporter = await startTestExporter({ yaml: `${only}clusters:\n${gone}` });
  for (const name of ['nodes', 'users'])
    await exporter.get(`/probe?cluster=gone&collect[]=${name}`);
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  const { error } = status.clusters[0]?.collectors.find(({ name }) => name === 'users') ?? {};
  expect(error).toMatchObject({
    reason: 'breaker_open',
    advice: expect.stringMatching(/^The last failure was: nodes at .*; nothing listens there/),
  });
});

/** The configuration with one collector. */
function withOnly(config: Config, name: string): Config {
  const clusters = config.clusters.map((cluster) => {
    const chosen = Object.entries(cluster.collectors).filter(([each]) => each === name);
    return { ...cluster, collectors: Object.fromEntries(chosen) };
  });
  return { ...config, clusters };
}
