import { beforeAll, describe, expect, test } from 'vitest';
import {
  askServer,
  compare,
  compareOnce,
  type Comparison,
  type ServerFigures,
} from '../../lab/live/compare.ts';
import { probe } from '../../lab/live/exporter.ts';
import { LiveServer } from '../../lab/live/server.ts';
import { startSimulator } from '../../simulator/index.ts';
import { PROCESS_TIMEOUT_MS } from '../cli/run.ts';
import type { Scrape } from '../support/exporter.ts';

let scrape: Scrape;
let before: ServerFigures;
let after: ServerFigures;

/** The simulator is a server that the comparison does not know. */
beforeAll(async () => {
  await using simulator = await startSimulator({
    nodes: 5,
    survival: { bank: 'zone' },
    ranges: 60,
    sessions: 40,
    gateways: 3,
    faultyNodes: false,
    unusualNames: false,
  });
  const { clusterUrls: urls, username, password, world } = simulator;
  // Records are some seconds older than what SQL says: no job begins or ends meanwhile.
  world.stopBackups();
  world.pauseJob('restore');
  world.pauseJob('row_level_ttl');
  const access = { urls, username, password, ca: undefined };
  const server = new LiveServer(access);
  before = await askServer(server);
  scrape = await probe(access);
  after = await askServer(server);
}, PROCESS_TIMEOUT_MS);

function findDifferences(found: readonly Comparison[]): readonly string[] {
  return found.flatMap(({ what, verdict }) => (verdict === 'differs' ? [what] : []));
}

test('an exporter that is right differs nowhere, and everything is compared', () => {
  const found = compare(scrape, before, after);
  expect(found.filter(({ verdict }) => verdict !== 'same')).toEqual([]);
  expect(found.length).toBeGreaterThanOrEqual(12);
});

test('an exporter that is right differs nowhere while a node is down', async () => {
  const options = { nodes: 4, ranges: 60, sessions: 20, faultyNodes: false, unusualNames: false };
  await using simulator = await startSimulator({ ...options, gateways: 3 });
  const { clusterUrls: urls, username, password, world } = simulator;
  world.stopBackups();
  world.killNode(4, 'unavailable');
  const found = await compareOnce({ urls, username, password, ca: undefined });
  expect(found.filter(({ verdict }) => verdict !== 'same')).toEqual([]);
}, 120_000);

test('metrics that a server shows no more are not compared, which is no difference', async () => {
  const options = { nodes: 3, ranges: 60, sessions: 20, faultyNodes: false, unusualNames: false };
  await using simulator = await startSimulator({ ...options, gateways: 3, release: '26.3' });
  const { clusterUrls: urls, username, password, world } = simulator;
  world.stopBackups();
  simulator.setQuirk('visibility', 'essential');
  const found = await compareOnce({ urls, username, password, ca: undefined });
  expect(found.filter(({ verdict }) => verdict === 'differs')).toEqual([]);
  const verdicts = new Map(found.map(({ what, verdict }) => [what, verdict]));
  expect(verdicts.get('SQL statements')).toBe('not compared');
  expect(verdicts.get('capacity of stores')).toBe('same');
}, 120_000);

test('a server that tells nothing is not compared, which is no difference', () => {
  const silent = new Map(Array.from(before.keys(), (what) => [what, undefined] as const));
  const verdicts = compare(scrape, silent, silent).map(({ verdict }) => verdict);
  expect(new Set(verdicts)).toEqual(new Set(['not compared']));
});

/** A wrong exporter: how it changes a sample, and what must differ then; undefined drops the sample. */
type Breaking = (
  name: string,
  labels: Readonly<Record<string, string>>,
  value: number,
) => number | undefined;

const BREAKS: readonly (readonly [mistake: string, change: Breaking, what: string])[] = [
  [
    'a dead node counts as live, a live one not',
    (name, { node_id: id, status }, value) =>
      name === 'crdb_node_liveness' && id === '2' ? Number(status === 'dead') : value,
    'live nodes',
  ],
  [
    'the ranges of one node are missing',
    (name, { node_id: id }, value) =>
      name === 'crdb_range_replicas' && id === '1' ? undefined : value,
    'ranges that a node holds',
  ],
  [
    'replicas count as ranges',
    (name, _labels, value) => (name === 'crdb_ranges' ? 3 * value : value),
    'ranges',
  ],
  [
    'a replica of each range is missed',
    (name, { replicas }, value) =>
      name === 'crdb_ranges_by_replicas' && replicas === '3' ? undefined : value,
    'ranges by replicas',
  ],
  [
    'non-voters count as voters',
    (name, _labels, value) => (name === 'voters_of_range' ? value + 1 : value),
    'voters',
  ],
  [
    'each replica counts as a lease',
    (name, _labels, value) => (name === 'crdb_range_leases' ? 3 * value : value),
    'leases of a node',
  ],
  [
    'capacity is in kilobytes',
    (name, _labels, value) => (name === 'crdb_store_capacity_bytes' ? value / 1024 : value),
    'capacity of stores',
  ],
  [
    'the first page of sessions is all',
    (name, _labels, value) => (name === 'crdb_user_sessions' ? Math.floor(value / 2) : value),
    'sessions',
  ],
  [
    'roles count as users',
    (name, _labels, value) => (name === 'crdb_users' ? value + 2 : value),
    'users',
  ],
  [
    'the tables of one database are missing',
    (name, { database }, value) =>
      name === 'crdb_tables' && database === 'movr' ? undefined : value,
    'tables',
  ],
  [
    'paused jobs are missing',
    (name, { state }, value) => (name === 'crdb_jobs' && state === 'paused' ? 0 : value),
    'jobs',
  ],
  [
    'the running jobs of one node are all',
    (name, { job_type: type, state }, value) =>
      name === 'crdb_jobs' && type === 'changefeed' && state === 'running' ? value - 1 : value,
    'jobs',
  ],
  [
    'failed statements count as well, ten times',
    (name, _labels, value) => (name === 'crdb_node_sql_queries_total' ? 10 * value : value),
    'SQL statements',
  ],
];

describe('an exporter that is wrong is found', () => {
  test.each(BREAKS)('%s', (_mistake, change, what) => {
    const broken = breakScrape(scrape, change);
    expect(findDifferences(compare(broken, before, after))).toContain(what);
  });
});

function breakScrape({ samples }: Scrape, change: Breaking): Scrape {
  const changed = samples.flatMap((sample) => {
    const value = change(sample.name, sample.labels, sample.value);
    return value === undefined ? [] : [{ ...sample, value }];
  });
  const all: Scrape['all'] = (name, labels = {}) =>
    changed.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  return { samples: changed, all, value: (name, labels) => all(name, labels)[0]?.value };
}
