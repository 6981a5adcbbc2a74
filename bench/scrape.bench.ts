// Scrapes of 100,000 series from the running exporter, at rest and while it scans, against prom-client.
// Run: node bench/scrape.bench.ts [rounds]
import { Agent, get } from 'node:http';
import { type Cost, describeSpread, spreadOf, takeTurns } from './cost.ts';
import type { ExporterStart } from './exporter-process.ts';
import { optionsOfImage } from './image-options.ts';
import { type OtherProcess, startProcess } from './process.ts';
import type { PromStart } from './prom-process.ts';
import { report } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';

/** Their metrics of nodes and stores by key are a little more than 100,000 series. */
const NODES = 30;
const REPLICAS = 33_000;
const ROUNDS = Number(process.argv[2] ?? 7);
/** Scrapes that are measured together: ours take too little CPU to be measured alone. */
const OWN_SCRAPES = 20;
const USUAL_SCRAPES = 2;
const SCRAPES_WHILE_SCANNING = 150;
const PAUSE_MS = 50;
const TARGET = 20;
const P99_MS = 40;

await using server = await startProcess('scale-server.ts', {
  nodes: NODES,
  replicasPerNode: REPLICAS,
});
const { url, username, password } = await server.call<ServedCluster>('cluster');

function configuration(ranges: string): string {
  return `collectors:
  nodes: { interval: 10m, metrics: ["*"] }
  sessions: { enabled: false }
  ranges: { ${ranges} }
clusters:
  - name: bench
    cluster_api: { urls: ["${url}"], username: ${username}, password: ${password} }
`;
}

const agent = new Agent({ keepAlive: true });

interface Answer {
  readonly ms: number;
  readonly bytes: number;
  readonly text: string;
}

async function scrape(target: string, encoding: 'gzip' | 'identity'): Promise<Answer> {
  const startedAt = performance.now();
  const chunks: Buffer[] = [];
  await new Promise((resolve, reject) => {
    get(target, { agent, headers: { 'accept-encoding': encoding } }, (response) => {
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', resolve);
      response.on('error', reject);
    }).on('error', reject);
  });
  const ms = performance.now() - startedAt;
  const body = Buffer.concat(chunks);
  return { ms, bytes: body.length, text: encoding === 'identity' ? body.toString() : '' };
}

async function untilShown(target: string, pattern: RegExp): Promise<Answer> {
  for (;;) {
    const answer = await scrape(target, 'identity');
    if (pattern.test(answer.text)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** CPU of the server per scrape. */
async function cpuOf(
  process: OtherProcess,
  target: string,
  { encoding, times }: { encoding: 'gzip' | 'identity'; times: number },
): Promise<number> {
  const watched = process.call<Cost>('watch');
  for (let time = 0; time < times; time += 1) await scrape(target, encoding);
  await process.call('stop');
  return (await watched).cpuMs / times;
}

const HAS_NODES = /^crdb_node_metric\{/m;
const atRest: ExporterStart = { yaml: configuration('enabled: false') };
await using own = await startProcess('exporter-process.ts', atRest, optionsOfImage());
const ownUrl = await own.call<string>('url');
const shown = await untilShown(ownUrl, HAS_NODES);
const series = shown.text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
await using usual = await startProcess('prom-process.ts', { model: ownUrl } satisfies PromStart);
const usualUrl = await usual.call<string>('url');

const OWN = { times: OWN_SCRAPES };
const USUAL = { times: USUAL_SCRAPES };
const cpu = await takeTurns<number>(
  {
    plain: () => cpuOf(own, ownUrl, { ...OWN, encoding: 'identity' }),
    'plain, usual': () => cpuOf(usual, usualUrl, { ...USUAL, encoding: 'identity' }),
    gzip: () => cpuOf(own, ownUrl, { ...OWN, encoding: 'gzip' }),
    'gzip, usual': () => cpuOf(usual, usualUrl, { ...USUAL, encoding: 'gzip' }),
  },
  { rounds: ROUNDS },
);

const usualLatency: number[] = [];
for (let time = 0; time < ROUNDS * 2; time += 1) {
  usualLatency.push((await scrape(usualUrl, 'gzip')).ms);
}
const busy: ExporterStart = { yaml: configuration('interval: 1s, max_duty: 1') };
await using scanning = await startProcess('exporter-process.ts', busy, optionsOfImage());
const scanningUrl = await scanning.call<string>('url');
await untilShown(scanningUrl, HAS_NODES);
const latency: Record<'plain' | 'gzip' | 'atRest', number[]> = { plain: [], gzip: [], atRest: [] };
for (let time = 0; time < SCRAPES_WHILE_SCANNING; time += 1) {
  latency.plain.push((await scrape(scanningUrl, 'identity')).ms);
  latency.gzip.push((await scrape(scanningUrl, 'gzip')).ms);
  // The same without a scan, to tell it from what the machine is busy with.
  latency.atRest.push((await scrape(ownUrl, 'gzip')).ms);
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? NaN;
}

function latencyText(values: readonly number[]): string {
  return `${p99(values).toFixed(0)} ms (median ${spreadOf(values).median.toFixed(0)})`;
}

const list = (way: string): readonly number[] => cpu[way] ?? [];
const ratios = (way: string): readonly number[] =>
  list(way).map((ms, at) => (list(`${way}, usual`)[at] ?? NaN) / ms);
const plain = ratios('plain');
const packed = ratios('gzip');
agent.destroy();

report([
  {
    name: `CPU of a scrape of ${series.toLocaleString('en')} series (${(shown.bytes / 1e6).toFixed(1)} MB) from rendered buffers`,
    target: `≥ ${TARGET} × less with gzip`,
    result: `**${describeSpread(packed)} ×** with gzip, ${describeSpread(plain)} × plain; ${describeSpread(list('gzip'), 1)} ms with gzip, ${describeSpread(list('plain'), 1)} ms plain`,
    baseline: `prom-client \`registry.metrics()\`: ${describeSpread(list('gzip, usual'))} ms with gzip (level 1), ${describeSpread(list('plain, usual'))} ms plain`,
    isMet: spreadOf(packed).median >= TARGET,
  },
  {
    name: 'p99 latency of that scrape during a scan',
    target: `≤ ${P99_MS} ms`,
    result: `**${latencyText(latency.gzip)}** with gzip, ${latencyText(latency.plain)} plain; without a scan ${latencyText(latency.atRest)} with gzip`,
    baseline: `prom-client with gzip, without a scan: ${latencyText(usualLatency)}`,
    isMet: p99(latency.gzip) <= P99_MS,
  },
]);
