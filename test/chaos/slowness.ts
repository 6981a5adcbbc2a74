const SAMPLE_MICROSECONDS = 15_000;
/** Beyond that nothing can be said of times. */
const MOST = 6;

/**
 * How many times longer everything takes because the processor is busy with others: 1 on a calm machine. Without it
 * deadlines of milliseconds would measure the machine and not the exporter.
 */
export function measureSlowness(): number {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let used = 0;
  while (used < SAMPLE_MICROSECONDS) {
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  const tookMicroseconds = (performance.now() - startedAt) * 1000;
  return Math.min(MOST, Math.max(1, tookMicroseconds / used));
}
