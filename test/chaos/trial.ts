import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../simulator/random.ts';
import { setQuirk } from './quirks.ts';
import { expectRecovery, heal, StarvedError } from './recovery.ts';
import { type ScrapedText, Scraper } from './scraper.ts';
import { type Setting, setUp } from './setting.ts';
import {
  asksForPatience,
  type LastingTrouble,
  type ReloadTo,
  type Scheduled,
  schedule,
  type Trouble,
} from './troubles.ts';
import { happen } from './world-events.ts';

/** What came of one seed: some of the scraped texts, for an independent reader. */
export interface Trial {
  readonly texts: readonly ScrapedText[];
}

const TROUBLE_MS = 1_000;
/** Lines of the log that a failure shows. */
const SHOWN_LINES = 40;

/** The most by which the times of a seed are longer than the machine seems to need. */
const MAX_PATIENCE = 8;

/**
 * Runs one seed, with twice the patience as long as the machine does not keep up. Throws when an invariant does not hold, with
 * all that is needed to look into it.
 */
export async function runTrial(seed: number, patience = 1): Promise<Trial> {
  try {
    return await tryTrial(seed, patience);
  } catch (error) {
    const isStarved = error instanceof Error && error.cause instanceof StarvedError;
    if (!isStarved || patience >= MAX_PATIENCE) throw error;
    return runTrial(seed, 2 * patience);
  }
}

/** From start to stop. */
async function tryTrial(seed: number, patience: number): Promise<Trial> {
  const random = createRandom(seed * 7_919 + 1);
  let troubles: readonly Scheduled[] = [];
  let log = '';
  try {
    await using setting = await setUp(seed, random, patience);
    const { proxies, exporter } = setting;
    troubles = schedule(random, { forMs: TROUBLE_MS, addresses: proxies.length });
    const scraper = new Scraper(setting);
    try {
      await live(setting, scraper, troubles);
    } finally {
      log = exporter.log();
    }
    await setting[Symbol.asyncDispose]();
    scraper.expectNoSecret('the log', exporter.log());
    return { texts: scraper.kept };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const story = troubles.map((each) => JSON.stringify(each)).join('\n');
    const lines = log.split('\n').slice(-SHOWN_LINES).join('\n');
    const again = `CHAOS_SEEDS=1 CHAOS_SEED=${seed} npm run test:chaos`;
    throw new Error(`seed ${seed}: ${why}\n${story}\n${lines}\nagain: ${again}`, { cause: error });
  }
}

/** Trouble, recovery and the last words, with scrapes all the time. */
async function live(
  setting: Setting,
  scraper: Scraper,
  troubles: readonly Scheduled[],
): Promise<void> {
  const over = new AbortController();
  const scraping = scraper.run(over.signal);
  const work = async (): Promise<void> => {
    await makeTrouble(setting, scraper, troubles);
    await heal(
      setting,
      troubles.some(({ trouble }) => asksForPatience(trouble)),
    );
    await expectRecovery(setting, scraper);
  };
  try {
    await Promise.race([work(), scraping]);
  } finally {
    over.abort();
  }
  await scraping;
  checkRequests(setting);
  for (const path of ['/', '/api/status', '/config']) {
    scraper.expectNoSecret(path, (await setting.exporter.get(path)).text);
  }
}

/** Requests in flight stay within their limits. */
function checkRequests({ flights, dimensions, variants }: Setting): void {
  // A cluster that is no longer watched may be logging out beside the one in its place.
  const allowed = dimensions.maxConcurrentRequests + variants.restarts;
  const { all, ranges } = flights.most;
  if (all > allowed) throw new Error(`${all} requests in flight, allowed are ${allowed}`);
  if (ranges > dimensions.rangeConcurrency) throw new Error(`${ranges} scans in flight`);
}

/** Lets all of it happen in its time. */
async function makeTrouble(
  setting: Setting,
  scraper: Scraper,
  troubles: readonly Scheduled[],
): Promise<void> {
  const { slowness } = setting.dimensions;
  const running = troubles.map(async ({ atMs, trouble }) => {
    await sleep(slowness * atMs);
    await begin(setting, scraper, trouble);
  });
  await Promise.all([...running, sleep(slowness * TROUBLE_MS)]);
}

/** Begins one trouble, and ends it when its time is over. */
async function begin(setting: Setting, scraper: Scraper, trouble: Trouble): Promise<void> {
  const { simulator, clocks, chronicle, dimensions } = setting;
  if (trouble.kind === 'reload') await reload(setting, scraper, trouble.to);
  else if (trouble.kind === 'wall') clocks.setWall(trouble.offsetMs);
  else if (trouble.kind === 'world') {
    const under = { simulator, gateways: dimensions.gateways, pass: setting.passInWorld };
    chronicle.change(() => happen(trouble.event, under));
  } else if (trouble.kind === 'tokens') {
    if (trouble.how === 'expire') simulator.world.expireTokens();
    else simulator.world.revokeTokens();
  } else {
    const end = start(setting, trouble);
    await sleep(dimensions.slowness * trouble.forMs);
    end();
  }
}

/** Starts what lasts for a while; returns what ends it. */
function start(setting: Setting, trouble: LastingTrouble): () => void {
  const { simulator, proxies } = setting;
  if (trouble.kind === 'fault') {
    const fault = simulator.fault(trouble.fault);
    return () => fault.remove();
  }
  if (trouble.kind === 'weather') {
    proxies[trouble.address]?.setWeather(trouble.weather);
    return () => proxies[trouble.address]?.setWeather({ kind: 'fine' });
  }
  setQuirk(simulator, trouble.quirk, true);
  return () => setQuirk(simulator, trouble.quirk, false);
}

async function reload(setting: Setting, scraper: Scraper, to: ReloadTo): Promise<void> {
  const { variants, exporter } = setting;
  scraper.isReloading = true;
  variants.next = to;
  const { error } = await exporter.app.reload();
  scraper.isReloading = false;
  if ((error !== undefined) !== (to === 'bad')) throw new Error(`a reload of ${to}: ${error}`);
}
