// Implementations that render 100,000 samples; each runs in a separate process.
import { Gauge, Registry } from 'prom-client';
import { gauge, renderSnapshot, SampleSet } from '#metrics';
import { measure } from './cost.ts';
import { serveCalls } from './process.ts';

export interface SnapshotWay {
  readonly way: keyof typeof WAYS;
  readonly series: number;
}

const FAMILIES = 20;
const LABELS = ['node_id', 'store_id', 'application'] as const;
const WAYS = { exporter: buildSnapshot, 'prom-client': buildRegistry };
const { way, series }: SnapshotWay = JSON.parse(process.argv[2] ?? '{}');

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

/** The samples of one family, created before the measurement. Every other value has decimals. */
const samples: readonly BenchSample[] = Array.from({ length: series / FAMILIES }, (_, index) => ({
  labels: {
    node_id: String(index % 200),
    store_id: String(index % 600),
    application: `payments-worker-${index}`,
  },
  value: index % 2 === 0 ? index * 4096 : index / 7,
}));

/** From the first sample to text in both formats, plain and compressed. */
async function buildSnapshot(): Promise<void> {
  const set = new SampleSet({ crdb_cluster: 'bench' });
  for (const family of families) {
    for (const { labels, value } of samples) set.set(family, labels, value);
    // A collector writes its samples in slices, not 100,000 at once.
    await new Promise(setImmediate);
  }
  await renderSnapshot(set);
}

/** From the first sample to the text, once; not compressed. */
async function buildRegistry(): Promise<void> {
  const registry = new Registry();
  for (const { name, help, labels: labelNames } of definitions) {
    const metric = new Gauge({
      name,
      help,
      labelNames: ['crdb_cluster', ...labelNames],
      registers: [registry],
    });
    for (const { labels, value } of samples)
      metric.set({ crdb_cluster: 'bench', ...labels }, value);
  }
  await registry.metrics();
}

serveCalls({ run: () => measure(WAYS[way]) });
