// A full scan of 99 nodes with 10,000 replicas each, against the rate at which one such page is read.
// Run: node bench/scan.bench.ts [rounds]
import { type Cost, describeSpread, spreadOf } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';
import type { Scanned } from './scan-process.ts';

const NODES = 99;
const REPLICAS = 10_000;
const ROUNDS = Number(process.argv[2] ?? 7);
/** Pages read beside each scan. */
const PAGES = 9;
const MUST_SHARE = 0.8;
const MOST_BYTES = 16;
/** Above idle, beside what is remembered of the ranges. */
const MOST_MIB = 100;
const MIB = 1024 * 1024;

await using server = await startProcess('scale-server.ts', {
  nodes: NODES,
  replicasPerNode: REPLICAS,
});
const cluster = await server.ask<ServedCluster>('cluster');
await using scanner = await startProcess('scan-process.ts', cluster, optionsOfImage());
const { url, token } = cluster;
const reading: PageWay = { way: 'exporter', url, token };
await using reader = await startProcess('page-ways.ts', reading, optionsOfImage());

/** MB per second of the event loop's CPU time. */
function rateOf(bytes: number, { loopMs }: Cost): number {
  return bytes / 1000 / loopMs;
}

const pages: number[] = [];
const scans: Scanned[] = [];
const idleMib = await scanner.ask<number>('resident');
const first = await scanner.ask<Scanned>('scan');
for (let round = 0; round < ROUNDS; round += 1) {
  const own: number[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const cost = await reader.ask<Cost>('run');
    own.push(rateOf((await reader.ask<Found>('found')).bytes, cost));
  }
  pages.push(spreadOf(own).median);
  scans.push(await scanner.ask<Scanned>('scan'));
}
const peakMib = await scanner.ask<number>('peak');

const rates = scans.map(({ bytes, cost }) => rateOf(bytes, cost));
const shares = rates.map((rate, at) => rate / (pages[at] ?? NaN));
const aboveMib = peakMib - idleMib - first.knownBytes / MIB;
const bytesPerRange = first.knownBytes / first.knownRanges;
const list = (part: keyof Cost): number[] => scans.map(({ cost }) => cost[part]);

report([
  {
    what: `Full scan of ${NODES} nodes × ${REPLICAS.toLocaleString('en')} replicas (${(first.bytes / 1e9).toFixed(1)} GB)`,
    must: `≥ ${MUST_SHARE * 100} % of the rate of one page; ≤ ${MOST_BYTES} B a range; peak RSS ≤ ${MOST_MIB} MiB above idle and that`,
    measured: `**${describeSpread(shares.map((share) => share * 100))} %** (${describeSpread(rates)} MB/s of CPU time), ${describeSpread(
      list('wallMs').map((ms) => ms / 1000),
      1,
    )} s; **${bytesPerRange.toFixed(1)} B** a range; peak **${aboveMib.toFixed(0)} MiB** above idle and that; event loop held p99 ${describeSpread(list('busyP99Ms'), 1)} ms, max ${describeSpread(list('busyMaxMs'), 1)} ms of CPU time, in the first scan ${first.cost.busyMaxMs.toFixed(1)} ms`,
    alternative: `one page: ${describeSpread(pages)} MB/s of CPU time`,
    isMet:
      spreadOf(shares).median >= MUST_SHARE && bytesPerRange <= MOST_BYTES && aboveMib <= MOST_MIB,
  },
]);
