import { COLLECTORS } from '../../../src/collectors/index.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { findAbsence, listMissing } from '../data-checks.ts';
import type { Expected } from '../oracle/expected.ts';
import { findUnfairness, ofWholeCluster } from '../oracle/series-budget.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import type { SingleFault } from './fault.ts';
import { findBlinded, judgeWindow, type Window } from './window.ts';

type Budget = Extract<SingleFault, { kind: 'budget' }>;

const MIN_BUDGET = 500;
const DATA_FAMILIES = new Set(
  COLLECTORS.flatMap(({ families }) => families.map(({ name }) => name)),
);

/** A budget about what the world needs: the rest of the trial lives with it. */
export async function keepBudget(
  setting: Setting,
  scraper: Scraper,
  { above }: Budget,
): Promise<number> {
  const { variants, exporter, breaks, clocks } = setting;
  const needed = dataOf((await scraper.scrape()).samples).length;
  const maxSeries = Math.max(MIN_BUDGET, needed + above);
  variants.next = 'budget';
  variants.maxSeries = maxSeries;
  scraper.isReloading = true;
  await exporter.app.reload();
  scraper.isReloading = false;
  breaks.push(clocks.clock.monotonicMs());
  await judgeWindow(
    setting,
    scraper,
    (window) =>
      findBlinded(setting, window, []) ?? findFault(setting, window, { needed, maxSeries }),
  );
  return 0;
}

function findFault(
  { chronicle }: Setting,
  { after }: Window,
  { needed, maxSeries }: { readonly needed: number; readonly maxSeries: number },
): string | undefined {
  const shown = dataOf(after.samples);
  if (shown.length > maxSeries) return `${shown.length} series, the budget is ${maxSeries}`;
  const expected: Expected = new Map(
    Object.entries(chronicle.present).flatMap(([, each]) => [...each]),
  );
  // What fits is all there.
  if (needed <= maxSeries) return findAbsence(after.samples, expected);
  const hits = after.all('crdb_exporter_collector_limit_hit', { limit: 'series' });
  const dropped = after.all('crdb_exporter_series_dropped_total', { reason: 'budget' });
  if (!hits.some(({ value }) => value === 1)) return 'no collector shows that it hit its budget';
  if (!dropped.some(({ value }) => value > 0)) return 'nothing is shown as dropped';
  return (
    findAbsence(after.samples, ofWholeCluster(expected)) ??
    findUnfairness(after.samples, listMissing(after.samples, expected))
  );
}

/** The series that count: those of the cluster with the budget that describe it. */
function dataOf(samples: readonly ParsedSample[]): readonly ParsedSample[] {
  return samples.filter(
    ({ name, labels }) => DATA_FAMILIES.has(name) && labels['crdb_cluster'] === 'chaos',
  );
}
