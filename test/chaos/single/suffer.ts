import { setTimeout as sleep } from 'node:timers/promises';
import { passBetweenPolls } from '../between-polls.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import { keepBudget } from './budget.ts';
import { COLLECTORS_OF, type SingleFault } from './fault.ts';
import { keepPause } from './pause.ts';
import { keepSilence } from './silent-nodes.ts';
import {
  expectPromptRecovery,
  findBlinded,
  findSpread,
  findUntouched,
  judgeWindow,
} from './window.ts';

type Of<Kind extends SingleFault['kind']> = Extract<SingleFault, { kind: Kind }>;

const PAUSE_MS = 10;
const MAX_WAIT_MS = 60_000;
/** A refused secret is left alone for a minute. */
const REFUSED_MS = 61_000;
/** One for each header name that could be the reason, and the first. */
const MAX_BAD_LOGINS = 3;

/** Lets one thing go wrong in a calm world, and judges it; resolves to the number of tokens that looked lost. */
export async function suffer(
  setting: Setting,
  scraper: Scraper,
  fault: SingleFault,
): Promise<number> {
  await allSucceeded(setting);
  if (fault.kind === 'silent-nodes') return keepSilence(setting, scraper, fault);
  if (fault.kind === 'endpoint') return breakEndpoint(setting, scraper, fault);
  if (fault.kind === 'pause') return keepPause(setting, scraper, fault);
  if (fault.kind === 'bad-token') return handOutBadTokens(setting, scraper, fault);
  return keepBudget(setting, scraper, fault);
}

/** Resolves when every planned collector has succeeded once. */
async function allSucceeded({ variants, polls }: Setting): Promise<void> {
  const startedAt = performance.now();
  const isDone = (wanted: string): boolean =>
    polls.some(({ collector, result }) => collector === wanted && result === 'good');
  for (;;) {
    const waiting = Object.values(variants.plan)
      .flat()
      .filter((collector) => !isDone(collector));
    if (waiting.length === 0) return;
    if (performance.now() - startedAt > MAX_WAIT_MS)
      throw new Error(`${waiting.join()} never succeeded`);
    await sleep(PAUSE_MS);
  }
}

/** Only the collectors that need the endpoint fail, no URL is blamed for it, and all succeed soon after. */
async function breakEndpoint(
  setting: Setting,
  scraper: Scraper,
  { endpoint, effect }: Of<'endpoint'>,
): Promise<number> {
  const { simulator, clocks } = setting;
  const victims = COLLECTORS_OF[endpoint];
  const fault = simulator.fault({ endpoint, ...effect });
  await judgeWindow(setting, scraper, (window) => findSpread(setting, window, victims));
  fault.remove();
  await expectPromptRecovery(setting, clocks.clock.monotonicMs());
  return 0;
}

/** A server whose logins succeed and give nothing of use is not asked to log in at every poll, and is not given up. */
async function handOutBadTokens(
  setting: Setting,
  scraper: Scraper,
  { token }: Of<'bad-token'>,
): Promise<number> {
  const { simulator, clocks, variants } = setting;
  const victims = variants.plan['chaos'] ?? [];
  const before = simulator.requests.count('login');
  simulator.setQuirk('loginToken', token);
  simulator.world.expireTokens();
  await judgeWindow(
    setting,
    scraper,
    (window) => findUntouched(window, victims) ?? findBlinded(setting, window, victims),
  );
  const logins = simulator.requests.count('login') - before;
  simulator.setQuirk('loginToken', 'good');
  if (logins > MAX_BAD_LOGINS) throw new Error(`${logins} logins while tokens were bad`);
  await passBetweenPolls(setting, REFUSED_MS);
  await expectPromptRecovery(setting, clocks.clock.monotonicMs());
  return logins + 1;
}
