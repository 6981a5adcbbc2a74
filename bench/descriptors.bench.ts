// Requests and bytes of reading descriptors: in calm, and after the death of one of 99 nodes. It takes more than an hour.
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
/** Ranges of a full request, and about the bytes of each. */
const BATCH = 200;
const RANGE_BYTES = 4_000;
/** A server is taken to need so long for the descriptors of a request. */
const SERVER_MS = 200;
/** A small cluster reads at its own pace: everything takes a tenth of the time here, a minute 6 s. */
const SPEED = 10;
const MAX_SECONDS = 180;
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

interface Rate {
  readonly requests: number;
  readonly megabytes: number;
  readonly minutes: number;
  readonly scans: number;
}

/** A minute, from the end of a scan to the end of another one. */
async function measureRate(cluster: Running, minutes: number, speed = 1): Promise<Rate> {
  const { scans } = await cluster.read();
  const before = await cluster.until((progress) => progress.scans > scans);
  const endMs = before.atMs + (minutes * 60_000) / speed;
  const after = await cluster.until(
    (progress) => progress.scans > before.scans && progress.atMs >= endMs,
  );
  const passed = ((after.atMs - before.atMs) * speed) / 60_000;
  return {
    requests: (after.requests - before.requests) / passed,
    megabytes: (after.bytes - before.bytes) / 1e6 / passed,
    minutes: passed,
    scans: after.scans - before.scans,
  };
}

function describeRate(ranges: number, rate: Rate, note: string): Row {
  return {
    name: `Descriptors of ${ranges.toLocaleString('en')} ranges on ${NODES} nodes in calm`,
    target: `≤ ${MAX_MB_A_MINUTE} MB a minute with ${SERVER_MS} ms a request`,
    result: `**${rate.requests.toFixed(1)} requests, ${rate.megabytes.toFixed(1)} MB a minute** over ${rate.minutes.toFixed(0)} min with ${rate.scans} scans; ${note}`,
    baseline: `all every 15 minutes in full requests: ${(ranges / (15 * BATCH)).toFixed(1)} requests, ${((ranges * RANGE_BYTES) / 15e6).toFixed(1)} MB a minute`,
    isMet: rate.megabytes <= MAX_MB_A_MINUTE,
  };
}

async function measureSmall(replicasPerNode: number): Promise<Row> {
  const ranges = (NODES / REPLICATION) * replicasPerNode;
  await using cluster = await start(replicasPerNode, 'interval: 6s, descriptor_max_age: 3m');
  await cluster.change('describeIn', SERVER_MS / SPEED);
  // The third round has begun.
  const isSettled = ({ bytes }: Progress): boolean => bytes > 2.5 * ranges * RANGE_BYTES;
  await cluster.until(isSettled);
  const rate = await measureRate(cluster, 30, SPEED);
  return describeRate(ranges, rate, 'each range every 15 minutes');
}

/** The rate of the first round: such a cluster is read without a pause. */
async function measureHuge(replicasPerNode: number): Promise<Row> {
  const ranges = (NODES / REPLICATION) * replicasPerNode;
  await using cluster = await start(replicasPerNode, 'interval: 60s');
  await cluster.change('describeIn', SERVER_MS);
  await cluster.until(({ scans }) => scans > 0);
  const rate = await measureRate(cluster, 5);
  const round = ((ranges * RANGE_BYTES) / 1e6 / rate.megabytes).toFixed(0);
  return describeRate(ranges, rate, `a round takes ${round} min`);
}

async function measureLarge(replicasPerNode: number): Promise<readonly Row[]> {
  const ranges = (NODES / REPLICATION) * replicasPerNode;
  await using cluster = await start(replicasPerNode, 'interval: 60s');
  await cluster.change('describeIn', SERVER_MS);
  const begun = await cluster.until(({ requests }) => requests > 0);
  const all = await cluster.until(({ unverified }) => unverified === 0);
  const round = ((all.atMs - begun.atMs) / 60_000).toFixed(0);
  // Ranges are due by their age again.
  await cluster.until(({ requests }) => requests > all.requests + 20);
  const rate = await measureRate(cluster, 5);
  const deaths: Death[] = [];
  for (let death = 0; death < DEATHS; death += 1) {
    deaths.push(await measureDeath(cluster, death * REPLICATION + death));
  }
  const list = (part: keyof Death, by = 1): number[] => deaths.map((death) => death[part] / by);
  const replicas = (NODES * replicasPerNode).toLocaleString('en');
  return [
    describeRate(ranges, rate, `the first round took ${round} min`),
    {
      name: `After the death of one of ${NODES} nodes, ${replicas} replicas of ${ranges.toLocaleString('en')} ranges: until none is unverified`,
      target: `≤ ${MAX_SECONDS} s with ${SERVER_MS} ms a request`,
      result: `**${describeSpread(list('seconds'))} s**, of ${describeSpread(list('unverified'))} ranges; ${describeSpread(list('requests'))} requests, ${describeSpread(list('bytes', 1e6))} MB, those of the usual reading included`,
      baseline: `the first reading of all ranges: ${round} min, ${all.requests} requests, ${(all.bytes / 1e6).toFixed(0)} MB`,
      isMet: spreadOf(list('seconds')).median <= MAX_SECONDS,
    },
  ];
}

report([await measureSmall(300), ...(await measureLarge(10_000)), await measureHuge(30_300)]);
