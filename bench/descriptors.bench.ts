// Requests and bytes of reading descriptors as protobuf: in calm, and after the death of one of 99 nodes. Hours pass in some minutes: time is
// passed in, and passes while the exporter and its servers have nothing to do, so that other load on the machine changes no figure.
// Run: node bench/descriptors.bench.ts [deaths]
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { startTestExporter } from '../test/support/exporter.ts';
import { describeSpread, spreadOf } from './cost.ts';
import { report, type Row } from './rows.ts';
import { startScaleSimulator } from './scale/simulator.ts';

const DEATHS = Number(process.argv[2] ?? 3);
const NODES = 99;
const REPLICATION = 3;
/** Ranges of a full request. */
const BATCH = 200;
/** A server is taken to need so long for the descriptors of a request, and no time for a list of ranges. */
const SERVER_MS = 200;
const EVERY_MS = 2_000;
const MAX_SECONDS = 180;
const MAX_MB_A_MINUTE = 15;
const STEP_MS = 200;
/** The event loop has nothing to do when it was active for less than this in some turns, each with a timer of a millisecond. */
const IDLE_MS = 0.5;
const IDLE_TURNS = 2;

/** That of the machine. */
const realTimeout = setTimeout;

/** Since the start of the exporter, with the ranges that the last scan could not verify. */
interface Progress {
  readonly requests: number;
  readonly bytes: number;
  readonly scans: number;
  /** Undefined before the first scan. */
  readonly unverified: number | undefined;
  /** Ranges with a replica on a node that is down. */
  readonly down: number;
  readonly atMs: number;
}

interface Running extends AsyncDisposable {
  /** The dead nodes, from 0. */
  readonly dead: Set<number>;
  read(): Promise<Progress>;
  /** Reads until this holds. */
  until(isThere: (progress: Progress) => boolean): Promise<Progress>;
}

const now = (): number => Date.now();

/** A cluster of this number of ranges, each with three replicas. */
async function start(ranges: number): Promise<Running> {
  const replicasPerNode = (ranges * REPLICATION) / NODES;
  const sizes = { nodes: NODES, replicasPerNode, hasProblems: false };
  const server = await startScaleSimulator({ ...sizes, metricKeys: 'useful' });
  server.changes.descriptorMs = SERVER_MS;
  const exporter = await startTestExporter({
    yaml: `clusters:
  - name: bench
    cluster_api: { urls: ["${server.clusterUrl}"], username: ${server.username}, password: ${server.password} }
    collectors:
      nodes: { enabled: false }
      sessions: { enabled: false }
      tables: { enabled: false }
      network: { enabled: false }
      ranges: { interval: 60s }
`,
    app: { clock: { wallMs: now, monotonicMs: now, runningMs: now } },
  });
  async function read(): Promise<Progress> {
    const scrape = await exporter.scrape();
    const total = (...family: Parameters<typeof scrape.all>): number =>
      scrape.all(...family).reduce((sum, sample) => sum + sample.value, 0);
    const endpoint = 'range_descriptors';
    return {
      requests: total('crdb_exporter_http_requests_total', { endpoint }),
      bytes: total('crdb_exporter_http_response_bytes_total', { endpoint }),
      scans: total('crdb_exporter_polls_total', { collector: 'ranges' }),
      unverified: scrape.value('crdb_ranges_unverified'),
      down: total('crdb_node_down_replicas'),
      atMs: now(),
    };
  }
  return {
    dead: server.changes.dead,
    read,
    async until(isThere) {
      for (;;) {
        const progress = await read();
        if (isThere(progress)) return progress;
        await sleep(EVERY_MS);
      }
    },
    async [Symbol.asyncDispose]() {
      await exporter.stop();
      await server.close();
    },
  };
}

/** Lets time pass until this is done. */
async function passTime<Result>(work: Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const end = work.finally(() => over.abort());
  while (!over.signal.aborted) {
    await settle();
    mock.timers.tick(STEP_MS);
  }
  return end;
}

/** Resolves when all that could happen at this time has happened. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < IDLE_TURNS;) {
    const before = performance.eventLoopUtilization();
    await new Promise<void>((resolve) => void realTimeout(resolve, 1));
    await turn();
    turns = performance.eventLoopUtilization(before).active < IDLE_MS ? turns + 1 : 0;
  }
}

interface Death {
  readonly seconds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly ranges: number;
}

/** From the death of a node until every range is verified again, as /metrics shows it. */
async function measureDeath(cluster: Running, node: number): Promise<Death> {
  const { scans } = await cluster.read();
  // The death falls at any time between two scans: here into the first half.
  const before = await cluster.until((progress) => progress.scans > scans);
  await sleep(20_000 * Math.random());
  cluster.dead.add(node);
  const killedMs = Date.now();
  const after = await cluster.until(({ unverified, down }) => unverified === 0 && down > 0);
  cluster.dead.delete(node);
  await cluster.until(({ unverified, down }) => unverified === 0 && down === 0);
  return {
    seconds: (after.atMs - killedMs) / 1000,
    requests: after.requests - before.requests,
    bytes: after.bytes - before.bytes,
    ranges: after.down,
  };
}

interface Rate {
  readonly requests: number;
  readonly megabytes: number;
  /** By how much fewer ranges are unverified. */
  readonly verified: number;
  readonly minutes: number;
  readonly scans: number;
}

/** A minute, from the end of a scan to the end of another one. */
async function measureRate(cluster: Running, minutes: number): Promise<Rate> {
  const { scans } = await cluster.read();
  const before = await cluster.until((progress) => progress.scans > scans);
  const endMs = before.atMs + minutes * 60_000;
  const after = await cluster.until(
    (progress) => progress.scans > before.scans && progress.atMs >= endMs,
  );
  const passed = (after.atMs - before.atMs) / 60_000;
  return {
    requests: (after.requests - before.requests) / passed,
    megabytes: (after.bytes - before.bytes) / 1e6 / passed,
    verified: ((before.unverified ?? 0) - (after.unverified ?? 0)) / passed,
    minutes: passed,
    scans: after.scans - before.scans,
  };
}

function describeRate(ranges: number, rate: Rate, note: string): Row {
  return {
    name: `Descriptors of ${ranges.toLocaleString('en')} ranges on ${NODES} nodes in calm`,
    target: `≤ ${MAX_MB_A_MINUTE} MB a minute with ${SERVER_MS} ms a request`,
    result: `**${rate.requests.toFixed(1)} requests, ${rate.megabytes.toFixed(1)} MB a minute** over ${rate.minutes.toFixed(0)} min with ${rate.scans} scans; ${note}`,
    baseline: `all every 15 minutes in full requests: ${(ranges / (15 * BATCH)).toFixed(1)} requests a minute`,
    isMet: rate.megabytes <= MAX_MB_A_MINUTE,
  };
}

/** The rate of the first round: such a cluster is read without a pause. */
async function measureHuge(ranges: number): Promise<readonly Row[]> {
  await using cluster = await start(ranges);
  await cluster.until(({ scans }) => scans > 1);
  const rate = await measureRate(cluster, 5);
  const round = (ranges / rate.verified).toFixed(0);
  return [describeRate(ranges, rate, `a round takes ${round} min at this rate`)];
}

/** The first round, a time of calm after another round, and some deaths. */
async function measureWhole(ranges: number, minutes: number): Promise<readonly Row[]> {
  await using cluster = await start(ranges);
  const begun = await cluster.until(({ requests }) => requests > 0);
  const all = await cluster.until(({ unverified }) => unverified === 0);
  const round = ((all.atMs - begun.atMs) / 60_000).toFixed(1);
  // Ranges are due by their age again.
  await cluster.until(({ requests }) => requests > all.requests + 20);
  const rate = await measureRate(cluster, minutes);
  const deaths: Death[] = [];
  for (let death = 0; death < DEATHS; death += 1) {
    deaths.push(await measureDeath(cluster, death * REPLICATION + death));
  }
  const list = (part: keyof Death, by = 1): number[] => deaths.map((death) => death[part] / by);
  return [
    describeRate(ranges, rate, `the first round took ${round} min`),
    {
      name: `After the death of one of ${NODES} nodes with ${ranges.toLocaleString('en')} ranges: until none is unverified`,
      target: `≤ ${MAX_SECONDS} s with ${SERVER_MS} ms a request`,
      result: `**${describeSpread(list('seconds'))} s**, of ${describeSpread(list('ranges'))} ranges; ${describeSpread(list('requests'))} requests, ${describeSpread(list('bytes', 1e6))} MB, those of the usual reading included`,
      baseline: `the first reading of all ranges: ${round} min, ${all.requests} requests, ${(all.bytes / 1e6).toFixed(0)} MB`,
      isMet: spreadOf(list('seconds')).median <= MAX_SECONDS,
    },
  ];
}

mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'], now: Date.now() });
syncBuiltinESMExports();
const rows = Promise.all([
  measureWhole(9_900, 15),
  measureWhole(330_000, 30),
  measureHuge(999_900),
]);
report((await passTime(rows)).flat());
