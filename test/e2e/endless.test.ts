import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { startTestExporter } from '../support/exporter.ts';
import { type Answers, endure, listOf, startFlood } from './flood.ts';

const MAX_PEAK_MIB = 400;
const FAILURES = 'crdb_exporter_poll_failures_total';
type CollectorName = 'nodes' | 'sessions' | 'ranges';
const LIVE = '"liveness_status":3,"updated_at":1800000000000000000';
const NODE = `{"nodes":[{"node_id":1,${LIVE}}]}`;

/** An entry of a map for each number below `count`. */
function entries(count: number, of: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => of(index)).join(',');
}

function rangesOf(element: (index: number) => string, count = Infinity): Answers {
  return {
    // Neither single ranges nor descriptors: to look for these is of no use without keys.
    'ranges=': () => ['{}'],
    'range_ids=': () => ['{}'],
    '/ranges/': () => listOf('ranges', count, element),
    '/nodes/': () => [NODE],
  };
}

/** What a server may send without an end, the collector that reads it, and what the poll says. */
const FLOODS: Readonly<Record<string, readonly [CollectorName, Answers, string]>> = {
  'stores of nodes': [
    'nodes',
    {
      '/nodes/': () => {
        const stores = entries(900, (store) => `"${store + 1}":{"capacity":1,"livebytes":1}`);
        return listOf(
          'nodes',
          Infinity,
          (at) => `{"node_id":${at + 1},${LIVE},"store_metrics":{${stores}}}`,
        );
      },
    },
    'nodes: more than 50000 stores',
  ],
  'stores of one node': [
    'nodes',
    {
      '/nodes/': () => {
        const stores = entries(60_000, (store) => `"${store + 1}":{"capacity":1}`);
        return [`{"nodes":[{"node_id":1,${LIVE},"store_metrics":{${stores}}}]}`];
      },
    },
    'nodes: more than 50000 stores',
  ],
  'nodes of sessions': [
    'sessions',
    { '/sessions/': () => listOf('sessions', Infinity, (at) => `{"node_id":${at + 1}}`) },
    'sessions: more than 10000 nodes',
  ],
  'nodes in the errors of sessions': [
    'sessions',
    {
      '/sessions/': () =>
        listOf(
          'sessions',
          1,
          () => '{"node_id":1}',
          `,"errors":[${entries(60_000, (at) => `{"node_id":${at}}`)}]`,
        ),
    },
    'sessions: more than 10000 nodes with errors',
  ],
  'stores of ranges': [
    'ranges',
    rangesOf((at) => `{"desc":{"range_id":1},"source_node_id":1,"source_store_id":${at + 1}}`),
    'ranges of node 1: more than 1000 stores',
  ],
};

/** Floods whose data alone could fill the memory. */
const LARGE_FLOODS: typeof FLOODS = {
  'metrics of nodes': [
    'nodes',
    {
      '/nodes/': () => {
        const key = `security.certificate.expiration.${'k'.repeat(80)}`;
        const metrics = entries(10_000, (at) => `"${key}${at}":${at}`);
        return listOf(
          'nodes',
          Infinity,
          (at) => `{"node_id":${at + 1},${LIVE},"metrics":{${metrics}}}`,
        );
      },
    },
    'nodes: more than 500000 values',
  ],
  'client hosts': [
    'sessions',
    {
      '/sessions/': () =>
        listOf('sessions', Infinity, (at) => `{"node_id":1,"client_address":"h${at}:1"}`),
    },
    'sessions: more than 100000 client hosts',
  ],
  'replicas of one node': [
    'ranges',
    rangesOf((at) => `{"desc":{"range_id":${at + 1}},"source_node_id":1,"source_store_id":1}`),
    'ranges of node 1: more than 2000000 replicas',
  ],
};

test.each(Object.entries(FLOODS))(
  'endless %s end the poll',
  async (_what, [collector, answers, message]) => {
    await using server = await startFlood(answers);
    await using exporter = await startTestExporter({
      yaml: `${onlyCollectors({ [collector]: {} })}clusters: [{ name: a, cluster_api: { urls: ["${server.url}"] } }]\n`,
      intervalSeconds: 3_600,
    });
    const failures = { collector, reason: 'limit' };
    await exporter.until((scrape) => scrape.value(FAILURES, failures) === 1);
    expect(exporter.log()).toContain(message);
    expect(exporter.log()).toContain('check that the URL is that of a CockroachDB node');
  },
);

test.each(Object.entries(LARGE_FLOODS))(
  'endless %s end the poll, not the process',
  { timeout: PROCESS_TIMEOUT_MS },
  async (_what, [collector, answers, message]) => {
    await using server = await startFlood(answers);
    const { scrape, peakMiB, log } = await endure(collector, server);
    expect(log).toContain(message);
    expect(scrape.value(FAILURES, { collector, reason: 'limit' })).toBe(1);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);

test(
  'ids of ten megabytes on each page are forgotten',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    let pages = 0;
    await using server = await startFlood({
      '/sessions/': () => {
        pages += 1;
        const id = `${pages}${'x'.repeat(10_000_000)}`;
        const next = pages < 16 ? `,"next":"page${pages}"` : '';
        return [`{"sessions":[{"node_id":1,"id":"${id}"}]${next}}`];
      },
    });
    const { scrape, peakMiB } = await endure('sessions', server, { heapMiB: 128 });
    expect(scrape.value('crdb_sessions', { state: 'idle' })).toBe(16);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);

test(
  '1,500,000 ranges in as many tables, all with a problem, fit into the memory',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    const count = 1_500_000;
    const element = (at: number): string =>
      `{"desc":{"range_id":${at + 1}},"span":{"start_key":"/Table/${at + 1}/1"},"source_node_id":1,"source_store_id":1,"problems":{"underreplicated":true},"stats":{"queries_per_second":${1 + at / count}},"lease_history":[{"epoch":1,"sequence":1,"replica":{"node_id":1,"store_id":1}}]}`;
    await using server = await startFlood(rangesOf(element, count));
    const { scrape, peakMiB } = await endure('ranges', server);
    expect(scrape.value('crdb_ranges')).toBe(count);
    const tables = scrape.all('crdb_range_table_ranges');
    expect(tables.reduce((sum, { value }) => sum + value, 0)).toBe(count);
    expect(peakMiB).toBeLessThan(MAX_PEAK_MIB);
  },
);
