/** States of a circuit breaker, as the label `state` of crdb_exporter_breaker_state. */
export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;

export type BreakerState = (typeof BREAKER_STATES)[number];

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** How long it stays open, from the start of the request that opened it, before a trial is let through. */
  readonly openMs: number;
  /** Monotonic clock, ms. */
  readonly monotonicMs: () => number;
}

/**
 * Keeps requests away from what failed several times in a row; then lets one trial through at a time,
 * for each name that requests give: one that fails again and again must not keep the others from trying.
 */
export interface Breaker {
  state(): BreakerState;
  /** When it lets a trial through, monotonic ms; undefined while it is closed. */
  trialAtMs(): number | undefined;
  /** True when a request may go out now; it must end with one of the calls below. */
  admit(name?: string): boolean;
  /** The end of the trial of that name that is running, if one is. */
  trial(name?: string): Promise<void> | undefined;
  succeeded(): void;
  failed(sentAtMs: number, name?: string): void;
  /** Opens it, however many failures there were. */
  trip(sentAtMs: number, name?: string): void;
  /** The request ended without saying anything. */
  released(name?: string): void;
}

export function createBreaker(options: BreakerOptions): Breaker {
  const { openMs, monotonicMs } = options;
  const trials = new Map<string, PromiseWithResolvers<void>>();
  let failuresInARow = 0;
  let openedAtMs: number | undefined;

  function endTrial(name: string): void {
    trials.get(name)?.resolve();
    trials.delete(name);
  }

  function state(): BreakerState {
    if (openedAtMs === undefined) return 'closed';
    return monotonicMs() - openedAtMs < openMs ? 'open' : 'half_open';
  }

  function failed(sentAtMs: number, name = ''): void {
    failuresInARow += 1;
    if (failuresInARow >= options.failures) openedAtMs = Math.max(openedAtMs ?? 0, sentAtMs);
    endTrial(name);
  }

  return {
    state,
    trialAtMs: () => (openedAtMs === undefined ? undefined : openedAtMs + openMs),
    admit(name = '') {
      const now = state();
      if (now === 'closed') return true;
      if (now === 'open' || trials.has(name)) return false;
      trials.set(name, Promise.withResolvers());
      return true;
    },
    trial: (name = '') => trials.get(name)?.promise,
    succeeded() {
      failuresInARow = 0;
      openedAtMs = undefined;
      for (const name of trials.keys()) endTrial(name);
    },
    failed,
    trip(sentAtMs, name) {
      failuresInARow = options.failures;
      failed(sentAtMs, name);
    },
    released: (name = '') => endTrial(name),
  };
}
