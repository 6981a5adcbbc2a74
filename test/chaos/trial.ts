import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../src/simulator/random.ts';
import { checkBudgets, checkPace } from './budgets.ts';
import { setQuirk } from './quirks.ts';
import { expectRecovery, heal } from './recovery.ts';
import { type ScrapedText, Scraper } from './scraper.ts';
import { type Setting, setUp } from './setting.ts';
import { drawSingleFault, type SingleFault } from './single/fault.ts';
import { suffer as sufferAlone } from './single/suffer.ts';
import {
  asksForPatience,
  type LastingTrouble,
  looksLikeLoss,
  type ReloadTo,
  type Scheduled,
  schedule,
  type Trouble,
} from './troubles.ts';
import { happen } from './world-events.ts';

/** What came of one seed. */
export interface Trial {
  readonly scrapes: number;
  readonly polls: number;
  readonly goodPolls: number;
  /** Some of the scraped texts, for an independent reader. */
  readonly texts: readonly ScrapedText[];
}

const TROUBLE_MS = 1_000;
/** What is left for it in a seed that has begun with a single fault. */
const SHORT_TROUBLE_MS = 500;
/** Lines of the log that a failure shows. */
const SHOWN_LINES = 40;
/** Those that poll most often. */
const NEED_A_TOKEN: ReadonlySet<string> = new Set(['nodes', 'sessions']);
/** A header's name that changes costs a login for each of the two. */
const LOGINS_PER_HEADER = 2;

/** Runs one seed from start to stop. Throws when an invariant does not hold, with all that is needed to look into it. */
export async function runTrial(seed: number): Promise<Trial> {
  const random = createRandom(seed * 7_919 + 1);
  const single = drawSingleFault(seed);
  let troubles: readonly Scheduled[] = [];
  let log = '';
  try {
    await using setting = await setUp(seed, random, { spareRequests: single !== undefined });
    const { proxies, exporter, polls } = setting;
    const forMs = single === undefined ? TROUBLE_MS : SHORT_TROUBLE_MS;
    troubles = schedule(random, { forMs, addresses: proxies.length });
    const scraper = new Scraper(setting);
    try {
      await live(setting, scraper, { single, troubles, forMs });
    } finally {
      log = exporter.log();
    }
    await setting[Symbol.asyncDispose]();
    scraper.expectNoSecret('the log', exporter.log());
    const goodPolls = polls.filter(({ result }) => result === 'good').length;
    return { scrapes: scraper.scrapes, polls: polls.length, goodPolls, texts: scraper.kept };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const story = [single, ...troubles].map((each) => JSON.stringify(each)).join('\n');
    const lines = log.split('\n').slice(-SHOWN_LINES).join('\n');
    const again = `npm run test:chaos -- --seeds 1 --seed ${seed}`;
    throw new Error(`seed ${seed}: ${why}\n${story}\n${lines}\nagain: ${again}`, { cause: error });
  }
}

interface Story {
  /** What comes first, in a calm world. */
  readonly single: SingleFault | undefined;
  readonly troubles: readonly Scheduled[];
  readonly forMs: number;
}

/** Trouble, recovery and the last words, with scrapes all the time. */
async function live(setting: Setting, scraper: Scraper, { single, troubles, forMs }: Story) {
  const over = new AbortController();
  const scraping = scraper.run(over.signal);
  let lost = 0;
  const work = async (): Promise<void> => {
    if (single !== undefined) lost += await sufferAlone(setting, scraper, single);
    lost += await makeTrouble(setting, scraper, { troubles, forMs });
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
  checkPace(setting);
  checkBudgets(setting, await scraper.scrape(), lost);
  for (const path of ['/', '/api/status', '/config']) {
    scraper.expectNoSecret(path, (await setting.exporter.get(path)).text);
  }
}

/** Lets all of it happen in its time; resolves to the number of tokens that looked lost. */
async function makeTrouble(
  setting: Setting,
  scraper: Scraper,
  { troubles, forMs }: Pick<Story, 'troubles' | 'forMs'>,
): Promise<number> {
  const { slowness } = setting.dimensions;
  const startedAt = performance.now();
  const running = troubles.map(async ({ atMs, trouble }) => {
    await sleep(slowness * atMs);
    return begin(setting, scraper, trouble);
  });
  const lost = await Promise.all(running);
  await sleep(Math.max(0, slowness * forMs - (performance.now() - startedAt)));
  return lost.reduce((total, each) => total + each, 0);
}

/** Begins one trouble and ends it when its time is over; resolves to the number of tokens that looked lost. */
async function begin(setting: Setting, scraper: Scraper, trouble: Trouble): Promise<number> {
  const { simulator, clocks, chronicle, dimensions } = setting;
  if (trouble.kind === 'reload') await reload(setting, scraper, trouble.to);
  else if (trouble.kind === 'wall') clocks.setWall(trouble.offsetMs);
  else if (trouble.kind === 'world') {
    const under = { simulator, gateways: dimensions.gateways, pass: setting.passInWorld };
    chronicle.change(() => happen(trouble.event, under));
  } else if (trouble.kind === 'tokens') return loseTokens(setting, trouble.how);
  else return suffer(setting, trouble);
  return 0;
}

/** What lasts for a while. */
async function suffer(setting: Setting, trouble: LastingTrouble): Promise<number> {
  const { simulator, proxies, isDocumented, dimensions } = setting;
  const over = (): Promise<unknown> => sleep(dimensions.slowness * trouble.forMs);
  if (trouble.kind === 'fault') {
    const fault = simulator.fault(trouble.fault);
    await over();
    fault.remove();
    return looksLikeLoss(trouble) ? fault.hits : 0;
  }
  if (trouble.kind === 'weather') {
    proxies[trouble.address]?.setWeather(trouble.weather);
    await over();
    proxies[trouble.address]?.setWeather({ kind: 'fine' });
    return 0;
  }
  if (trouble.kind === 'bad-token') {
    const before = simulator.requests.count('login');
    simulator.setQuirk('loginToken', trouble.token);
    simulator.world.expireTokens();
    await over();
    simulator.setQuirk('loginToken', 'good');
    return simulator.requests.count('login') - before + 1;
  }
  setQuirk(simulator, trouble.quirk, { isOn: true, isDocumented });
  await over();
  setQuirk(simulator, trouble.quirk, { isOn: false, isDocumented });
  return trouble.quirk === 'other-header' ? 2 * LOGINS_PER_HEADER : 0;
}

function loseTokens(setting: Setting, how: 'expire' | 'revoke'): number {
  if (setting.flights.isLoggingIn() || !isTokenAccepted(setting)) return 0;
  const { world } = setting.simulator;
  if (how === 'expire') world.expireTokens();
  else world.revokeTokens();
  return 1;
}

/**
 * Whether the newest token that has arrived has been good for anything yet: one that is refused from the start looks like a
 * server that takes none, and is left alone for a minute.
 */
function isTokenAccepted({ tokens, polls, breaks }: Setting): boolean {
  const sinceMs = Math.max(...tokens.values(), ...breaks);
  return polls.some(
    ({ collector, beganAt, result }) =>
      NEED_A_TOKEN.has(collector) && result === 'good' && beganAt > sinceMs,
  );
}

async function reload(setting: Setting, scraper: Scraper, to: ReloadTo): Promise<void> {
  const { variants, exporter, breaks, clocks } = setting;
  scraper.isReloading = true;
  variants.next = to;
  const { succeeded } = await exporter.app.reload();
  scraper.isReloading = false;
  breaks.push(clocks.clock.monotonicMs());
  if (succeeded !== (to !== 'bad')) throw new Error(`a reload of ${to} succeeded: ${succeeded}`);
}
