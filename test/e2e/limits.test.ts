import type { RequestListener } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { onlyCollectors } from '../support/collectors.ts';
import {
  clusterYaml,
  type Scrape,
  startTestExporter,
  type TestExporter,
} from '../support/exporter.ts';
import { serve, type TestServer } from '../support/http-server.ts';

type CollectorName = 'nodes' | 'sessions';

const MEBIBYTE = 1024 * 1024;
const LIVE = { node_id: 1, liveness_status: 3 };

function nodesPage(elements: readonly string[], next?: number): string {
  const tail = next === undefined ? '' : `,"next":${next}`;
  return `{"nodes":[${elements.join(',')}]${tail}}`;
}

/** An exporter with one collector and without a login, which polls once. */
function watch(server: TestServer, collector: CollectorName, options = ''): Promise<TestExporter> {
  return startTestExporter({
    yaml: `${onlyCollectors({ [collector]: { page_limit: 1 } })}clusters:
  - name: limited
    cluster_api: { urls: ["${server.url}"] ${options} }
`,
    intervalSeconds: 3_600,
  });
}

/** The metrics after the first poll. */
async function firstPoll(
  listener: RequestListener,
  collector: CollectorName,
  options = '',
): Promise<Scrape> {
  await using server = await serve(listener);
  await using exporter = await watch(server, collector, options);
  return await exporter.until((scrape) => (scrape.value('crdb_exporter_polls_total') ?? 0) > 0);
}

function hits(scrape: Scrape): readonly string[] {
  return scrape
    .all('crdb_exporter_collector_limit_hit')
    .filter(({ value }) => value === 1)
    .map(({ labels }) => labels['limit'] ?? '');
}

function reasons(scrape: Scrape): readonly string[] {
  return scrape
    .all('crdb_exporter_poll_failures_total')
    .filter(({ value }) => value > 0)
    .map(({ labels }) => labels['reason'] ?? '');
}

describe('a response', () => {
  test.each([
    ['that never ends', 'huge', ''],
    ['that is tiny on the wire and never ends', 'gzip-bomb', ', compression: true'],
  ] as const)('%s is cut off at max_response_bytes', async (_what, kind, more) => {
    await using simulator = await startSimulator({ nodes: 3, ranges: 10, metricKeys: 'useful' });
    const fault = simulator.fault({ endpoint: 'nodes', kind });
    await using exporter = await startTestExporter({
      yaml: `${onlyCollectors({ nodes: {}, sessions: {}, tables: {} })}clusters:
${clusterYaml(simulator, { more: `, max_response_bytes: 1MiB ${more}` })}`,
      intervalSeconds: 0.2,
    });
    const cut = await exporter.until((scrape) => reasons(scrape).length > 0);
    expect(reasons(cut)).toEqual(['limit']);
    expect(hits(cut)).toEqual(['bytes']);
    expect(exporter.log()).toMatch(/level=warn .*reason=limit/);
    fault.remove();
    const good = await exporter.until((scrape) => scrape.value('crdb_up') === 1);
    expect(hits(good)).toEqual([]);
  });
});

describe('an element', () => {
  test.each([
    ['of 17 MiB', `{"node_id":2,"text":"${'x'.repeat(17 * MEBIBYTE)}"}`],
    ['nested too deep', `{"node_id":2,"deep":${'['.repeat(100)}${']'.repeat(100)}}`],
  ])('%s is left out and counted, the others are shown', async (_what, element) => {
    const seen = await firstPoll((_request, response) => {
      response.end(nodesPage([JSON.stringify(LIVE), element]));
    }, 'nodes');
    expect(reasons(seen)).toEqual([]);
    expect(hits(seen)).toEqual(['bytes']);
    expect(seen.value('crdb_exporter_decode_errors_total', { endpoint: 'nodes' })).toBe(1);
    expect(seen.value('crdb_nodes', { status: 'live' })).toBe(1);
  });
});
