import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import { type Answers, endure, listOf, startFlood } from './flood.ts';

const MAX_PEAK_MIB = 400;
const LIVE = '"liveness_status":3,"updated_at":1800000000000000000';
const NODE = `{"nodes":[{"node_id":1,${LIVE}}]}`;

/** An entry of a map for each number below `count`. */
function entries(count: number, of: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => of(index)).join(',');
}

function rangesOf(element: (index: number) => string, count = Infinity): Answers {
  return {
    '/ranges/': () => listOf('ranges', count, element),
    '/nodes/': () => [NODE],
  };
}

/** What a server may send without an end, the collector that reads it, and what the poll says. */
const FLOODS: Readonly<Record<string, readonly [string, Answers, string]>> = {
  nodes: [
    'nodes',
    { '/nodes/': () => listOf('nodes', Infinity, (at) => `{"node_id":${at + 1},${LIVE}}`) },
    'nodes: more than 10000 nodes',
  ],
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
    'node 1: more than 1000 stores',
  ],
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
    'nodes: more than 1500000 values',
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
  'client hosts': [
    'sessions',
    {
      '/sessions/': () =>
        listOf('sessions', Infinity, (at) => `{"node_id":1,"client_address":"h${at}:1"}`),
    },
    'sessions: more than 1000000 client hosts',
  ],
  'replicas of one node': [
    'ranges',
    rangesOf((at) => `{"desc":{"range_id":${at + 1}},"source_node_id":1,"source_store_id":1}`),
    'ranges of node 1: more than 2000000 replicas',
  ],
  'stores of ranges': [
    'ranges',
    rangesOf((at) => `{"desc":{"range_id":1},"source_node_id":1,"source_store_id":${at + 1}}`),
    'ranges of node 1: more than 1000 stores',
  ],
};

test.each(Object.entries(FLOODS))(
  'endless %s end the poll, not the process',
  { timeout: PROCESS_TIMEOUT_MS },
  async (_what, [collector, answers, message]) => {
    await using server = await startFlood(answers);
    const { scrape, peakMiB, log } = await endure(collector, server);
    expect(log).toContain(message);
    expect(log).toContain('no cluster has so many');
    const failures = 'crdb_exporter_poll_failures_total';
    expect(scrape.value(failures, { collector, reason: 'limit' })).toBe(1);
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

test.each([
  [250_000, 300],
  [1_500_000, MAX_PEAK_MIB],
])(
  '%d ranges in as many tables, all with a problem, take less than %d MiB',
  { timeout: PROCESS_TIMEOUT_MS },
  async (count, maxMiB) => {
    const element = (at: number): string =>
      `{"desc":{"range_id":${at + 1}},"span":{"start_key":"/Table/${at + 1}/1"},"source_node_id":1,"source_store_id":1,"problems":{"underreplicated":true},"stats":{"queries_per_second":${1 + at / count}},"lease_history":[{"epoch":1,"sequence":1,"replica":{"node_id":1,"store_id":1}}]}`;
    await using server = await startFlood(rangesOf(element, count));
    const { scrape, peakMiB } = await endure('ranges', server);
    expect(scrape.value('crdb_ranges')).toBe(count);
    const tables = scrape.all('crdb_range_table_ranges');
    expect(tables.reduce((sum, { value }) => sum + value, 0)).toBe(count);
    expect(peakMiB).toBeLessThan(maxMiB);
  },
);
