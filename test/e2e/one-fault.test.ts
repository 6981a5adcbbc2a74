import { expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { openSimulator, ORDERS, runQueries } from '../collectors/sql/queries.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { clusterYaml, startTestExporter, type TestExporter } from '../support/exporter.ts';
import { refusing } from '../support/http-server.ts';

const SMALL = {
  nodes: 5,
  gateways: 3,
  ranges: 10,
  sessions: 0,
  metricKeys: 'useful',
  faultyNodes: false,
} as const;

/** The lines that say that something is wrong, or no longer, without those of a busy machine. */
function changes(exporter: TestExporter): readonly string[] {
  return exporter
    .log()
    .split('\n')
    .filter((line) => /level=warn|recovered/.test(line) && !line.includes('Responses are slow'))
    .map((line) => line.replace(/^time=\S+ /, ''));
}

/** Waits for this many more polls of the collector. */
async function waitForPolls(exporter: TestExporter, collector: string, polls: number) {
  let end = Infinity;
  await exporter.until((scrape) => {
    const count = scrape.value('crdb_exporter_polls_total', { collector }) ?? 0;
    end = Math.min(end, count + polls);
    return count >= end;
  });
}

test('a node that fails at one URL after the other is logged once, and once when it is read again', async () => {
  await using simulator = await startSimulator(SMALL);
  const atUrls = [1, 2, 3].map((gateway) =>
    simulator.fault({ endpoint: 'node_ranges', node: 5, gateway, kind: 'status', status: 500 }),
  );
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ ranges: {} })}clusters:\n${clusterYaml(simulator)}`,
    intervalSeconds: 0.1,
  });
  await waitForPolls(exporter, 'ranges', 10);
  expect(atUrls.every(({ hits }) => hits > 2)).toBe(true);
  const begin = 'Ranges of node 5: node_ranges at ';
  const begun = expect.stringMatching(`^level=warn msg="${begin}.* collector=ranges$`);
  expect(changes(exporter)).toEqual([begun]);
  simulator.clearFaults();
  await exporter.until(() => exporter.log().includes('recovered'));
  await waitForPolls(exporter, 'ranges', 3);
  const ended = expect.stringMatching(`^level=info msg="recovered after .*: ${begin}`);
  expect(changes(exporter)).toEqual([begun, ended]);
});

test('a collector that fails is logged once, and once when it works again', async () => {
  await using simulator = await startSimulator(SMALL);
  simulator.fault({ endpoint: 'nodes', kind: 'status', status: 500 });
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ nodes: {} })}clusters:\n${clusterYaml(simulator)}`,
    intervalSeconds: 0.1,
  });
  await exporter.until(() => changes(exporter).length > 0);
  simulator.clearFaults();
  await exporter.until(() => exporter.log().includes('recovered'));
  await waitForPolls(exporter, 'nodes', 3);
  const text = 'The exporter cannot see the cluster: its API is failing: ';
  expect(changes(exporter)).toEqual([
    expect.stringContaining(`level=warn msg="${text}`),
    expect.stringMatching(`^level=info msg="recovered after .*: ${text}`),
  ]);
});

test('a query that fails before and after all statements do is logged once', async () => {
  const simulator = await openSimulator();
  const exporter = await runQueries(simulator, [{ ...ORDERS, sql: 'SELECT 1 FROM nowhere' }]);
  await exporter.until(() => changes(exporter).length > 0);
  simulator.fault({ endpoint: 'sql', kind: 'status', status: 500 });
  await exporter.until(() => changes(exporter).length > 1);
  simulator.clearFaults();
  await exporter.until(() => changes(exporter).length > 2);
  await waitForPolls(exporter, 'sql', 3);
  expect(changes(exporter)).toEqual([
    expect.stringContaining('level=warn msg="The last run of a query failed, no rows are exported'),
    expect.stringContaining('level=warn msg="The exporter cannot see the cluster: '),
    expect.stringMatching(/^level=info msg="recovered after .*: The exporter cannot see the cl/),
  ]);
});

test('a table that no URL has is logged once, by its name', async () => {
  await using simulator = await startSimulator(SMALL);
  const tables = { tables: ['movr.public.rides', 'movr.public.gone'], discover: false };
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ tables })}clusters:\n${clusterYaml(simulator)}`,
    intervalSeconds: 0.1,
  });
  await waitForPolls(exporter, 'tables', 6);
  expect(changes(exporter)).toEqual([
    expect.stringMatching('^level=warn msg="Table movr.public.gone is missing: table at '),
  ]);
});

test('two URLs of one host and port each have a breaker and a problem', async () => {
  const dead = await refusing();
  await using simulator = await startSimulator(SMALL);
  const clusterUrls = [`${dead}/a`, `${dead}/b`, simulator.clusterUrl];
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ nodes: {}, ranges: {} })}clusters:\n${clusterYaml({ ...simulator, clusterUrls })}`,
    intervalSeconds: 0.1,
  });
  const name = new URL(dead).host;
  await exporter.until(() => changes(exporter).length > 1);
  const targets = (await exporter.scrape()).all('crdb_exporter_breaker_state', { state: 'closed' });
  expect(targets.map(({ labels, value }) => [labels['target'], value])).toEqual([
    [`${name}/a`, 0],
    [`${name}/b`, 0],
    [new URL(simulator.clusterUrl).host, 1],
  ]);
  const blamed = changes(exporter).map((line) => / at (\S+): connect/.exec(line)?.[1]);
  expect(new Set(blamed)).toEqual(new Set([`${name}/a`, `${name}/b`]));
});
