import { expect, test } from 'vitest';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import { onlyCollectors } from '../support/collectors.ts';
import { startTestExporter } from '../support/exporter.ts';
import { type Answers, type CollectorName, endure, listOf, startFlood } from './flood.ts';

const MAX_PEAK_MIB = 400;
/** Of three floods at the same time. */
const MAX_PEAK_OF_THREE_MIB = 450;
const heapMiB = 256;
/** `npm run lab -- memory` has 1,500,000. */
const RANGES = Number(process.env['ENDLESS_RANGES'] ?? 300_000);
/** What the fewer ranges fit into, and the process with them: it takes 150 MiB without. */
const OF_RANGES = RANGES > 300_000 ? { heapMiB, most: MAX_PEAK_MIB } : { heapMiB: 64, most: 250 };
const FAILURES = 'crdb_exporter_poll_failures_total';
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

/** Floods whose data alone could fill the memory, by the names of their clusters. */
const LARGE_FLOODS: typeof FLOODS = {
  metrics: [
    'nodes',
    {
      '/nodes/': () => {
        const key = `security.certificate.expiration.${'k'.repeat(8)}`;
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
  hosts: [
    'sessions',
    {
      '/sessions/': () =>
        listOf('sessions', Infinity, (at) => `{"node_id":1,"client_address":"h${at}:1"}`),
    },
    'sessions: more than 100000 client hosts',
  ],
  replicas: [
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

test(
  'endless metrics, client hosts and replicas at the same time end their polls, not the process',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    await using servers = new AsyncDisposableStack();
    const started = Object.entries(LARGE_FLOODS).map(async ([what, [collector, answers]]) => {
      const server = servers.use(await startFlood(answers));
      return [what, { collector, server }] as const;
    });
    const floods = Object.fromEntries(await Promise.all(started));
    const { scrape, peakMiB, log } = await endure(floods, { heapMiB });
    for (const [crdb_cluster, [collector, , message]] of Object.entries(LARGE_FLOODS)) {
      expect(log).toContain(message);
      const failures = { crdb_cluster, collector, reason: 'limit' };
      expect(scrape.value(FAILURES, failures)).toBe(1);
    }
    expect(peakMiB).toBeLessThan(MAX_PEAK_OF_THREE_MIB);
  },
);

test(
  'ranges in as many tables, all with a problem, fit into the memory',
  { timeout: PROCESS_TIMEOUT_MS },
  async () => {
    const element = (at: number): string =>
      `{"desc":{"range_id":${at + 1}},"span":{"start_key":"/Table/${at + 1}/1"},"source_node_id":1,"source_store_id":1,"problems":{"underreplicated":true},"stats":{"queries_per_second":${1 + at / RANGES}},"lease_history":[{"epoch":1,"sequence":1,"replica":{"node_id":1,"store_id":1}}]}`;
    await using server = await startFlood(rangesOf(element, RANGES));
    const { scrape, peakMiB } = await endure({ a: { collector: 'ranges', server } }, OF_RANGES);
    expect(scrape.value('crdb_ranges')).toBe(RANGES);
    const tables = scrape.all('crdb_range_table_ranges');
    expect(tables.reduce((sum, { value }) => sum + value, 0)).toBe(RANGES);
    expect(peakMiB).toBeLessThan(OF_RANGES.most);
  },
);
