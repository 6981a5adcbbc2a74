import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ParsedSample } from '../metrics/parse-exposition.ts';
import { readScrape, type Scrape } from '../support/exporter.ts';
import { LAUNCHER } from '../support/program.ts';
import { type Running, runProgram } from './installed.ts';

/** The cluster to scan. */
export interface WatchedCluster {
  readonly clusterUrl: string;
  readonly username: string;
  readonly password: string;
}

/** Exporter processes that share the range scans of one cluster, after their first scan. */
export interface Shards extends AsyncDisposable {
  readonly addresses: readonly string[];
  readonly pids: readonly (number | undefined)[];
  readonly scrapes: readonly Scrape[];
}

const PAUSE_MS = 300;

/** Starts `count` shards; resolves when each has scanned its nodes once. They do not scan again. */
export async function runShards(cluster: WatchedCluster, count: number): Promise<Shards> {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-shards-'));
  const file = path.join(folder, 'exporter.yml');
  writeFileSync(file, configure(cluster));
  const running = Array.from({ length: count }, (_, index) => startShard(file, index, count));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((one) => one.stop()));
    rmSync(folder, { recursive: true });
  };
  try {
    const addresses = await Promise.all(running.map(addressOf));
    const scrapes = await Promise.all(addresses.map(scrapeOnceScanned));
    const pids = running.map(({ child }) => child.pid);
    return { addresses, pids, scrapes, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configure({ clusterUrl, username, password }: WatchedCluster): string {
  return JSON.stringify({
    clusters: [{ name: 'large', cluster_api: { urls: [clusterUrl], username, password } }],
    collectors: { ranges: { interval: '6h', timeout: '30m' } },
  });
}

function startShard(file: string, index: number, count: number): Running {
  return runProgram(process.execPath, [
    LAUNCHER,
    `--config.file=${file}`,
    `--shard.index=${index}`,
    `--shard.count=${count}`,
    '--web.listen-address=127.0.0.1:0',
  ]);
}

async function addressOf(shard: Running): Promise<string> {
  const [, address = ''] = await shard.said(/listening address=http:\/\/(\S+)/);
  return address;
}

async function scrapeOnceScanned(address: string): Promise<Scrape> {
  for (;;) {
    const scrape = readScrape(await (await fetch(`http://${address}/metrics`)).text());
    const polls = scrape.all('crdb_exporter_polls_total');
    const hasPolled = polls.every(({ value }) => value > 0);
    if (hasPolled && scrape.all('crdb_range_scan_nodes').length > 0) return scrape;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Counts that shards add up to those of the cluster, as are all lease kinds except `none`. */
const SUMS = [
  'crdb_range_scan_nodes',
  'crdb_range_problem_ranges',
  'crdb_ranges_by_lease_kind',
  'crdb_ranges_by_queries_per_second_bucket',
  'crdb_range_lease_changes_total',
];
const MAXIMA = ['crdb_range_max_queries_per_second', 'crdb_range_max_cpu_seconds_per_second'];
/** Metrics of processes, lists of single shards, and metrics that need all nodes. */
const APART =
  /^crdb_exporter_|^crdb_hot_range_|^crdb_problem_range|^crdb_range_table_|^crdb_range_key_space|^crdb_ranges(?:_by_replicas|_without_live_replica|_unverified|_serving_nothing|_left_over)?$/;

/** The sum of the range metrics of all shards, by series; throws when two shards export the same store. */
export function addUp(scrapes: readonly Scrape[]): ReadonlyMap<string, number> {
  const total = new Map<string, number>();
  for (const sample of scrapes.flatMap(({ samples }) => samples)) {
    if (!isOfRanges(sample)) continue;
    const key = keyOf(sample);
    const known = total.get(key);
    if (known === undefined) total.set(key, sample.value);
    else total.set(key, combine(sample, known));
  }
  return total;
}

function isOfRanges({ name, labels }: ParsedSample): boolean {
  if (APART.test(name) || labels['kind'] === 'none') return false;
  if (name.startsWith('crdb_range')) return true;
  return /^crdb_store_.*_per_second$/.test(name);
}

function keyOf({ name, labels: { shard: _shard, ...labels } }: ParsedSample): string {
  return `${name} ${JSON.stringify(labels)}`;
}

function combine({ name, labels, value }: ParsedSample, known: number): number {
  if (SUMS.includes(name)) return known + value;
  if (MAXIMA.includes(name)) return Math.max(known, value);
  throw new Error(`two shards have ${name} ${JSON.stringify(labels)}`);
}

/** The shard that scanned a node, by node id; throws when two did. */
export function ownersOf(scrapes: readonly Scrape[]): ReadonlyMap<string, number> {
  const owners = new Map<string, number>();
  for (const [shard, scrape] of scrapes.entries()) {
    for (const { labels, value } of scrape.all('crdb_range_scan_node_success')) {
      const node = labels['node_id'] ?? '';
      if (value !== 1 || owners.has(node)) throw new Error(`node ${node} was not scanned once`);
      owners.set(node, shard);
    }
  }
  return owners;
}
