import { setTimeout as sleep } from 'node:timers/promises';
import type { Scrape } from '../support/exporter.ts';
import { findAbsence } from './data-checks.ts';
import type { ObservedPoll } from './observed-polls.ts';
import { QUIRK_NAMES, setQuirk } from './quirks.ts';
import type { Scraper } from './scraper.ts';
import type { Setting } from './setting.ts';

/** The longest that a server's Retry-After is obeyed; tokens refused again and again are left alone for less. */
const PATIENCE_MS = 125_000;
/** The poll that comes within one interval, and the one within the next. */
const MAX_ATTEMPTS = 2;
const PAUSE_MS = 10;
/** A poll reports its duration within this time after its end. */
const MAX_REPORT_DELAY_MS = 15;
/** Many times what a recovery and a gap between polls take, on a machine whose slowness is one. */
const MAX_MS = 6_000;

/** The machine is too slow for the times of this trial, which then proves nothing. */
export class StarvedError extends Error {}

/** Ends all faults; dead nodes stay dead, except at the configured addresses. */
export async function heal(setting: Setting, isPatient: boolean): Promise<void> {
  const { simulator, proxies, chronicle, dimensions } = setting;
  simulator.clearFaults();
  for (const proxy of proxies) proxy.setWeather({ kind: 'fine' });
  for (const name of QUIRK_NAMES) setQuirk(simulator, name, false);
  chronicle.change(() => {
    for (const { id, process, silentOn } of simulator.world.state.nodes.values()) {
      const isAsked = id <= dimensions.gateways && process !== 'up';
      const isSilent = process === 'frozen' || silentOn !== 'nothing';
      if (isAsked || isSilent || process === 'partitioned') {
        simulator.world.reviveNode(id);
      }
    }
  });
  // What nobody answered is over only when it has been given up.
  await setting.flights.landed();
  if (!isPatient) return;
  await passBetweenPolls(setting, PATIENCE_MS);
  // A login that was refused three times in a trial waits for longer than that.
  await setting.exporter.app.reload();
}

/** Lets time pass, also in the world, between two polls: one that runs meanwhile would look as long as that. */
async function passBetweenPolls(setting: Setting, milliseconds: number): Promise<void> {
  const { polls, clocks, chronicle, dimensions } = setting;
  const startedAt = performance.now();
  while (polls.some(({ endedAt }) => endedAt > clocks.clock.monotonicMs() - MAX_REPORT_DELAY_MS)) {
    if (performance.now() - startedAt > MAX_MS * dimensions.slowness) {
      throw new StarvedError('polls run all the time');
    }
    await sleep(1);
  }
  clocks.pass(milliseconds);
  chronicle.change(() => setting.passInWorld(milliseconds));
}

/** Every collector succeeds in its second poll at the latest, and all expected data is exported. */
export async function expectRecovery(setting: Setting, scraper: Scraper): Promise<void> {
  const healedAt = setting.clocks.clock.monotonicMs();
  const before = await scraper.scrape();
  for (;;) {
    const scrape = await scraper.scrape();
    const missing = findLate(setting, scrape, { before, healedAt }) ?? findMissing(setting, scrape);
    if (missing === undefined) return;
    if (setting.clocks.clock.monotonicMs() - healedAt > MAX_MS * setting.dimensions.slowness) {
      const Kind = isStarved(pollsSince(setting, healedAt)) ? StarvedError : Error;
      throw new Kind(`no recovery: ${missing}`);
    }
    await sleep(PAUSE_MS);
  }
}

/** A collector without a success since; throws when one has had its chances. */
function findLate(
  setting: Setting,
  scrape: Scrape,
  { before, healedAt }: { readonly before: Scrape; readonly healedAt: number },
): string | undefined {
  const { variants, clocks } = setting;
  const since = pollsSince(setting, healedAt);
  let late: string | undefined;
  for (const [crdb_cluster, collectors] of Object.entries(variants.plan)) {
    for (const collector of collectors) {
      const labels = { crdb_cluster, collector };
      const ended = since.filter(
        (each) => each.collector === collector && each.result !== 'running',
      );
      const good = ended.find(({ result }) => result === 'good');
      const skips = skipsOf(scrape, labels) - skipsOf(before, labels);
      const isOver = good === undefined && ended.length + skips >= MAX_ATTEMPTS;
      if (isOver && !isStarved(since)) {
        const reasons = ended.map(({ reason }) => reason).join(', ');
        throw new Error(`${collector} failed after all trouble: ${skips} skips, ${reasons}`);
      }
      const name = 'crdb_exporter_collector_last_success_timestamp_seconds';
      const last = scrape.value(name, labels) ?? 0;
      const isShown = last > 0 && clocks.monotonicAt(last * 1000) >= (good?.endedAt ?? Infinity);
      if (!isShown) late = collector;
    }
  }
  return late;
}

function pollsSince({ polls }: Setting, healedAt: number): readonly ObservedPoll[] {
  return polls.filter(({ beganAt }) => beganAt >= healedAt);
}

/** Nobody is silent any more: a machine that is too busy for its own polls proves nothing. */
function isStarved(since: readonly ObservedPoll[]): boolean {
  return since.some(({ reason }) => reason === 'timeout');
}

function skipsOf(scrape: Scrape, labels: Record<string, string>): number {
  const reason = 'breaker_open';
  return scrape.value('crdb_exporter_polls_skipped_total', { ...labels, reason }) ?? 0;
}

function findMissing({ chronicle, variants }: Setting, scrape: Scrape): string | undefined {
  const planned = new Set(Object.values(variants.plan).flat());
  for (const [collector, expected] of Object.entries(chronicle.present)) {
    const missing = planned.has(collector) ? findAbsence(scrape.samples, expected) : undefined;
    if (missing !== undefined) return missing;
  }
  return undefined;
}
