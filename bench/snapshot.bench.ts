// Building the snapshot of 100,000 series, compared with setting and rendering them in prom-client.
// Run: node bench/snapshot.bench.ts [rounds]
import { Comparison, type Cost, describeSpread, describeUse, spreadOf, takeTurns } from './cost.ts';
import { optionsOfImage } from './image-options.ts';
import { startProcess } from './process.ts';
import { report } from './rows.ts';
import type { SnapshotWay } from './snapshot-ways.ts';

const SERIES = 100_000;
const ROUNDS = Number(process.argv[2] ?? 9);
const TARGET = 4;
const MAX_SLICE_MS = 10;

function start(way: SnapshotWay['way']) {
  const argument: SnapshotWay = { way, series: SERIES };
  return startProcess('snapshot-ways.ts', argument, way === 'exporter' ? optionsOfImage() : []);
}
await using exporter = await start('exporter');
await using usual = await start('prom-client');

const costs = await takeTurns<Cost>(
  { exporter: () => exporter.call('run'), usual: () => usual.call('run') },
  { rounds: ROUNDS, warmUps: 3 },
);
const { exporter: ours = [], usual: theirs = [] } = costs;
const ratio = new Comparison(ours, theirs);
const held = (of: readonly Cost[]): number[] => of.map(({ busyMaxMs }) => busyMaxMs);

report([
  {
    name: `Building the snapshot of ${SERIES.toLocaleString('en')} series, compressed in other threads`,
    target: `≥ ${TARGET} ×, longest slice ≤ ${MAX_SLICE_MS} ms`,
    result: `${ratio.text}; ${describeUse(ours)}; longest slice **${describeSpread(held(ours), 1)} ms**`,
    baseline: `prom-client, set and rendered once, not compressed: ${describeUse(theirs)}; event loop blocked ${describeSpread(held(theirs))} ms`,
    isMet: ratio.median >= TARGET && spreadOf(held(ours)).median <= MAX_SLICE_MS,
  },
]);
