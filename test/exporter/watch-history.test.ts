import { expect, test } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import type { BreakerState } from '../../src/base/vocabulary.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import { sql } from '../../src/collectors/sql/collector.ts';
import { collectorOptions } from '../../src/config/collector-schema.ts';
import { WatchHistory } from '../../src/exporter/watch-history.ts';
import { loadText } from '../config/loading.ts';
import { polledCluster, pollersOf } from '../status/results.ts';

const MINUTE_MS = 60_000;

/** Records polls, one a minute, and returns what each of them logged: `warn text`. */
function watch() {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const history = new WatchHistory(
    createLog({ level: 'info', format: 'json', destination }),
    () => nowMs,
  );
  let nowMs = Date.parse('2026-03-01T12:00:00Z');
  return (cluster: Parameters<WatchHistory['record']>[0]): readonly string[] => {
    nowMs += MINUTE_MS;
    history.record(cluster, nowMs);
    return lines.splice(0).map((line) => {
      const { level, msg } = JSON.parse(line);
      return `${level} ${msg}`;
    });
  };
}

/** A cluster whose collectors are in these states, with the URL b in this one, and a that works. */
async function clusterWith(
  states: Readonly<Record<string, string>>,
  b: BreakerState,
  isTried = true,
) {
  const isUp = states['nodes'] !== 'failing';
  const lastFailure = new RequestError('network', 'nodes at b: refused');
  const urls = [
    {
      name: 'a',
      state: isUp ? ('closed' as const) : ('open' as const),
      lastFailure,
      isTried: true,
    },
    { name: 'b', state: b, lastFailure: isTried ? lastFailure : undefined, isTried },
  ];
  const pollers = await pollersOf(states);
  return { ...polledCluster({ pollers, isUp }), upstreams: () => urls };
}

const URL_FAILS = 'One of 2 URLs fails, the others are used: nodes at b: refused.';

test('a URL that fails before, while and after the API is down is logged once', async () => {
  const record = watch();
  const failing = await clusterWith({ nodes: 'ok' }, 'open');
  const down = await clusterWith({ nodes: 'failing' }, 'open');
  expect(record(failing)).toEqual([`warn ${URL_FAILS}`]);
  expect(record(down)).toEqual([expect.stringMatching(/^warn The exporter cannot see the cl/)]);
  expect(record(down)).toEqual([]);
  expect(record(failing)).toEqual([expect.stringMatching(/^info recovered after 2 min: The exp/)]);
  expect(record(await clusterWith({ nodes: 'ok' }, 'closed'))).toEqual([
    `info recovered after 4 min: ${URL_FAILS}`,
  ]);
});

test('a URL that works again is logged although a collector fails of another cause', async () => {
  const record = watch();
  const states = { nodes: 'ok', users: 'failing' };
  expect(record(await clusterWith(states, 'open'))).toEqual([
    expect.stringContaining('warn Collector users is failing'),
    `warn ${URL_FAILS}`,
  ]);
  expect(record(await clusterWith(states, 'closed'))).toEqual([
    `info recovered after 1 min: ${URL_FAILS}`,
  ]);
});

test('a URL that no request has tried since a reload has not recovered', async () => {
  const record = watch();
  const failing = await clusterWith({ nodes: 'ok' }, 'open');
  expect(record(failing)).toEqual([`warn ${URL_FAILS}`]);
  expect(record(await clusterWith({ nodes: 'ok' }, 'closed', false))).toEqual([]);
  expect(record(failing)).toEqual([]);
  expect(record(await clusterWith({ nodes: 'ok' }, 'closed'))).toEqual([
    `info recovered after 3 min: ${URL_FAILS}`,
  ]);
});

test.each([
  ['closed', 'closed', []],
  ['closed', 'half_open', [URL_FAILS]],
  // Their polls fail, or will: none of the others is used.
  ['open', 'open', []],
  // Nothing is known of the failure of a.
  ['open', 'closed', []],
] as const)('of two URLs that are %s and %s these fail: %j', async (a, b, shown) => {
  const history = new WatchHistory(createLog({ level: 'error', format: 'json' }), () => 0);
  const cluster = await clusterWith({ nodes: 'ok' }, b);
  const lastFailure = undefined;
  const [first, ...others] = cluster.upstreams();
  const urls = first === undefined ? [] : [{ ...first, state: a, lastFailure }, ...others];
  const found = history.read({ ...cluster, upstreams: () => urls }, 0);
  expect(found.map(({ text }) => text)).toEqual(shown);
});

test('of three URLs two of which fail the other one is used', async () => {
  const history = new WatchHistory(createLog({ level: 'error', format: 'json' }), () => 0);
  const cluster = await clusterWith({ nodes: 'ok' }, 'open');
  const third = cluster
    .upstreams()
    .flatMap((url) => (url.name === 'b' ? { ...url, name: 'c' } : []));
  const upstreams = () => [...cluster.upstreams(), ...third];
  expect(history.read({ ...cluster, upstreams }, 0).map(({ text }) => text)).toEqual([
    'One of 3 URLs fails, only 1 of them is used: nodes at b: refused.',
    'One of 3 URLs fails, only 1 of them is used: nodes at b: refused.',
  ]);
});

/** A cluster with a query of this help. */
async function withQuery(text: string) {
  const query = { name: 'orders', help: text, sql: 'SELECT 1', values: { count: 'gauge' } };
  const { config } = await loadText(
    `clusters: [{ name: shop, cluster_api: { urls: ["http://127.0.0.1:9"] }, collectors: { sql: { enabled: true, queries: ${JSON.stringify([query])} } } }]\n`,
  );
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

test('a query that a reload has changed has not recovered before it has run again', async () => {
  const record = watch();
  const pollers = await pollersOf({ nodes: 'ok', sql: 'ok' });
  const clusterWithHelp = async (help: string, runs: string) => {
    const [query] = collectorOptions(await withQuery(runs), sql).queries;
    if (query === undefined) throw new Error('no query');
    const failure = new RequestError('other', 'sql: no such column');
    const known = { query, rows: undefined, failure, durationSeconds: 1, succeededMs: undefined };
    const results = { sql: { queries: [known] } };
    return polledCluster({ pollers, isUp: true, results, config: await withQuery(help) });
  };
  const failed = [
    'warn The last run of a query failed, no rows are exported: sql: no such column.',
  ];
  expect(record(await clusterWithHelp('Orders.', 'Orders.'))).toEqual(failed);
  expect(record(await clusterWithHelp('All orders.', 'Orders.'))).toEqual([]);
  expect(record(await clusterWithHelp('All orders.', 'All orders.'))).toEqual([]);
});
