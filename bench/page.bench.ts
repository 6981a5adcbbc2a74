// One page of 20,000 ranges (about 43 MB), from the socket to the tally of its node.
// Run: node bench/page.bench.ts [rounds]
import { Comparison, type Cost, describeSpread, describeUse, takeTurns } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import type { ServedPage } from './page-server.ts';
import type { Found, PageWay } from './page-ways.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';

const RANGES = 20_000;
const ROUNDS = Number(process.argv[2] ?? 9);
const MUST = 3;
const AIM = 4.4;

await using server = await startProcess('page-server.ts', { ranges: RANGES });
const { url, bytes } = await server.ask<ServedPage>('page');

function start(way: PageWay['way']) {
  const argument: PageWay = { way, url, token: 'any' };
  return startProcess('page-ways.ts', argument, way === 'exporter' ? optionsOfImage() : []);
}
await using exporter = await start('exporter');
await using json = await start('json');
await using nothing = await start('nothing');

const costs = await takeTurns<Cost>(
  {
    exporter: () => exporter.ask('run'),
    json: () => json.ask('run'),
    nothing: () => nothing.ask('run'),
  },
  { rounds: ROUNDS, warmUps: 4 },
);
const [own, usual] = await Promise.all([exporter.ask<Found>('found'), json.ask<Found>('found')]);
if (own.replicas !== RANGES || Math.abs(own.queries - usual.queries) > 1e-6 * usual.queries) {
  throw new Error(`the ways disagree: ${JSON.stringify([own, usual])}`);
}

const { exporter: ours = [], json: theirs = [], nothing: receiving = [] } = costs;
const ratio = new Comparison(ours, theirs);
const held = (of: readonly Cost[]): string =>
  `event loop held for at most ${describeSpread(of.map(({ busyMaxMs }) => busyMaxMs))} ms`;

report([
  {
    what: `One page of ${RANGES.toLocaleString('en')} ranges (${(bytes / 1e6).toFixed(0)} MB) from socket to tally`,
    must: `≥ ${MUST} ×, aim ${AIM} ×`,
    measured: `${ratio.text}; ${describeUse(ours, bytes)}; ${held(ours)}`,
    alternative: `undici \`body.json()\` + loop: ${describeUse(theirs, bytes)}; ${held(theirs)}. Receiving alone: ${describeUse(receiving, bytes)}`,
    isMet: ratio.median >= MUST,
  },
]);
