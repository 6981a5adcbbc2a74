// Requests and bytes of reading descriptors: after the death of one of 99 nodes, and in calm. It takes about half an hour.
// Run: node bench/descriptors.bench.ts [deaths]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseExposition } from '../test/metrics/parse-exposition.ts';
import { describeSpread, spreadOf } from './cost.ts';
import type { ExporterStart } from './exporter-process.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import { report, type Row } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';

const DEATHS = Number(process.argv[2] ?? 3);
const NODES = 99;
const REPLICATION = 3;
/** A server is taken to need so long for the descriptors of a request. */
const SERVER_MS = 200;
/** A small cluster reads at its own pace: everything takes a tenth of the time here, a minute 6 s. */
const SPEED = 10;
const MAX_SECONDS = 180;
const MAX_SHARE = 0.1;
const MAX_MB_A_MINUTE = 60;

/** Since the start of the exporter, with the ranges that the last scan could not verify. */
interface Progress {
  readonly requests: number;
  readonly bytes: number;
  readonly scans: number;
  /** Undefined before the first scan. */
  readonly unverified: number | undefined;
  readonly atMs: number;
}

interface Running extends AsyncDisposable {
  read(): Promise<Progress>;
  /** Reads until this holds. */
  until(isThere: (progress: Progress) => boolean): Promise<Progress>;
  change(method: 'kill' | 'revive' | 'describeIn', argument: number): Promise<unknown>;
}

async function start(replicasPerNode: number, settings: string): Promise<Running> {
  const cluster = { nodes: NODES, replicasPerNode, metricKeys: 'useful', hasProblems: false };
  const server = await startProcess('scale-server.ts', cluster);
  const { url, username, password } = await server.call<ServedCluster>('cluster');
  const argument: ExporterStart = {
    yaml: `clusters:
  - name: bench
    cluster_api: { urls: ["${url}"], username: ${username}, password: ${password} }
    collectors:
      nodes: { enabled: false }
      sessions: { enabled: false }
      tables: { enabled: false }
      network: { enabled: false }
      ranges: { ${settings} }
`,
  };
  const exporter = await startProcess('exporter-process.ts', argument, optionsOfImage());
  const metricsUrl = await exporter.call<string>('url');
  const read = async () => readProgress(await (await fetch(metricsUrl)).text());
  return {
    read,
    async until(isThere) {
      for (;;) {
        const progress = await read();
        if (isThere(progress)) return progress;
        await sleep(500);
      }
    },
    change: (method, change) => server.call(method, change),
    async [Symbol.asyncDispose]() {
      await exporter[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function readProgress(text: string): Progress {
  const samples = parseExposition(text);
  const find = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  const total = (...given: Parameters<typeof find>) =>
    find(...given).reduce((sum, { value }) => sum + value, 0);
  return {
    requests: total('crdb_exporter_http_requests_total', { endpoint: 'range_descriptors' }),
    bytes: total('crdb_exporter_http_response_bytes_total', { endpoint: 'range_descriptors' }),
    scans: total('crdb_exporter_polls_total', { collector: 'ranges' }),
    unverified: find('crdb_ranges_unverified')[0]?.value,
    atMs: performance.now(),
  };
}

interface Death {
  readonly seconds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly unverified: number;
}

/** From the death of a node until every range is verified again, as /metrics shows it. */
async function measureDeath(cluster: Running, node: number): Promise<Death> {
  const { scans } = await cluster.read();
  // The death falls at any time between two scans: here into the first half.
  const before = await cluster.until((progress) => progress.scans > scans);
  await sleep(20_000 * Math.random());
  await cluster.change('kill', node);
  const killedMs = performance.now();
  let unverified = 0;
  const after = await cluster.until((progress) => {
    unverified = Math.max(unverified, progress.unverified ?? 0);
    return unverified > 0 && progress.unverified === 0;
  });
  await cluster.change('revive', node);
  await cluster.until((progress) => progress.scans > after.scans + 1 && progress.unverified === 0);
  return {
    seconds: (after.atMs - killedMs) / 1000,
    requests: after.requests - before.requests,
    bytes: after.bytes - before.bytes,
    unverified,
  };
}

async function measureDeaths(replicasPerNode: number): Promise<Row> {
  const ranges = (NODES / REPLICATION) * replicasPerNode;
  await using cluster = await start(replicasPerNode, 'interval: 60s');
  // Most are read fast; the rate that the exporter measures is that of slower servers.
  const first = await cluster.until(({ bytes }) => bytes > 0.9 * ranges * 4_000);
  await cluster.change('describeIn', SERVER_MS);
  const all = await cluster.until(({ unverified }) => unverified === 0);
  console.log(`all ${ranges} ranges: ${first.requests}, then ${all.requests} requests`);
  const deaths: Death[] = [];
  for (let death = 0; death < DEATHS; death += 1) {
    deaths.push(await measureDeath(cluster, death * REPLICATION + death));
    console.log(JSON.stringify(deaths.at(-1)));
  }
  const list = (part: keyof Death, by = 1): number[] => deaths.map((death) => death[part] / by);
  const share = spreadOf(list('bytes')).median / all.bytes;
  return {
    name: `After the death of one of ${NODES} nodes, ${(NODES * replicasPerNode).toLocaleString('en')} replicas of ${ranges.toLocaleString('en')} ranges: until no range is unverified`,
    target: `≤ ${MAX_SECONDS} s with ${SERVER_MS} ms a request; ≤ ${MAX_SHARE * 100} % of the bytes of all descriptors`,
    result: `**${describeSpread(list('seconds'))} s**, ${describeSpread(list('unverified'))} ranges unverified; ${describeSpread(list('requests'))} requests, ${describeSpread(list('bytes', 1e6))} MB, **${(share * 100).toFixed(1)} %**`,
    baseline: `all descriptors once: ${all.requests} requests, ${(all.bytes / 1e6).toFixed(0)} MB`,
    isMet: spreadOf(list('seconds')).median <= MAX_SECONDS && share <= MAX_SHARE,
  };
}

interface Calm {
  readonly ranges: number;
  readonly settings: string;
  readonly speed: number;
  /** Until the measurement begins. */
  readonly isSettled: (progress: Progress) => boolean;
  readonly minutes: number;
}

/** Requests and bytes a minute, from the end of a scan to the end of another one. */
async function measureCalm({ ranges, settings, speed, isSettled, minutes }: Calm): Promise<Row> {
  const replicasPerNode = Math.round((ranges * REPLICATION) / NODES);
  await using cluster = await start(replicasPerNode, settings);
  await cluster.change('describeIn', SERVER_MS / speed);
  await cluster.until(isSettled);
  const { scans } = await cluster.read();
  const before = await cluster.until((progress) => progress.scans > scans);
  const after = await cluster.until(
    (progress) =>
      progress.scans > before.scans && progress.atMs - before.atMs >= (minutes * 60_000) / speed,
  );
  const passed = ((after.atMs - before.atMs) * speed) / 60_000;
  const megabytes = (after.bytes - before.bytes) / 1e6 / passed;
  return {
    name: `Descriptors in calm, ${ranges.toLocaleString('en')} ranges on ${NODES} nodes`,
    target: `≤ ${MAX_MB_A_MINUTE} MB a minute with ${SERVER_MS} ms a request`,
    result: `**${((after.requests - before.requests) / passed).toFixed(1)} requests, ${megabytes.toFixed(1)} MB a minute** over ${passed.toFixed(0)} min with ${after.scans - before.scans} scans; ${after.unverified} ranges unverified at the end`,
    baseline: `all descriptors every 15 minutes: ${((ranges * 4e3) / 15e6).toFixed(0)} MB a minute`,
    isMet: megabytes <= MAX_MB_A_MINUTE,
  };
}

const rows = [
  await measureCalm({
    ranges: 9_900,
    settings: 'interval: 6s, descriptor_max_age: 3m',
    speed: SPEED,
    // Two rounds of 15 minutes have begun.
    isSettled: ({ bytes, unverified }) => bytes > 2.5 * 9_900 * 4_000 && unverified === 0,
    minutes: 30,
  }),
  await measureDeaths(10_000),
  // They are read without a pause: a round takes longer than half of the age of a descriptor.
  await measureCalm({
    ranges: 330_000,
    settings: 'interval: 60s',
    speed: 1,
    isSettled: ({ requests }) => requests > 40,
    minutes: 5,
  }),
  await measureCalm({
    ranges: 999_900,
    settings: 'interval: 60s',
    speed: 1,
    isSettled: ({ requests }) => requests > 40,
    minutes: 5,
  }),
];
report(rows);
