import { setTimeout as sleep } from 'node:timers/promises';
import type { Setting } from './setting.ts';

/** Within that time of its end a poll has said how long it took. */
const CONCLUDING_MS = 15;

/** Lets time pass between two polls: one that runs meanwhile would look as long as that. */
export async function passBetweenPolls(setting: Setting, milliseconds: number): Promise<void> {
  const { polls, clocks, breaks } = setting;
  while (polls.some(({ endedAt }) => endedAt > clocks.clock.monotonicMs() - CONCLUDING_MS)) {
    await sleep(1);
  }
  clocks.pass(milliseconds);
  breaks.push(clocks.clock.monotonicMs());
}
