// The ways to bring 100,000 samples into the form that is served; each runs in a process of its own.
import { Gauge, Registry } from 'prom-client';
import { gauge } from '../src/metrics/family.ts';
import { Sheet } from '../src/metrics/sheet.ts';
import { renderSnapshot } from '../src/metrics/snapshot.ts';
import { measure } from './cost.ts';
import { answerQuestions } from './process.ts';

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

/** The samples of one family, made beforehand: no contender pays for them. Every other value has decimals. */
const samples: readonly BenchSample[] = Array.from({ length: series / FAMILIES }, (_, index) => ({
  labels: {
    node_id: String(index % 200),
    store_id: String(index % 600),
    application: `payments-worker-${index}`,
  },
  value: index % 2 === 0 ? index * 4096 : index / 7,
}));

/** From the first sample to bytes ready in both formats, plain and compressed. */
async function buildSnapshot(): Promise<void> {
  const sheet = new Sheet({ crdb_cluster: 'bench' });
  for (const family of families) {
    for (const { labels, value } of samples) sheet.set(family, labels, value);
    // A room writes its sheet node by node as answers come in, not 100,000 samples at a stroke.
    await new Promise(setImmediate);
  }
  await renderSnapshot(sheet);
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

answerQuestions({ run: () => measure(WAYS[way]) });
