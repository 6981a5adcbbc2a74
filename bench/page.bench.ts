// One page of 20,000 ranges (about 43 MB), from the socket to the aggregate of its node.
// Run: node bench/page.bench.ts [rounds]
import { Comparison, type Cost, describeSpread, describeUse, takeTurns } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { ServedPage } from './page-server.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';

const RANGES = 20_000;
const ROUNDS = Number(process.argv[2] ?? 15);
const TARGET = 4;

await using server = await startProcess('page-server.ts', { ranges: RANGES });
const { url, bytes } = await server.call<ServedPage>('page');

function start(way: PageWay['way']) {
  const argument: PageWay = { way, url, token: 'any' };
  return startProcess('page-ways.ts', argument, way === 'exporter' ? optionsOfImage() : []);
}
await using exporter = await start('exporter');
await using json = await start('json');
await using nothing = await start('nothing');

const costs = await takeTurns<Cost>(
  {
    exporter: () => exporter.call('run'),
    json: () => json.call('run'),
    nothing: () => nothing.call('run'),
  },
  { rounds: ROUNDS, warmUps: 4 },
);
const [own, usual] = await Promise.all([exporter.call<Found>('found'), json.call<Found>('found')]);
if (own.replicas !== RANGES || Math.abs(own.queries - usual.queries) > 1e-6 * usual.queries) {
  throw new Error(`the results differ: ${JSON.stringify([own, usual])}`);
}

const { exporter: ours = [], json: theirs = [], nothing: receiving = [] } = costs;
const ratio = new Comparison(ours, theirs);
const held = (of: readonly Cost[]): string =>
  `event loop blocked for at most ${describeSpread(of.map(({ busyMaxMs }) => busyMaxMs))} ms`;

report([
  {
    name: `One page of ${RANGES.toLocaleString('en')} ranges (${(bytes / 1e6).toFixed(0)} MB) from socket to aggregate`,
    target: `≥ ${TARGET} ×`,
    result: `${ratio.text}; ${describeUse(ours, bytes)}; ${held(ours)}`,
    baseline: `undici \`body.json()\` and a loop: ${describeUse(theirs, bytes)}; ${held(theirs)}. Receiving only: ${describeUse(receiving, bytes)}`,
    isMet: ratio.median >= TARGET,
  },
]);
