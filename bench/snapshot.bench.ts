// Building the snapshot of 100,000 series, against setting and rendering them in prom-client.
// Run: node bench/snapshot.bench.ts [rounds]
import { Comparison, type Cost, describeSpread, describeUse, spreadOf, takeTurns } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { SnapshotWay } from './snapshot-ways.ts';

const SERIES = 100_000;
const ROUNDS = Number(process.argv[2] ?? 9);
const MUST = 4;
const LONGEST_MS = 10;

function start(way: SnapshotWay['way']) {
  const argument: SnapshotWay = { way, series: SERIES };
  return startProcess('snapshot-ways.ts', argument, way === 'exporter' ? optionsOfImage() : []);
}
await using exporter = await start('exporter');
await using usual = await start('prom-client');

const costs = await takeTurns<Cost>(
  { exporter: () => exporter.ask('run'), usual: () => usual.ask('run') },
  { rounds: ROUNDS, warmUps: 3 },
);
const { exporter: ours = [], usual: theirs = [] } = costs;
const ratio = new Comparison(ours, theirs);
const held = (of: readonly Cost[]): number[] => of.map(({ busyMaxMs }) => busyMaxMs);

report([
  {
    what: `Building the snapshot of ${SERIES.toLocaleString('en')} series, compressed by other threads`,
    must: `≥ ${MUST} ×, longest slice ≤ ${LONGEST_MS} ms`,
    measured: `${ratio.text}; ${describeUse(ours)}; longest slice **${describeSpread(held(ours), 1)} ms**`,
    alternative: `prom-client, set and rendered once, not compressed: ${describeUse(theirs)}; event loop held ${describeSpread(held(theirs))} ms`,
    isMet: ratio.median >= MUST && spreadOf(held(ours)).median <= LONGEST_MS,
  },
]);
