import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../simulator/index.ts';
import { openProxy } from '../support/changing-proxy.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { type Scrape, startTestExporter } from '../support/exporter.ts';
import { serve } from '../support/http-server.ts';

type Respond = (response: ServerResponse, offset: number) => void;

const LIMIT_BYTES = 1024 * 1024;
function replica(nodeId: number, rangeId: number, more = ''): string {
  return `{"desc":{"range_id":${rangeId}},"source_node_id":${nodeId},"source_store_id":${nodeId}${more}}`;
}

function page(elements: readonly string[], next?: number): Respond {
  const rest = next === undefined ? '' : `,"next":${next}`;
  return (response) => response.end(`{"ranges":[${elements.join(',')}]${rest}}`);
}

/** Scans node 1, which has two ranges, and node 2, which responds as the test wants. */
async function scanWith(respond: Respond, more = ''): Promise<{ scrape: Scrape; log: string }> {
  await using server = await serve((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node');
    if (!pathname.endsWith('/ranges/')) {
      response.end(
        '{"nodes":[{"node_id":1,"liveness_status":3},{"node_id":2,"liveness_status":3}]}',
      );
      return;
    }
    const isFirst = searchParams.get('remote_node_id') === '1';
    if (searchParams.has('ranges')) page([])(response, 0);
    else if (isFirst) page([replica(1, 1), replica(1, 2)])(response, 0);
    else respond(response, Number(searchParams.get('offset')));
  });
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ ranges: { route: 'proxy' } })}clusters:
  - name: odd
    cluster_api: { urls: ["${server.url}"] ${more} }
`,
  });
  const scrape = await exporter.until((seen) => seen.all('crdb_range_scan_nodes').length > 0);
  return { scrape, log: exporter.log() };
}

function limitsHit(scrape: Scrape): readonly (string | undefined)[] {
  return scrape
    .all('crdb_exporter_collector_limit_hit')
    .filter(({ value }) => value === 1)
    .map(({ labels }) => labels['limit']);
}

/** Expects that node 2 was not read: node 1 is exported, and no family needs the whole cluster. */
function expectOnlyFirst(scrape: Scrape): void {
  expect(scrape.value('crdb_range_replicas')).toBe(2);
  expect(scrape.value('crdb_range_scan_node_success', { node_id: '1' })).toBe(1);
  expect(scrape.value('crdb_range_scan_node_success', { node_id: '2' })).toBe(0);
  expect(scrape.value('crdb_range_scan_nodes', { state: 'failed' })).toBe(1);
  expect(scrape.all('crdb_ranges')).toEqual([]);
  expect(scrape.value('crdb_exporter_collector_success')).toBe(1);
}

test('a field of descriptors that has another form is warned of, as one of lists', async () => {
  await using simulator = await startSimulator({ nodes: 3, ranges: 20, insecure: true });
  await using proxy = await openProxy(new URL(simulator.clusterUrl).origin, (url, body) =>
    url.includes('/_status/ranges/')
      ? body.replaceAll('"leaseValid":true', '"leaseValid":1')
      : body,
  );
  await using exporter = await startTestExporter({
    yaml: `${onlyCollectors({ ranges: {} })}clusters:
  - { name: odd, cluster_api: { urls: ["${proxy.url}/api/v2"] } }
`,
    intervalSeconds: 0.2,
  });

  await exporter.until(
    (seen) => (seen.value('crdb_exporter_polls_total', { collector: 'ranges' }) ?? 0) > 3,
  );
  // Most scans read no descriptors: they neither end nor repeat it.
  const text =
    'Responses of range_descriptors: some fields or elements have an unexpected form and were left out';
  expect(exporter.log().split(text)).toHaveLength(2);
});

describe('a node that', () => {
  test('never ends its response is aborted at the limit', async () => {
    let sent = 0;
    const endless: Respond = (response) => {
      const element = Buffer.from(`${replica(2, 7)},`.repeat(500));
      response.write('{"ranges":[');
      const more = (): void => {
        if (response.destroyed) return;
        sent += element.length;
        response.write(element, () => setImmediate(more));
      };
      more();
    };
    const { scrape, log } = await scanWith(endless, ', max_response_bytes: 1MiB');
    expectOnlyFirst(scrape);
    expect(limitsHit(scrape)).toEqual(['bytes']);
    expect(log).toContain('larger than 1048576 bytes');
    expect(sent).toBeLessThan(64 * LIMIT_BYTES);
  });

  test('repeats the same `next` is aborted', async () => {
    const { scrape } = await scanWith((response, offset) =>
      page([replica(2, 7)], 5)(response, offset),
    );
    expectOnlyFirst(scrape);
    expect(limitsHit(scrape)).toEqual(['pages']);
  });

  test('sends other values among the ranges loses only those, counted once, and the log says so', async () => {
    const { scrape, log } = await scanWith(page([replica(2, 7), '17', 'null', replica(2, 9)]));
    expect(scrape.value('crdb_range_replicas', { node_id: '2' })).toBe(2);
    const errors = { endpoint: 'node_ranges' };
    expect(scrape.value('crdb_exporter_decode_errors_total', errors)).toBe(2);
    const text =
      'Responses of node_ranges: some fields or elements have an unexpected form and were left out';
    expect(log.split(text)).toHaveLength(2);
  });

  test('sends a range over a limit loses it, and nothing is said of an unexpected form', async () => {
    const deep = `{"deep":${'['.repeat(100)}${']'.repeat(100)}}`;
    const { scrape, log } = await scanWith(page([replica(2, 7), deep]));
    expect(limitsHit(scrape)).toEqual(['bytes']);
    const errors = { endpoint: 'node_ranges' };
    expect(scrape.value('crdb_exporter_decode_errors_total', errors)).toBe(1);
    expect(log).not.toContain('unexpected form');
  });

  test.each([
    ['breaks off', '{"ranges":[{"desc":{"range_id":7}'],
    ['sends no JSON', '<html>busy</html>'],
    ['sends nothing', ''],
    ['sends something behind the end', '{"ranges":[]}{"ranges":[]}'],
  ])('%s was not read', async (_what, body) => {
    const { scrape } = await scanWith((response) => response.end(body));
    expectOnlyFirst(scrape);
    expect(limitsHit(scrape)).toEqual([]);
  });
});
