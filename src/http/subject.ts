import { type Breaker, type BreakerOptions, createBreaker } from './breaker.ts';
import { Patience, type PatienceOptions } from './patience.ts';
import type { Target } from './targets.ts';

const FAILURES_TO_OPEN = 3;
/** Servers name nodes; what they invent must not fill the memory. */
const MOST_SUBJECTS = 10_000;

export type SubjectOptions = PatienceOptions & Omit<BreakerOptions, 'failures'>;

/** What can fail while the rest is well: an endpoint or a table at one URL, or a node behind all of them. */
export class Subject {
  readonly breaker: Breaker;
  readonly patience: Patience;
  /** Where its last request brought nothing usable, and in which order. */
  readonly #failedAt = new Map<Target, number>();

  constructor(options: SubjectOptions) {
    this.breaker = createBreaker({ ...options, failures: FAILURES_TO_OPEN });
    this.patience = new Patience(options);
  }

  /** 0 where its last request brought something; the URL with the lowest number is asked first. */
  failureAt(target: Target): number {
    return this.#failedAt.get(target) ?? 0;
  }

  succeeded(target: Target): void {
    this.#failedAt.delete(target);
    this.breaker.succeeded();
  }

  /** Nothing usable came from this URL: others are asked first the next time. */
  askLater(target: Target, order: number): void {
    this.#failedAt.set(target, order);
  }
}

/** Subjects by name, made when they are first asked about; the oldest go when there are too many. */
export class Subjects {
  readonly #options: SubjectOptions;
  readonly #byName = new Map<string, Subject>();

  constructor(options: SubjectOptions) {
    this.#options = options;
  }

  get(name: string): Subject {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#byName.size < MOST_SUBJECTS ? [] : this.#byName.keys();
    if (oldest !== undefined) this.#byName.delete(oldest);
    const subject = new Subject(this.#options);
    this.#byName.set(name, subject);
    return subject;
  }
}
