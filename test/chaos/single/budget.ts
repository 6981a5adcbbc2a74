import { COLLECTORS } from '../../../src/collectors/index.ts';
import type { ParsedSample } from '../../metrics/parse-exposition.ts';
import { findAbsence, listMissing } from '../data-checks.ts';
import { type Expected, nameOf } from '../oracle/expected.ts';
import { findUnfairness, ofWholeCluster } from '../oracle/series-budget.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import type { SingleFault } from './fault.ts';
import { findBlinded, judgeWindow, type Window } from './window.ts';

type Budget = Extract<SingleFault, { kind: 'budget' }>;

const MIN_BUDGET = 500;
const COLLECTOR_OF: ReadonlyMap<string, string> = new Map(
  COLLECTORS.flatMap(({ name, families }) => families.map((family) => [family.name, name])),
);

/** A budget about what the largest collector needs, for each of them: the rest of the trial lives with it. */
export async function keepBudget(
  setting: Setting,
  scraper: Scraper,
  { above }: Budget,
): Promise<number> {
  const { variants, exporter, breaks, clocks } = setting;
  const needed = [...countByCollector((await scraper.scrape()).samples).values()];
  const maxSeries = Math.max(MIN_BUDGET, Math.max(...needed) + above);
  variants.next = 'budget';
  variants.maxSeries = maxSeries;
  scraper.isReloading = true;
  await exporter.app.reload();
  scraper.isReloading = false;
  breaks.push(clocks.clock.monotonicMs());
  await judgeWindow(
    setting,
    scraper,
    (window) => findBlinded(setting, window, []) ?? findFault(setting, window, needed, maxSeries),
  );
  return 0;
}

function findFault(
  { chronicle }: Setting,
  { after }: Window,
  needed: readonly number[],
  maxSeries: number,
): string | undefined {
  for (const [collector, series] of countByCollector(after.samples)) {
    if (series > maxSeries) return `${collector}: ${series} series, the budget is ${maxSeries}`;
  }
  const expected: Expected = new Map(
    Object.entries(chronicle.present).flatMap(([, each]) => [...each]),
  );
  // What fits is all there.
  if (needed.every((series) => series <= maxSeries)) return findAbsence(after.samples, expected);
  const hits = after.all('crdb_exporter_collector_limit_hit', { limit: 'series' });
  const dropped = after.all('crdb_exporter_series_dropped_total', { reason: 'budget' });
  if (!hits.some(({ value }) => value === 1)) return 'no collector shows that it hit its budget';
  if (!dropped.some(({ value }) => value > 0)) return 'nothing is shown as dropped';
  const absent = findAbsence(after.samples, ofWholeCluster(expected));
  if (absent !== undefined) return absent;
  const missing = Map.groupBy(listMissing(after.samples, expected), (key) =>
    COLLECTOR_OF.get(nameOf(key)),
  );
  for (const [collector, keys] of missing) {
    const shown = dataOf(after.samples).filter(({ name }) => COLLECTOR_OF.get(name) === collector);
    const unfair = findUnfairness(shown, keys);
    if (unfair !== undefined) return unfair;
  }
  return undefined;
}

function countByCollector(samples: readonly ParsedSample[]): ReadonlyMap<string, number> {
  const byCollector = Map.groupBy(dataOf(samples), ({ name }) => COLLECTOR_OF.get(name) ?? '');
  return new Map([...byCollector].map(([collector, all]) => [collector, all.length]));
}

/** The data of the cluster that every trial has. */
function dataOf(samples: readonly ParsedSample[]): readonly ParsedSample[] {
  return samples.filter(
    ({ name, labels }) => COLLECTOR_OF.has(name) && labels['crdb_cluster'] === 'chaos',
  );
}
