import { formatDuration, type Log } from '#base';
import type { WatchProblem } from './observation.ts';

type LoggedProblem = Pick<
  WatchProblem,
  'key' | 'affects' | 'cause' | 'text' | 'next' | 'since' | 'downApi'
>;

/**
 * Logs the start and the end of each problem of watching a cluster, by the problems before and after a poll. Example:
 * connections are refused from 12:00 to 12:25. There is a line at 12:00 and one at 12:25 ("recovered after 25 min"). A
 * problem that only one collector had has a second line when all of the API is down.
 */
export function logChanges(
  log: Log,
  before: readonly LoggedProblem[],
  after: readonly LoggedProblem[],
  nowMs: number,
): void {
  const [earlier, later] = [before, after].map(
    (problems) => new Map(problems.map((problem) => [problem.key, problem])),
  );
  for (const { key, affects, cause, text, next, downApi } of after) {
    const known = earlier?.get(key);
    const isWorse = downApi !== undefined && known?.downApi === undefined;
    if (affects === undefined || (known !== undefined && !isWorse)) continue;
    const collector = affects.length === 1 ? affects[0] : undefined;
    log.warn({ collector, reason: cause?.error.reason, hint: next || undefined }, text);
  }
  const failing = new Set(after.flatMap(({ cause, affects = [] }) => (cause ? affects : [])));
  for (const { key, affects, cause, text, since } of before) {
    if (affects === undefined || later?.has(key)) continue;
    // A collector that fails of another cause now has not recovered. A URL that works again has.
    if (cause !== undefined && affects.some((collector) => failing.has(collector))) continue;
    const lasted = formatDuration((nowMs - Date.parse(since)) / 1000);
    log.info(
      { affects: affects.join(', '), reason: cause?.error.reason },
      `recovered after ${lasted}: ${text}`,
    );
  }
}
