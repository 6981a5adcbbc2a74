// One page of about 500 MB while it streams: memory above idle, and blocking of the event loop.
// Run: node bench/stream.bench.ts [rounds]
import { type Cost, describeSpread, spreadOf } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { ServedCluster } from './scale-server.ts';

const REPLICAS = 318_000;
const ROUNDS = Number(process.argv[2] ?? 7);
/** The usual implementation needs gigabytes. */
const USUAL_ROUNDS = 3;
const MAX_MIB = 100;
const P99_MS = 10;
const MAX_MS = 30;

await using server = await startProcess('scale-server.ts', { nodes: 3, replicasPerNode: REPLICAS });
const { url, token } = await server.call<ServedCluster>('cluster');

interface Streamed {
  readonly aboveIdleMib: number;
  readonly cost: Cost;
  readonly bytes: number;
  /** The delays of an idle process meanwhile. */
  readonly idle: Cost;
}

/** In a new process each time, because memory is not returned to the system immediately. */
async function stream(way: PageWay['way']): Promise<Streamed> {
  const argument: PageWay = { way, url, token };
  const options = way === 'exporter' ? optionsOfImage() : [];
  await using contender = await startProcess('page-ways.ts', argument, options);
  await using bystander = await startProcess('page-ways.ts', {
    way: 'nothing',
    url,
    token,
  } satisfies PageWay);
  const idleMib = await contender.call<number>('resident');
  const watched = bystander.call<Cost>('watch');
  const cost = await contender.call<Cost>('run');
  await bystander.call('stop');
  const peakMib = await contender.call<number>('peak');
  const { bytes } = await contender.call<Found>('found');
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
    name: `Peak RSS above idle while a page of ${size} streams`,
    target: `≤ ${MAX_MIB} MiB`,
    result: `**${describeSpread(memory(own))} MiB**`,
    baseline: `\`body.json()\`: ${describeSpread(memory(usual))} MiB. Receiving only: ${describeSpread(memory(receiving))} MiB`,
    isMet: spreadOf(memory(own)).median <= MAX_MIB,
  },
  {
    name: 'Event-loop delay during that page, p99 / max',
    target: `≤ ${P99_MS} ms / ≤ ${MAX_MS} ms`,
    result: `**${busy(own)}** in CPU time of the loop; wall clock ${delay(own)}, while an idle process sees ${delay(idle)}`,
    baseline: `\`body.json()\`: ${busy(usual)}. Receiving only: ${busy(receiving)}`,
    isMet:
      spreadOf(list(own, 'busyP99Ms')).median <= P99_MS &&
      spreadOf(list(own, 'busyMaxMs')).median <= MAX_MS,
  },
]);
