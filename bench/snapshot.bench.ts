// Snapshots against prom-client: building one of 100,000 series, and answering a scrape from it.
// Run: node bench/snapshot.bench.ts [repetitions]
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Gauge, Registry } from 'prom-client';
import { joinExposition } from '../src/metrics/exposition.ts';
import { gauge } from '../src/metrics/family.ts';
import { Sheet } from '../src/metrics/sheet.ts';
import type { Snapshot } from '../src/metrics/snapshot.ts';
import { renderSnapshot } from '../src/metrics/snapshot.ts';

const SERIES = 100_000;
const FAMILIES = 20;
const LABELS = ['node_id', 'store_id', 'application'] as const;
const REPETITIONS = Number(process.argv[2] ?? 9);
const gzipAsync = promisify(gzip);

const definitions = Array.from({ length: FAMILIES }, (_, index) => ({
  name: `crdb_bench_${index}_bytes`,
  help: 'A family of the benchmark.',
  labels: LABELS,
}));
const families = definitions.map((definition) => gauge(definition));

interface BenchSample {
  readonly labels: Readonly<Record<(typeof LABELS)[number], string>>;
  readonly value: number;
}

/** The samples of one family, made beforehand: no contender pays for them. Every other value has decimals. */
const samples: readonly BenchSample[] = Array.from({ length: SERIES / FAMILIES }, (_, index) => ({
  labels: {
    node_id: String(index % 200),
    store_id: String(index % 600),
    application: `payments-worker-${index}`,
  },
  value: index % 2 === 0 ? index * 4096 : index / 7,
}));

function fillSheet(): Sheet {
  const sheet = new Sheet({ crdb_cluster: 'bench' });
  for (const family of families) {
    for (const { labels, value } of samples) {
      sheet.set(family, labels, value);
    }
  }
  return sheet;
}

async function buildSnapshot(): Promise<Snapshot> {
  return renderSnapshot(fillSheet());
}

async function buildRegistry(): Promise<Registry> {
  const registry = new Registry();
  for (const { name, help, labels: labelNames } of definitions) {
    const metric = new Gauge({
      name,
      help,
      labelNames: ['crdb_cluster', ...labelNames],
      registers: [registry],
    });
    for (const { labels, value } of samples) {
      metric.set({ crdb_cluster: 'bench', ...labels }, value);
    }
  }
  await registry.metrics();
  return registry;
}

interface Cost {
  readonly wallMs: number;
  /** User and system, all threads. */
  readonly cpuMs: number;
}

async function measure(work: () => unknown, times = 1): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let run = 0; run < times; run += 1) {
    await work();
  }
  const wallMs = (performance.now() - start) / times;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000 / times };
}

/** The longest time for which no timer callback could run while a full sheet was rendered. */
async function longestSlice(): Promise<number> {
  const sheet = fillSheet();
  let longest = 0;
  let last = performance.now();
  let running = true;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (running) {
      setImmediate(tick);
    }
  };
  setImmediate(tick);
  await new Promise(setImmediate);
  longest = 0;
  await renderSnapshot(sheet);
  running = false;
  return longest;
}

function scrape(snapshot: Snapshot, gzipped: boolean): number {
  return joinExposition({ parts: [snapshot], rendered: [], format: 'openmetrics', gzip: gzipped })
    .length;
}

function report(name: string, values: readonly number[], unit: string): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  console.log(
    `${name.padEnd(46)} ${at(0.5).toFixed(2).padStart(8)} ${unit}  (${at(0).toFixed(2)} to ${at(1).toFixed(2)})`,
  );
  return at(0.5);
}

const results = new Map<string, number[]>();
function record(name: string, value: number): void {
  results.set(name, [...(results.get(name) ?? []), value]);
}

for (let repetition = -1; repetition < REPETITIONS; repetition += 1) {
  const ours = await measure(buildSnapshot);
  const theirs = await measure(buildRegistry);
  const snapshot = await buildSnapshot();
  const registry = await buildRegistry();
  const plain = await measure(() => scrape(snapshot, false), 20);
  const zipped = await measure(() => scrape(snapshot, true), 20);
  const metrics = await measure(() => registry.metrics(), 2);
  const gzipped = await measure(async () => gzipAsync(await registry.metrics()), 2);
  const slice = await longestSlice();
  if (repetition < 0) {
    continue;
  }
  record('build: snapshot, CPU', ours.cpuMs);
  record('build: snapshot, wall', ours.wallMs);
  record('build: prom-client set and render, CPU', theirs.cpuMs);
  record('build: prom-client set and render, wall', theirs.wallMs);
  record('build: longest slice', slice);
  record('scrape: snapshot plain, CPU', plain.cpuMs);
  record('scrape: snapshot gzip, CPU', zipped.cpuMs);
  record('scrape: prom-client plain, CPU', metrics.cpuMs);
  record('scrape: prom-client gzip, CPU', gzipped.cpuMs);
}
const median = new Map([...results].map(([name, values]) => [name, report(name, values, 'ms')]));
function ratio(name: string, over: string, under: string): void {
  console.log(
    `${name.padEnd(46)} ${((median.get(over) ?? 0) / (median.get(under) ?? 1)).toFixed(1).padStart(8)} times`,
  );
}
ratio('build, wall', 'build: prom-client set and render, wall', 'build: snapshot, wall');
ratio('build, CPU', 'build: prom-client set and render, CPU', 'build: snapshot, CPU');
ratio('scrape plain, CPU', 'scrape: prom-client plain, CPU', 'scrape: snapshot plain, CPU');
ratio('scrape gzip, CPU', 'scrape: prom-client gzip, CPU', 'scrape: snapshot gzip, CPU');
