/** States of a circuit breaker, as the label `state` of crdb_exporter_breaker_state. */
export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;

export type BreakerState = (typeof BREAKER_STATES)[number];

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** How long it stays open before one request may try again. */
  readonly openMs: number;
  /** Monotonic clock, ms. */
  readonly monotonicMs: () => number;
}

export interface Breaker {
  state(): BreakerState;
  /** True when a request may go out now; half open, only one at a time may. */
  admit(): boolean;
  succeeded(): void;
  failed(): void;
  /** The request ended without saying anything about the URL. */
  released(): void;
}

/** Keeps requests away from a URL that failed several times in a row; then lets one try at a time. */
export function createBreaker(options: BreakerOptions): Breaker {
  let failuresInARow = 0;
  let openedAt: number | undefined;
  let trialRunning = false;

  function state(): BreakerState {
    if (openedAt === undefined) return 'closed';
    return options.monotonicMs() - openedAt < options.openMs ? 'open' : 'half_open';
  }

  return {
    state,
    admit() {
      const now = state();
      if (now === 'closed') return true;
      if (now === 'open' || trialRunning) return false;
      trialRunning = true;
      return true;
    },
    succeeded() {
      failuresInARow = 0;
      openedAt = undefined;
      trialRunning = false;
    },
    failed() {
      failuresInARow += 1;
      trialRunning = false;
      if (failuresInARow >= options.failures) openedAt = options.monotonicMs();
    },
    released() {
      trialRunning = false;
    },
  };
}
