// `npm run dashboards:measure -- NODES [MINUTES]`: every query of every panel against a real Prometheus that watches a
// simulated cluster of this size: number of series and time, the slowest last; then what each dashboard costs when it is opened.
import { calmCluster, emptyWithoutReason, queryPanels } from './cluster-panels.ts';

const INTERVAL_SECONDS = 10;

const [nodes = '9', minutes = '5'] = process.argv.slice(2);
const panels = await queryPanels({
  size: calmCluster(Number(nodes)),
  intervalSeconds: INTERVAL_SECONDS,
  seconds: 60 * Number(minutes),
});
const rows = panels
  .flatMap(({ title, queries, series, milliseconds }) =>
    queries.map(({ refId }, index) => ({
      name: `${title} ${refId}`,
      series: series[index] ?? 0,
      milliseconds: milliseconds[index] ?? 0,
    })),
  )
  .toSorted((a, b) => a.milliseconds - b.milliseconds);
for (const { name, series, milliseconds } of rows) {
  const state = series === 0 ? 'empty' : `${series} series`;
  process.stdout.write(`${milliseconds.toFixed(0).padStart(6)} ms  ${state.padEnd(12)} ${name}\n`);
}
const most = Math.max(...rows.map(({ series }) => series));
process.stdout.write(
  `${rows.length} queries, ${rows.filter(({ series }) => series === 0).length} empty, at most ${most} series.\n`,
);
for (const [board, placed] of Map.groupBy(panels, (one) => one.board)) {
  // Panels of collapsed rows are members of their rows.
  const open = placed.filter(({ panel }) => board.panels?.includes(panel));
  const seconds = open.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const count = open.flatMap(({ queries }) => queries).length;
  process.stdout.write(
    `${board.title}: ${count} open queries, ${seconds.toFixed(1)} s of CPU of Prometheus.\n`,
  );
}
for (const title of emptyWithoutReason(panels)) {
  process.stdout.write(`Empty without a reason: ${title}\n`);
  process.exitCode = 1;
}
