/** Enough to be interrupted by the other programs of a busy machine. */
const WORK_MS = 300;

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
