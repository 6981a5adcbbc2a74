// Polls of a page of 20,000 ranges by the whole exporter, scraped meanwhile, in the CPU time of its process.
// Run: node bench/poll.bench.ts [rounds]
import { readFileSync } from 'node:fs';
import { Comparison, describeSpread, takeTurns } from './cost.ts';
import type { ExporterStart } from './exporter-process.ts';
import { optionsOfImage } from './image-options.ts';
import type { ServedPage } from './page-server.ts';
import type { PageWay } from './page-ways.ts';
import { type OtherProcess, startProcess } from './process.ts';
import { report } from './rows.ts';

const RANGES = 20_000;
const ROUNDS = Number(process.argv[2] ?? 9);
const PAGES = 5;
const SCRAPE_MS = 1_000;
const TARGET = 3.5;
/** Of Linux. */
const TICKS_PER_SECOND = 100;

await using held = await startProcess('page-server.ts', { ranges: RANGES });
const { url, bytes } = await held.call<ServedPage>('page');
const start: ExporterStart = {
  yaml: `clusters:
  - name: bench
    cluster_api: { urls: ["${url}"], username: any, password: any }
    collectors:
      nodes: { enabled: false }
      sessions: { enabled: false }
      tables: { enabled: false }
      ranges: { interval: 1s, max_age: 10m, max_duty: 1, route: local }
`,
};
await using exporter = await startProcess('exporter-process.ts', start, optionsOfImage());
await using server = await startProcess('page-server.ts', { ranges: RANGES });
const { url: otherUrl } = await server.call<ServedPage>('page');
const usual: PageWay = { way: 'json', url: otherUrl, token: 'any' };
await using json = await startProcess('page-ways.ts', usual);
const metricsUrl = await exporter.call<string>('url');

/** CPU time of all threads of the process per page, seen from outside. */
async function costOf({ pid }: OtherProcess, work: () => Promise<unknown>) {
  const before = cpuMs(pid);
  const startedAt = performance.now();
  await work();
  const each = (cpuMs(pid) - before) / PAGES;
  return { cpuMs: each, loopMs: each, wallMs: (performance.now() - startedAt) / PAGES };
}

function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12).map(Number);
  return ((user + system) * 1000) / TICKS_PER_SECOND;
}

let replicas = 0;
async function scrape(): Promise<void> {
  const text = await (await fetch(metricsUrl)).text();
  const ofStores = text.matchAll(/^crdb_range_replicas\{.* (\d+)$/gm);
  replicas = [...ofStores].reduce((sum, [, value]) => sum + Number(value), 0);
}
await held.call('send', 0);

const costs = await takeTurns(
  {
    exporter: () =>
      costOf(exporter, async () => {
        const timer = setInterval(() => void scrape(), SCRAPE_MS);
        await held.call('send', PAGES);
        clearInterval(timer);
      }),
    json: () =>
      costOf(json, async () => {
        for (let page = 0; page < PAGES; page += 1) await json.call('run');
      }),
  },
  { rounds: ROUNDS, warmUps: 2 },
);
await scrape();
if (replicas !== RANGES) throw new Error(`not all ranges were read: ${replicas}`);

const { exporter: ours = [], json: theirs = [] } = costs;
const ratio = new Comparison(ours, theirs);
const describe = (of: readonly { readonly cpuMs: number }[]): string =>
  `${describeSpread(of.map((cost) => cost.cpuMs))} ms`;

report([
  {
    name: `The whole exporter, polling that page (${(bytes / 1e6).toFixed(0)} MB) and scraped every second: CPU time of all threads`,
    target: `≥ ${TARGET} ×`,
    result: `**${describeSpread(ratio.ratios('cpuMs'), 1)} ×**; ${describe(ours)} a page`,
    baseline: `undici \`body.json()\` and a loop, not scraped: ${describe(theirs)}`,
    isMet: ratio.median >= TARGET,
  },
]);
