// What polling a page of 20,000 ranges costs the whole exporter over HTTP and over HTTPS, seen from outside: CPU time of all threads,
// memory, and the latency of /metrics meanwhile, against undici's `body.json()` and a loop in a process with the same options of Node.js.
// Run: node bench/page.bench.ts [--rounds N] [--against DIR], where DIR is another checkout, with its packages, to take turns with.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createAuthority } from '../test/support/certificates.ts';
import { describeSpread, residentMib, spreadOf, takeTurns } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import { PAGE_NODE_ID } from './json-pages.ts';
import type { PageServer, ServedPage } from './page-server.ts';
import type { PageWay } from './page-ways.ts';
import { type OtherProcess, startProcess } from './process.ts';
import { report, type Row } from './rows.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '8' }, against: { type: 'string' } },
});
const ROUNDS = Number(values.rounds);
const RANGES = 20_000;
/** Read in a row, so that the ticks of the CPU time are fine enough. */
const PAGES = 4;
/** Before the first turn that counts: V8 still compiles the code of scans and scrapes after 20 pages, of which a daemon reads one a minute for months. */
const WARM_UP_TURNS = 10;
const SCRAPE_MS = 50;
/** For each page, while it is read; it is polled once a second. */
const SCRAPES = 5;
/** Of Linux. */
const TICKS_PER_SECOND = 100;
// All processes are started with the limits of the image for the allocator.
Object.assign(process.env, { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '98304' });

/** At least this many times less than the usual implementation; of the CPU time of the other checkout at most this share. */
const TARGETS = { http: { times: 4, share: 1 }, https: { times: 3.4, share: 0.8 } } as const;
/** 190 MB. */
const MAX_PEAK_MIB = 181;

/** One turn of an implementation: CPU time of a page, and how long scrapes took. */
interface Turn {
  readonly cpuMs: number;
  readonly scrapesMs: readonly number[];
}

/** An exporter that waits for the pages of its server. */
interface Exporter {
  readonly pid: number;
  readonly metricsUrl: string;
  turn(): Promise<Turn>;
}

const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-page-'));
await using cleanUp = new AsyncDisposableStack();
cleanUp.defer(() => rmSync(folder, { recursive: true }));
const authority = await createAuthority();
const identity = await authority.issue({ name: 'server', sans: ['ip:127.0.0.1'] });
const caFile = path.join(folder, 'ca.pem');
writeFileSync(caFile, authority.cert);

function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12).map(Number);
  return ((user + system) * 1000) / TICKS_PER_SECOND;
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function startServer(scheme: keyof typeof TARGETS): Promise<OtherProcess> {
  const options: PageServer = { ranges: RANGES, ...(scheme === 'https' && { identity }) };
  return cleanUp.use(await startProcess('page-server.ts', options));
}

/** The exporter of a checkout, as the image starts it, but from its source. */
async function startExporter(root: string, scheme: keyof typeof TARGETS): Promise<Exporter> {
  const server = await startServer(scheme);
  const { url } = await server.call<ServedPage>('page');
  const port = await freePort();
  const file = path.join(folder, `${port}.yml`);
  writeFileSync(
    file,
    `web: { listen_address: ["127.0.0.1:${port}"] }
clusters:
  - name: bench
    cluster_api: { urls: ["${url}"], username: any, password: any, tls: { ca_file: "${caFile}" } }
    collectors:
      nodes: { enabled: false }
      sessions: { enabled: false }
      tables: { enabled: false }
      network: { enabled: false }
      ranges: { interval: 1s, timeout: 10m, node_timeout: 10m, max_age: 20m, max_duty: 1, route: gateway }
`,
  );
  const program = [path.join(root, 'src/main.ts'), `--config.file=${file}`, '--log.level=error'];
  const child = spawn(process.execPath, [...optionsOfImage(), ...program], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  cleanUp.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const pid = child.pid ?? 0;
  const metricsUrl = `http://127.0.0.1:${port}/metrics`;
  await Promise.race([server.call('send', 1), ended.then(() => failToStart(root))]);
  return {
    pid,
    metricsUrl,
    async turn() {
      const scrapesMs: number[] = [];
      const before = cpuMs(pid);
      for (let page = 0; page < PAGES; page += 1) {
        let left = SCRAPES;
        const timer = setInterval(() => {
          // On a busy machine, too, a page costs as many scrapes.
          if (left > 0) void scrape(metricsUrl, scrapesMs);
          left -= 1;
        }, SCRAPE_MS);
        await server.call('send', 1);
        clearInterval(timer);
      }
      return { cpuMs: (cpuMs(pid) - before) / PAGES, scrapesMs };
    },
  };
}

function failToStart(root: string): never {
  throw new Error(`the exporter of ${root} ended`);
}

async function scrape(url: string, tookMs: number[]): Promise<string> {
  const startedAt = performance.now();
  const text = await (await fetch(url)).text();
  tookMs.push(performance.now() - startedAt);
  return text;
}

/** Throws unless the exporter has read every range. */
async function assertAllRead({ metricsUrl }: Exporter): Promise<void> {
  const text = await scrape(metricsUrl, []);
  const replicas = Number(/^crdb_range_replicas\{.* (\d+)$/m.exec(text)?.[1]);
  if (replicas !== RANGES) throw new Error(`${replicas} of ${RANGES} ranges were read`);
}

/** A way of reading the page without the exporter, by default with its options of Node.js. */
async function startWay(
  way: PageWay['way'],
  scheme: keyof typeof TARGETS,
  options = optionsOfImage(),
) {
  const server = await startServer(scheme);
  const { url } = await server.call<ServedPage>('page');
  const argument: PageWay = { way, url, token: 'any', nodeId: PAGE_NODE_ID, ca: authority.cert };
  const reader = cleanUp.use(await startProcess('page-ways.ts', argument, options));
  return async (): Promise<Turn> => {
    const before = cpuMs(reader.pid);
    for (let page = 0; page < PAGES; page += 1) await reader.call('run');
    return { cpuMs: (cpuMs(reader.pid) - before) / PAGES, scrapesMs: [] };
  };
}

/** All turns of the implementations of one scheme, by name. */
async function measureScheme(scheme: keyof typeof TARGETS): Promise<Row> {
  const own = await startExporter(path.join(import.meta.dirname, '..'), scheme);
  const { against } = values;
  const other =
    against === undefined ? undefined : await startExporter(path.resolve(against), scheme);
  const [json, nothing] = [await startWay('json', scheme), await startWay('nothing', scheme)];
  const jsonByDefault = await startWay('json', scheme, []);
  const exporters = [own, ...(other === undefined ? [] : [other])];
  const ways = {
    own: () => own.turn(),
    ...(other !== undefined && { other: () => other.turn() }),
    json,
    jsonByDefault,
    nothing,
  };
  await takeTurns(ways, { rounds: 0, warmUps: WARM_UP_TURNS });
  // Reading the source at the start is no part of a scan.
  for (const { pid } of exporters) writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const turns = await takeTurns<Turn>(ways, { rounds: ROUNDS, warmUps: 0 });
  for (const exporter of exporters) await assertAllRead(exporter);
  return describeScheme(scheme, turns, exporters);
}

function describeScheme(
  scheme: keyof typeof TARGETS,
  turns: Readonly<Record<string, readonly Turn[]>>,
  exporters: readonly Exporter[],
): Row {
  const cpu = (name: string): number[] => (turns[name] ?? []).map((turn) => turn.cpuMs);
  const [own, other, json] = [cpu('own'), cpu('other'), cpu('json')];
  const timesOf = (ms: readonly number[]): readonly number[] =>
    json.map((usual, turn) => usual / (ms[turn] ?? NaN));
  const times = timesOf(own);
  const shares = other.map((ms, turn) => (own[turn] ?? NaN) / ms);
  const p99s = [turns['own'], turns['other']].map((of = []) => p99Of(of));
  const [peak = NaN, otherPeak = NaN] = exporters.map(({ pid }) => residentMib(pid).peak);
  const target = TARGETS[scheme];
  const inTurn =
    other.length === 0
      ? ''
      : `; **${describeSpread(shares, 2)}** of the CPU time of the other checkout: ${describeSpread(timesOf(other), 1)} ×, ${describeSpread(other)} ms a page, peak RSS ${megabytes(otherPeak)} MB, p99 of /metrics ${p99s[1]?.toFixed(0)} ms`;
  return {
    name: `The whole exporter, reading a page of ${RANGES.toLocaleString('en')} ranges over ${scheme.toUpperCase()}, scraped every ${SCRAPE_MS} ms meanwhile: CPU time of all threads`,
    target: `≥ ${target.times} ×; ≤ ${target.share} of the other checkout; peak RSS ≤ ${megabytes(MAX_PEAK_MIB)} MB; p99 of /metrics not above the other's`,
    result: `**${describeSpread(times, 1)} ×**; ${describeSpread(own)} ms a page; peak RSS ${megabytes(peak)} MB; p99 of /metrics ${p99s[0]?.toFixed(0)} ms${inTurn}`,
    baseline: `undici \`body.json()\` and a loop: ${describeSpread(json)} ms; with the default options of Node.js ${describeSpread(cpu('jsonByDefault'))} ms. Receiving only: ${describeSpread(cpu('nothing'))} ms`,
    isMet:
      spreadOf(times).median >= target.times &&
      peak <= MAX_PEAK_MIB &&
      !(spreadOf(shares).median > target.share) &&
      !((p99s[0] ?? 0) > (p99s[1] ?? Infinity)),
  };
}

function p99Of(turns: readonly Turn[]): number {
  const sorted = turns.flatMap(({ scrapesMs }) => scrapesMs).toSorted((a, b) => a - b);
  return sorted[Math.floor(0.99 * sorted.length)] ?? Infinity;
}

function megabytes(mib: number): string {
  return (mib * 1.048576).toFixed(0);
}

report([await measureScheme('http'), await measureScheme('https')]);
