// Latency of /-/healthy and /api/status while the exporter polls clusters of very many nodes, a tenth of which is dead.
// Run: node bench/status.bench.ts [seconds]
import { type Cost, spreadOf } from './cost.ts';
import type { ExporterStart } from './exporter-process.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import { report, type Row } from './rows.ts';
import type { ManyNodes } from './status-server.ts';

const SECONDS = Number(process.argv[2] ?? 45);
const HEALTH_EVERY_MS = 50;
const STATUS_EVERY_MS = 1_000;
const MAX_MS = 1_000;

/**
 * How long requests took, each of which begins when it is due, however long those before it take. Infinity for one without
 * a response.
 */
async function timeRequests(url: string, everyMs: number): Promise<readonly number[]> {
  const count = Math.ceil((SECONDS * 1000) / everyMs);
  const start = performance.now();
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const due = start + index * everyMs;
      await new Promise((resolve) => setTimeout(resolve, due - performance.now()));
      return (await isAnswered(url)) ? performance.now() - due : Infinity;
    }),
  );
}

async function isAnswered(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

interface Watched {
  readonly healthy: readonly number[];
  readonly status: readonly number[];
  readonly cost: Cost;
  /** Polls of the nodes, and scans, while the requests ran. */
  readonly polls: readonly number[];
}

async function watch(cluster: ManyNodes): Promise<Watched> {
  await using server = await startProcess('status-server.ts', cluster);
  const start: ExporterStart = {
    yaml: `clusters:
  - name: bench
    cluster_api: { urls: ["${await server.call<string>('url')}"], username: any, password: any }
    collectors:
      nodes: { interval: 5s, max_duty: 1 }
      sessions: { enabled: false }
      tables: { enabled: false }
      ranges: { interval: 5s, max_age: 10m, max_duty: 1, route: gateway }
`,
  };
  await using exporter = await startProcess('exporter-process.ts', start, optionsOfImage());
  const { origin } = new URL(await exporter.call<string>('url'));
  const polls = () => countPolls(origin);
  while ((await polls()).some((count) => count === 0)) {
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
  const before = await polls();
  const watched = exporter.call<Cost>('watch');
  const [healthy, status] = await Promise.all([
    timeRequests(`${origin}/-/healthy`, HEALTH_EVERY_MS),
    timeRequests(`${origin}/api/status`, STATUS_EVERY_MS),
  ]);
  await exporter.call('stop');
  const after = await polls();
  return {
    healthy,
    status,
    cost: await watched,
    polls: after.map((count, at) => count - (before[at] ?? 0)),
  };
}

/** Polls of the nodes and of their ranges that succeeded since the start. */
async function countPolls(origin: string): Promise<readonly number[]> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return ['nodes', 'ranges'].map((collector) => {
    const line = new RegExp(
      `^crdb_exporter_polls_total\\{[^}]*collector="${collector}".* (\\d+)$`,
      'm',
    );
    return Number(line.exec(text)?.[1] ?? 0);
  });
}

/** `p99 12 ms (median 3, longest 40)`. */
function describe(times: readonly number[]): string {
  const { median, high } = spreadOf(times);
  return `p99 ${p99(times).toFixed(0)} ms (median ${median.toFixed(0)}, longest ${high.toFixed(0)})`;
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? NaN;
}

function describeAll({ healthy, status, cost, polls: [nodes, scans] }: Watched): string {
  return `\`/-/healthy\` **${describe(healthy)}**, \`/api/status\` **${describe(status)}**; event loop blocked for at most ${cost.busyMaxMs.toFixed(0)} ms of CPU time; ${nodes} polls of nodes and ${scans} scans`;
}

const small = await watch({ nodes: 100, tiers: 2 });
async function compare(title: string, cluster: ManyNodes): Promise<Row> {
  const large = await watch(cluster);
  return {
    name: `Watching ${title}, a tenth of them dead`,
    target: `p99 ≤ ${MAX_MS} ms`,
    result: describeAll(large),
    baseline: `100 nodes: ${describeAll(small)}`,
    isMet: p99(large.healthy) <= MAX_MS && p99(large.status) <= MAX_MS,
  };
}

report([
  await compare('10,000 nodes without locality', { nodes: 10_000, tiers: 0 }),
  await compare('3,000 nodes with 5 tiers of locality of their own', { nodes: 3_000, tiers: 5 }),
]);
