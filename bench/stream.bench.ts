// One page of about 500 MB while it streams: memory above idle, and how long the event loop is held.
// Run: node bench/stream.bench.ts [rounds]
import { type Cost, describeSpread, spreadOf } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';

const REPLICAS = 318_000;
const ROUNDS = Number(process.argv[2] ?? 7);
/** The usual way takes gigabytes. */
const USUAL_ROUNDS = 3;
const MOST_MIB = 100;
const P99_MS = 10;
const MAX_MS = 30;

await using server = await startProcess('scale-server.ts', { nodes: 3, replicasPerNode: REPLICAS });
const { url, token } = await server.ask<ServedCluster>('cluster');

interface Streamed {
  readonly aboveIdleMib: number;
  readonly cost: Cost;
  readonly bytes: number;
  /** What a process that does nothing saw meanwhile: the share of the machine. */
  readonly idle: Cost;
}

/** In a fresh process each time: memory once taken is not given back at once. */
async function stream(way: PageWay['way']): Promise<Streamed> {
  const argument: PageWay = { way, url, token };
  const options = way === 'exporter' ? optionsOfImage() : [];
  await using contender = await startProcess('page-ways.ts', argument, options);
  await using bystander = await startProcess('page-ways.ts', {
    way: 'nothing',
    url,
    token,
  } satisfies PageWay);
  const idleMib = await contender.ask<number>('resident');
  const watched = bystander.ask<Cost>('watch');
  const cost = await contender.ask<Cost>('run');
  await bystander.ask('stop');
  const peakMib = await contender.ask<number>('peak');
  const { bytes } = await contender.ask<Found>('found');
  return { aboveIdleMib: peakMib - idleMib, cost, bytes, idle: await watched };
}

const own: Streamed[] = [];
const usual: Streamed[] = [];
const receiving: Streamed[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  own.push(await stream('exporter'));
  receiving.push(await stream('nothing'));
  if (round < USUAL_ROUNDS) usual.push(await stream('json'));
}

const memory = (of: readonly Streamed[]): number[] => of.map(({ aboveIdleMib }) => aboveIdleMib);
const list = (of: readonly Pick<Streamed, 'cost'>[], part: keyof Cost): number[] =>
  of.map(({ cost }) => cost[part]);
const busy = (of: readonly Pick<Streamed, 'cost'>[]): string =>
  `${describeSpread(list(of, 'busyP99Ms'), 1)} ms / ${describeSpread(list(of, 'busyMaxMs'), 1)} ms`;
const delay = (of: readonly Pick<Streamed, 'cost'>[]): string =>
  `${describeSpread(list(of, 'delayP99Ms'), 1)} / ${describeSpread(list(of, 'delayMaxMs'), 1)} ms`;
const idle = own.map(({ idle: cost }) => ({ cost }));
const size = `${((own[0]?.bytes ?? 0) / 1e6).toFixed(0)} MB`;

report([
  {
    what: `Peak RSS above idle while a page of ${size} streams`,
    must: `≤ ${MOST_MIB} MiB`,
    measured: `**${describeSpread(memory(own))} MiB**`,
    alternative: `\`body.json()\`: ${describeSpread(memory(usual))} MiB. Receiving alone: ${describeSpread(memory(receiving))} MiB`,
    isMet: spreadOf(memory(own)).median <= MOST_MIB,
  },
  {
    what: 'Event-loop delay during that page, p99 / max',
    must: `≤ ${P99_MS} ms / ≤ ${MAX_MS} ms`,
    measured: `**${busy(own)}** in CPU time of the loop; by the clock ${delay(own)}, when a process that does nothing sees ${delay(idle)}`,
    alternative: `\`body.json()\`: ${busy(usual)}. Receiving alone: ${busy(receiving)}`,
    isMet:
      spreadOf(list(own, 'busyP99Ms')).median <= P99_MS &&
      spreadOf(list(own, 'busyMaxMs')).median <= MAX_MS,
  },
]);
