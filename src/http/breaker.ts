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
  /** The end of the trial that is running, if one is. */
  trial(): Promise<void> | undefined;
  succeeded(): void;
  failed(): void;
  /** The request ended without saying anything about the URL. */
  released(): void;
}

/** Keeps requests away from a URL that failed several times in a row; then lets one try at a time. */
export function createBreaker(options: BreakerOptions): Breaker {
  let failuresInARow = 0;
  let openedAt: number | undefined;
  let trial: PromiseWithResolvers<void> | undefined;

  function endTrial(): void {
    trial?.resolve();
    trial = undefined;
  }

  function state(): BreakerState {
    if (openedAt === undefined) return 'closed';
    return options.monotonicMs() - openedAt < options.openMs ? 'open' : 'half_open';
  }

  return {
    state,
    admit() {
      const now = state();
      if (now === 'closed') return true;
      if (now === 'open' || trial !== undefined) return false;
      trial = Promise.withResolvers();
      return true;
    },
    trial: () => trial?.promise,
    succeeded() {
      failuresInARow = 0;
      openedAt = undefined;
      endTrial();
    },
    failed() {
      failuresInARow += 1;
      if (failuresInARow >= options.failures) openedAt = options.monotonicMs();
      endTrial();
    },
    released: endTrial,
  };
}
