import { type Clock, type Limit, type Log, messageOf, WallClockSteps } from '#base';
import { failureOf, type PollWarning, RequestError } from '#cockroach';

/** A poll that ran. */
interface LastPoll {
  /** Wall clock, ms. */
  readonly atMs: number;
  readonly durationSeconds: number;
  /** Time in which responses were prepared and received. */
  readonly responseSeconds: number;
  readonly items: number;
  readonly pages: number;
  readonly bytes: number;
  readonly limits: ReadonlySet<Limit>;
}

/** Why a poll failed, and how to fix that, where it is known. It stays this object until the page or the log writes it. */
export interface PollFailure {
  readonly error: RequestError;
  /** What failures of the same cause share. */
  readonly rule?: string | undefined;
  readonly remedy?: string | undefined;
}

/** State of one collector on one cluster after its last poll; replaced, never changed in place. */
export interface Outcome {
  /** `waiting` until the first poll has ended or was skipped; `ok` when the last one succeeded. */
  readonly state: 'waiting' | 'ok' | 'failing';
  /** The last poll that ran; undefined before the first. */
  readonly last?: LastPoll | undefined;
  /** Wall clock, ms; undefined before the first success. */
  readonly lastSuccessMs?: number | undefined;
  /** Why the last poll failed or was skipped; undefined after a success. */
  readonly failure?: PollFailure | undefined;
  /**
   * Warnings of the last polls. A poll that failed or ran out of time adds its warnings to those before, and ends none: it may have ended
   * before the check that would warn.
   */
  readonly warnings?: ReadonlyMap<string, PollWarning>;
}

/** The outcome of the last poll, whose times move with the wall clock when that is set. */
export class LastOutcome {
  readonly #clock: Clock;
  readonly #steps = new WallClockSteps();
  #value: Outcome;

  constructor(clock: Clock, value: Outcome) {
    this.#clock = clock;
    this.#value = value;
    this.#follow();
  }

  get value(): Outcome {
    this.#follow();
    return this.#value;
  }

  set value(value: Outcome) {
    this.#follow();
    this.#value = value;
  }

  #follow(): void {
    const stepMs = this.#steps.read(this.#clock.wallMs(), this.#clock.monotonicMs());
    if (stepMs === 0) return;
    const { last, lastSuccessMs } = this.#value;
    this.#value = {
      ...this.#value,
      last: last && { ...last, atMs: last.atMs + stepMs },
      lastSuccessMs: lastSuccessMs && lastSuccessMs + stepMs,
    };
  }
}

/** The failure of a poll by an error of the exporter itself, which no response should be able to cause; it is also logged. */
export function unexpectedFailure(cause: unknown, what: string, log: Log): PollFailure {
  const stack = cause instanceof Error ? cause.stack : undefined;
  log.debug({ err: cause, stack }, 'unexpected error');
  return {
    error: new RequestError(failureOf(cause).reason, `${what}: ${messageOf(cause)}`, { cause }),
    rule: 'defect of the exporter',
    remedy:
      'the other collectors are not affected; report it with the line "unexpected error" of --log.level=debug',
  };
}
