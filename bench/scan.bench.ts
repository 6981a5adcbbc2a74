// A full scan of 99 nodes with 10,000 replicas each, compared with the rate of reading one such page, and with the scan of
// another commit.
// Run: node bench/scan.bench.ts [rounds] [commit]
import { checkOut } from './checkout.ts';
import { type Cost, describeSpread, spreadOf } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report, type Row } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';
import type { Scanned } from './scan-process.ts';

const NODES = 99;
const REPLICAS = 10_000;
const ROUNDS = Number(process.argv[2] ?? 7);
/** Pages read beside each scan. */
const PAGES = 9;
const TARGET_SHARE = 0.85;
const MAX_BYTES = 48;
/** Above idle and the table of ranges. */
const MAX_MIB = 100;
const MIB = 1024 * 1024;

await using server = await startProcess('scale-server.ts', {
  nodes: NODES,
  replicasPerNode: REPLICAS,
});
const cluster = await server.call<ServedCluster>('cluster');
await using scanner = await startProcess('scan-process.ts', cluster, optionsOfImage());
const { url, token } = cluster;
const reading: PageWay = { way: 'exporter', url, token };
await using reader = await startProcess('page-ways.ts', reading, optionsOfImage());

/** MB per second of the event loop's CPU time. */
function rateOf(bytes: number, { loopMs }: Cost): number {
  return bytes / 1000 / loopMs;
}

const [, , , commit] = process.argv;
using checkout = commit === undefined ? undefined : checkOut(commit);
await using former =
  checkout && (await startProcess(checkout.program('scan-process.ts'), cluster, optionsOfImage()));

const pages: number[] = [];
const scans: Scanned[] = [];
const formerScans: Scanned[] = [];
const idleMib = await scanner.call<number>('resident');
const first = await scanner.call<Scanned>('scan');
await former?.call('scan');
for (let round = 0; round < ROUNDS; round += 1) {
  const own: number[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const cost = await reader.call<Cost>('run');
    own.push(rateOf((await reader.call<Found>('found')).bytes, cost));
  }
  pages.push(spreadOf(own).median);
  scans.push(await scanner.call<Scanned>('scan'));
  if (former !== undefined) formerScans.push(await former.call<Scanned>('scan'));
}
const peakMib = await scanner.call<number>('peak');

const rates = scans.map(({ bytes, cost }) => rateOf(bytes, cost));
const shares = rates.map((rate, at) => rate / (pages[at] ?? NaN));
const aboveMib = peakMib - idleMib - first.knownBytes / MIB;
const bytesPerRange = first.knownBytes / first.knownRanges;
const list = (part: keyof Cost): number[] => scans.map(({ cost }) => cost[part]);

/** The rate of each scan against that of the other commit right after it. */
function compareCommits(): readonly Row[] {
  const [usual] = formerScans;
  if (usual === undefined) return [];
  const formerRates = formerScans.map(({ bytes, cost }) => rateOf(bytes, cost));
  const ratios = formerRates.map((rate, at) => (100 * (rates[at] ?? NaN)) / rate);
  return [
    {
      name: `The same scan against commit ${commit}`,
      target: `≥ ${TARGET_SHARE * 100} % of its rate`,
      result: `**${describeSpread(ratios)} %**; ${describeSpread(rates)} MB/s of CPU time; ${bytesPerRange.toFixed(1)} B a range`,
      baseline: `${describeSpread(formerRates)} MB/s of CPU time; ${(usual.knownBytes / usual.knownRanges).toFixed(1)} B a range`,
      isMet: spreadOf(ratios).median >= 100 * TARGET_SHARE,
    },
  ];
}

report([
  {
    name: `Full scan of ${NODES} nodes × ${REPLICAS.toLocaleString('en')} replicas (${(first.bytes / 1e9).toFixed(1)} GB)`,
    target: `≥ ${TARGET_SHARE * 100} % of the rate of one page; ≤ ${MAX_BYTES} B per range; peak RSS ≤ ${MAX_MIB} MiB above idle and ranges`,
    result: `**${describeSpread(shares.map((share) => share * 100))} %** (${describeSpread(rates)} MB/s of CPU time), ${describeSpread(
      list('wallMs').map((ms) => ms / 1000),
      1,
    )} s; **${bytesPerRange.toFixed(1)} B** a range; peak **${aboveMib.toFixed(0)} MiB** above idle and ranges; event loop blocked p99 ${describeSpread(list('busyP99Ms'), 1)} ms, max ${describeSpread(list('busyMaxMs'), 1)} ms of CPU time, in the first scan ${first.cost.busyMaxMs.toFixed(1)} ms`,
    baseline: `one page: ${describeSpread(pages)} MB/s of CPU time`,
    isMet:
      spreadOf(shares).median >= TARGET_SHARE && bytesPerRange <= MAX_BYTES && aboveMib <= MAX_MIB,
  },
  ...compareCommits(),
]);
