const INTERVAL_MS = 60_000;

/** Tells whether a log line about something is due: at most one a minute. What clients cause must not fill the log. */
export function createLineLimit(monotonicMs: () => number): (what: string) => boolean {
  const loggedAtMs = new Map<string, number>();
  return (what) => {
    const nowMs = monotonicMs();
    if (nowMs - (loggedAtMs.get(what) ?? -Infinity) < INTERVAL_MS) return false;
    loggedAtMs.set(what, nowMs);
    return true;
  };
}
