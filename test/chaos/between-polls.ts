import { setTimeout as sleep } from 'node:timers/promises';
import type { Setting } from './setting.ts';

/** A poll reports its duration within this time after its end. */
const MAX_REPORT_DELAY_MS = 15;

/** Lets time pass, also in the world, between two polls: one that runs meanwhile would look as long as that. */
export async function passBetweenPolls(setting: Setting, milliseconds: number): Promise<void> {
  const { polls, clocks, breaks, chronicle } = setting;
  while (polls.some(({ endedAt }) => endedAt > clocks.clock.monotonicMs() - MAX_REPORT_DELAY_MS)) {
    await sleep(1);
  }
  clocks.pass(milliseconds);
  chronicle.change(() => setting.passInWorld(milliseconds));
  breaks.push(clocks.clock.monotonicMs());
}
