/** Spread of the first polls after start; all clusters and collectors at once would be a burst. */
const FIRST_POLL_SPREAD_MS = 800;
/** Later polls begin this share earlier or later, so that exporters and collectors drift apart. */
const JITTER = 0.05;

/** When the first poll begins after start, ms: within the first second. */
export function firstDelayMs(random: () => number): number {
  return random() * FIRST_POLL_SPREAD_MS;
}

/**
 * Extra pause before the second poll, ms. First polls all come at once, since everybody waits for them; from then
 * on the scans of many clusters are to be spread over the whole interval.
 */
export function phaseMs(intervalMs: number, random: () => number): number {
  return random() * intervalMs;
}

/** Least share of an interval between two attempts of which the first was kept from asking. */
const MIN_RETRY = 0.05;

/**
 * The interval that keeps answers within their share of the time, seconds: a cluster in trouble answers
 * slowly and is then asked less often. Waiting for what never answers puts no load on the others.
 */
export function effectiveIntervalSeconds(poll: {
  readonly configuredSeconds: number;
  readonly answerSeconds: number;
  readonly maxDuty: number;
}): number {
  return Math.max(poll.configuredSeconds, poll.answerSeconds / poll.maxDuty);
}

/** Pause between the end of a poll and the start of the next one, ms; intervals run from start to start. */
export function nextDelayMs(intervalMs: number, tookMs: number, random: () => number): number {
  const jittered = intervalMs * (1 + JITTER * (2 * random() - 1));
  return Math.max(0, jittered - tookMs);
}

/** Pause before the attempt that follows one which breakers kept from asking, ms. */
export function retryDelayMs(intervalMs: number, untilTrialMs: number): number {
  // A timer may fire a millisecond early.
  return Math.max(untilTrialMs + 1, intervalMs * MIN_RETRY);
}

/** Length of spans that lie apart, ms. */
export function lengthMs(
  spans: readonly { readonly startMs: number; readonly endMs: number }[],
): number {
  return spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}

/** Whether it is time for the next poll, so long after the last one began; the drift counts as an interval. */
export function isDue(elapsedMs: number, intervalMs: number): boolean {
  return elapsedMs >= intervalMs * (1 - JITTER);
}

/** How many polls were due while one was still running. */
export function countOverruns(intervalMs: number, tookMs: number): number {
  return Math.floor(tookMs / intervalMs);
}

/** Three intervals, but never more than ten minutes beyond one: what is older is no longer shown. */
export function maxAgeSeconds(configured: number | undefined, intervalSeconds: number): number {
  return configured ?? intervalSeconds + Math.min(2 * intervalSeconds, 600);
}
