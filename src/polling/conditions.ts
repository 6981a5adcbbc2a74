import type { Collector, PollFailure } from '../collectors/collector.ts';
import { formatDuration } from '../format.ts';
import type { Log } from '../log.ts';
import type { Api, FailureReason } from '../vocabulary.ts';
import type { Clock } from './schedule.ts';

/** Something that is wrong with a cluster for some time. */
interface Condition {
  /** The same for as long as it lasts. */
  readonly key: string;
  readonly message: string;
  readonly remedy: string | undefined;
  /** Of failed polls. An open circuit breaker follows from a condition before: it is logged only if there is none. */
  readonly reason?: FailureReason;
  readonly api?: Api;
}

interface Active extends Condition {
  /** The collectors or URLs that are in it now, and that ever were. */
  readonly current: Set<string>;
  readonly affected: Set<string>;
  /** Wall clock, ms. */
  readonly sinceMs: number;
  readonly startedAtMs: number;
  loggedAtMs: number;
  count: number;
}

const REMINDER_MS = 10 * 60_000;

/** Logs each condition of a cluster once, again every ten minutes while it lasts, and its end. */
export class Conditions {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #active = new Map<string, Active>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Those that are no failed polls. */
  get warnings(): readonly Pick<Active, 'key' | 'message' | 'remedy' | 'sinceMs'>[] {
    return [...this.#active.values()].filter(({ reason }) => reason === undefined);
  }

  /** A poll has ended or was skipped, with this error or none; `before` is the state until then. */
  pollEnded(
    { name, api }: Collector,
    before: 'waiting' | 'ok' | 'failing',
    error: PollFailure | undefined,
  ) {
    const wasKnown = this.update(name, error && toCondition(api, error));
    if (error !== undefined || wasKnown || before === 'ok') return;
    const text = before === 'failing' ? 'collector recovered' : 'collector succeeded';
    this.#log.info({ collector: name }, text);
  }

  /** `subject`, a collector or URL, is in this condition now, or in none; returns whether it was in one. */
  update(subject: string, condition: Condition | undefined): boolean {
    const before = [...this.#active.values()].find(({ current }) => current.has(subject));
    if (condition === undefined) {
      if (before !== undefined) this.#leave(before, subject, true);
      return before !== undefined;
    }
    const { key, api, reason } = condition;
    // Without one of its own, the last failure of the same API.
    const cause = before ?? [...this.#active.values()].findLast((one) => one.api === api);
    const active =
      this.#active.get(key) ??
      (reason === 'breaker_open' ? cause : undefined) ??
      this.#begin(condition, subject);
    if (before !== undefined && before !== active) this.#leave(before, subject, false);
    active.current.add(subject);
    active.affected.add(subject);
    active.count += 1;
    this.#remind(active, condition);
    return before !== undefined;
  }

  #begin(condition: Condition, subject: string): Active {
    const { monotonicMs, wallMs } = this.#clock;
    const nowMs = monotonicMs();
    const times = { sinceMs: wallMs(), startedAtMs: nowMs, loggedAtMs: nowMs };
    const sets = { current: new Set<string>(), affected: new Set<string>() };
    const active = { ...condition, ...times, ...sets, count: 0 };
    this.#active.set(condition.key, active);
    const { reason, remedy: hint, message } = condition;
    const collector = reason === undefined ? undefined : subject;
    this.#log.warn({ collector, reason, hint }, message);
    return active;
  }

  #remind(active: Active, now: Condition): void {
    const nowMs = this.#clock.monotonicMs();
    const { reason, count } = active;
    if (nowMs - active.loggedAtMs < REMINDER_MS) {
      if (count > 1) this.#log.debug({ reason: now.reason, hint: now.remedy }, now.message);
      return;
    }
    active.loggedAtMs = nowMs;
    const since = new Date(active.sinceMs).toISOString();
    const fields = { affects: [...active.current].join(', '), reason, since, polls: count };
    const text = now.reason === 'breaker_open' ? `${active.message}; ${now.message}` : now.message;
    this.#log.warn({ ...fields, hint: active.remedy }, `still failing: ${text}`);
  }

  #leave(active: Active, subject: string, hasRecovered: boolean): void {
    const { current, affected, reason, startedAtMs, key } = active;
    current.delete(subject);
    if (current.size > 0) return;
    this.#active.delete(key);
    if (!hasRecovered) return;
    const lasted = formatDuration((this.#clock.monotonicMs() - startedAtMs) / 1000);
    const fields = { affects: [...affected].join(', '), reason };
    this.#log.info(fields, `recovered after ${lasted}: ${active.message}`);
  }
}

/** The warning of a collector whose interval is longer than the configured one. */
export const STRETCHED = 'responses are slow: max_duty stretches the interval';

/** Logs each warning of the polls of a collector once, and its end. */
export class WarningLog {
  readonly #log: Log;
  #current: ReadonlySet<string> = new Set();

  constructor(log: Log) {
    this.#log = log;
  }

  /** A failed poll resolves no warning, because it may have ended before the check. */
  pollEnded(warnings: ReadonlySet<string>, succeeded: boolean): void {
    const before = this.#current;
    for (const text of warnings.difference(before)) this.#log.warn(text);
    this.#current = succeeded ? warnings : warnings.union(before);
    for (const text of before.difference(this.#current)) this.#log.info(`resolved: ${text}`);
  }
}

/** One cause, however many collectors fail of it: failures with the same reason and the same remedy. */
function toCondition(api: Api, { reason, message, remedy }: PollFailure): Condition {
  const cause = (remedy ?? message).replaceAll(/\d+/g, 'N');
  return { key: `${api} ${reason} ${cause}`, message, remedy, reason, api };
}
