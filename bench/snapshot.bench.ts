// Snapshots against prom-client: building one of 100,000 series (ours is compressed then, theirs not yet), and
// answering a scrape from it. "loop" is CPU time of the event loop's thread, of use where other programs run too.
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

type Column = 'wall' | 'CPU' | 'loop';

/** Milliseconds per run: wall clock, CPU of all threads, CPU of the event loop's thread. */
type Cost = Readonly<Record<Column, number>>;

async function measure(work: () => unknown, times: number): Promise<Cost> {
  const cpu = process.cpuUsage();
  const thread = process.threadCpuUsage();
  const start = performance.now();
  for (let run = 0; run < times; run += 1) {
    await work();
  }
  const wall = (performance.now() - start) / times;
  const perRun = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000 / times;
  return { wall, CPU: perRun(process.cpuUsage(cpu)), loop: perRun(process.threadCpuUsage(thread)) };
}

/** The longest time for which no other callback could run while a full sheet was rendered. */
async function longestSlice(): Promise<Cost> {
  const sheet = fillSheet();
  let wall = 0;
  let loop = 0;
  let last = performance.now();
  let lastThread = process.threadCpuUsage();
  let running = true;
  const tick = (): void => {
    const { user, system } = process.threadCpuUsage(lastThread);
    if (running) {
      wall = Math.max(wall, performance.now() - last);
      loop = Math.max(loop, (user + system) / 1000);
      last = performance.now();
      lastThread = process.threadCpuUsage();
      setImmediate(tick);
    }
  };
  tick();
  await renderSnapshot(sheet);
  running = false;
  return { wall, loop, CPU: loop };
}

function scrape(snapshot: Snapshot, gzipped: boolean): number {
  const request = {
    parts: [snapshot],
    rendered: [],
    format: 'openmetrics',
    gzip: gzipped,
  } as const;
  return joinExposition(request).length;
}

async function runOnce(record: (name: string, cost: Cost) => void): Promise<void> {
  record('build: snapshot', await measure(buildSnapshot, 1));
  record('build: prom-client', await measure(buildRegistry, 1));
  record('build: longest slice', await longestSlice());
  const snapshot = await buildSnapshot();
  const registry = await buildRegistry();
  const metrics = (): Promise<string> => registry.metrics();
  record('scrape: snapshot', await measure(() => scrape(snapshot, false), 20));
  record('scrape: prom-client', await measure(metrics, 2));
  record('scrape, gzip: snapshot', await measure(() => scrape(snapshot, true), 20));
  record(
    'scrape, gzip: prom-client',
    await measure(async () => gzipAsync(await metrics(), { level: 1 }), 2),
  );
}

function median(costs: readonly Cost[], column: Column, share = 0.5): number {
  const sorted = costs.map((cost) => cost[column]).toSorted((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))] ?? 0;
}

function describeCosts(costs: readonly Cost[]): string {
  return (['wall', 'loop', 'CPU'] as const)
    .map((column) => {
      const [low, middle, high] = [0, 0.5, 1].map((share) =>
        median(costs, column, share).toFixed(2),
      );
      return `${column} ${middle} (${low} to ${high})`;
    })
    .join('   ');
}

const costs = new Map<string, Cost[]>();
await runOnce(() => undefined);
for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
  await runOnce((name, cost) => costs.set(name, [...(costs.get(name) ?? []), cost]));
}
console.log(`${SERIES} series, ${FAMILIES} families, ${REPETITIONS} repetitions, milliseconds`);
for (const [name, own] of costs) {
  console.log(`${name.padEnd(28)} ${describeCosts(own)}`);
}
for (const job of ['build', 'scrape', 'scrape, gzip']) {
  const [ours = [], theirs = []] = ['snapshot', 'prom-client'].map((who) =>
    costs.get(`${job}: ${who}`),
  );
  const ratios = (['wall', 'loop', 'CPU'] as const).map(
    (column) => `${column} ${(median(theirs, column) / median(ours, column)).toFixed(1)}`,
  );
  console.log(`${job}: prom-client takes ${ratios.join(', ')} times as much`);
}
