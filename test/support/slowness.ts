import { setTimeout as sleep } from 'node:timers/promises';

/** Enough to be interrupted by the other programs of a busy machine. */
const WORK_MS = 100;

/**
 * How many times longer work takes than on a machine that does nothing else: 1, or 4 where this process gets a quarter of the
 * processor. What depends on real time allows for that.
 */
export function measureSlowness(): number {
  const startedMs = performance.now();
  const before = process.threadCpuUsage();
  let usedMs = 0;
  while (usedMs < WORK_MS) {
    const { user, system } = process.threadCpuUsage(before);
    usedMs = (user + system) / 1000;
  }
  return Math.max(1, (performance.now() - startedMs) / usedMs);
}

const MEASUREMENTS = 5;
const APART_MS = 1000;

/** The same over some seconds: for tests of minutes, which begin while all others start. */
export async function measureLastingSlowness(): Promise<number> {
  const measured: number[] = [];
  while (measured.length < MEASUREMENTS) {
    measured.push(measureSlowness());
    await sleep(APART_MS);
  }
  return measured.toSorted((a, b) => a - b)[Math.floor(MEASUREMENTS / 2)] ?? 1;
}
