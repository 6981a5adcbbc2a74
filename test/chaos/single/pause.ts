import { setTimeout as sleep } from 'node:timers/promises';
import { passBetweenPolls } from '../between-polls.ts';
import type { Scraper } from '../scraper.ts';
import type { Setting } from '../setting.ts';
import { LONG_PAUSES, MAX_PAUSE_SECONDS, type SingleFault } from './fault.ts';
import { expectPromptRecovery, findBlinded, findUntouched, judgeWindow } from './window.ts';

type Pause = Extract<SingleFault, { kind: 'pause' }>;

const PAUSE_MS = 5;
const MAX_WAIT_MS = 60_000;
/** The value is computed when the scrape is answered. */
const SLACK_SECONDS = 1;

/**
 * A Retry-After with one 429 applies to all requests of its URL for 2 minutes at most. Without another URL it is exported.
 */
export async function keepPause(
  setting: Setting,
  scraper: Scraper,
  { retryAfter }: Pause,
): Promise<number> {
  const { simulator, clocks, breaks } = setting;
  const fault = simulator.fault({
    api: 'cluster',
    times: 1,
    kind: 'status',
    status: 429,
    headers: { 'Retry-After': retryAfter },
  });
  await until(() => fault.hits > 0);
  const pausedAt = clocks.clock.monotonicMs();
  // Requests that were on their way when the answer came are nobody's fault.
  await until(() =>
    setting.polls.every(({ beganAt, result }) => beganAt > pausedAt || result !== 'running'),
  );
  const isLong = LONG_PAUSES.some((each) => each === retryAfter);
  if (!isLong || setting.dimensions.gateways > 1) {
    await expectShown(setting, scraper, 0);
    await expectPromptRecovery(setting, pausedAt);
    return 0;
  }
  const cluster = setting.variants.plan['chaos'] ?? [];
  const requests = simulator.requests.count();
  const atCloud = simulator.requests.count('assistant');
  await judgeWindow(
    setting,
    scraper,
    (window) => findBlinded(setting, window, cluster) ?? findUntouched(window, cluster),
  );
  const during =
    simulator.requests.count() - requests - (simulator.requests.count('assistant') - atCloud);
  if (during > 0) throw new Error(`${during} requests while the cluster wants none`);
  const elapsedSeconds = (clocks.clock.monotonicMs() - pausedAt) / 1000;
  await expectShown(setting, scraper, MAX_PAUSE_SECONDS - elapsedSeconds);
  await passBetweenPolls(setting, MAX_PAUSE_SECONDS * 1000);
  const endedAt = clocks.clock.monotonicMs();
  breaks.push(endedAt);
  await expectShown(setting, scraper, 0);
  await expectPromptRecovery(setting, endedAt);
  return 0;
}

async function until(isTrue: () => boolean): Promise<void> {
  const startedAt = performance.now();
  while (!isTrue()) {
    if (performance.now() - startedAt > MAX_WAIT_MS) throw new Error('waited in vain');
    await sleep(PAUSE_MS);
  }
}

/** How long the cluster is left alone from now on; the other API never asked for anything. */
async function expectShown(setting: Setting, scraper: Scraper, seconds: number): Promise<void> {
  const scrape = await scraper.scrape();
  const wanted = { cluster: seconds, cloud: 0 };
  for (const [api, expected] of Object.entries(wanted)) {
    const shown = scrape.value('crdb_exporter_api_paused_seconds', { api });
    const slack = (expected > 0 ? SLACK_SECONDS : 0) * setting.dimensions.slowness;
    const isTrue = shown !== undefined && Math.abs(shown - expected) <= slack;
    if (isTrue && shown <= MAX_PAUSE_SECONDS) continue;
    throw new Error(`crdb_exporter_api_paused_seconds of ${api} is ${shown}, not ${expected}`);
  }
}
