import { type Breaker, type BreakerState, createBreaker } from './breaker.ts';
import { type SubjectOptions, Subjects } from './subject.ts';

/** With one URL a single refusal says little; with several, the next one is at hand. */
const FAILURES_TO_OPEN_THE_ONLY_URL = 3;
const FAILURES_TO_OPEN_ONE_OF_SEVERAL = 1;
/** One endpoint without an answer may have its own trouble. */
const SILENT_ENDPOINTS_TO_OPEN = 2;

export interface TargetState {
  readonly target: string;
  readonly state: BreakerState;
}

/** One silent request: when it was sent, and when the first in a row of them was. */
export interface Silence {
  readonly endpoint: string;
  readonly sentAtMs: number;
  readonly sinceMs: number;
}

/** One of the configured URLs of an API, with what is known of it. */
export class Target {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened only by what speaks of the URL: no connection, or silence of several endpoints. */
  readonly breaker: Breaker;
  /** Its endpoints, and tables. */
  readonly subjects: Subjects;
  readonly #monotonicMs: () => number;
  readonly #silentEndpoints = new Set<string>();
  #answeredAtMs = -Infinity;

  constructor(text: string, failures: number, options: SubjectOptions) {
    this.url = new URL(text);
    this.name = nameTarget(this.url);
    this.breaker = createBreaker({ ...options, failures });
    this.subjects = new Subjects(options);
    this.#monotonicMs = options.monotonicMs;
  }

  /** When headers last came from it, monotonic ms. */
  get answeredAtMs(): number {
    return this.#answeredAtMs;
  }

  /** An endpoint has fallen silent, and nothing else has answered since. */
  get isSilent(): boolean {
    return this.#silentEndpoints.size > 0;
  }

  answered(): void {
    this.#answeredAtMs = this.#monotonicMs();
    this.#silentEndpoints.clear();
    this.breaker.succeeded();
  }

  /**
   * Takes an endpoint's silence into account. False when it says nothing of the URL: the URL has given
   * other answers since the endpoint fell silent.
   */
  fellSilent({ endpoint, sentAtMs, sinceMs }: Silence): boolean {
    const isNews = sinceMs >= this.#answeredAtMs;
    if (isNews) this.#silentEndpoints.add(endpoint);
    const isEnough = this.#silentEndpoints.size >= SILENT_ENDPOINTS_TO_OPEN;
    if (isNews && isEnough) this.breaker.trip(sentAtMs, endpoint);
    else this.breaker.released(endpoint);
    return isNews;
  }
}

/** The configured URLs of one API, each with its circuit breaker. */
export function createTargets(urls: readonly string[], options: SubjectOptions): readonly Target[] {
  const failures =
    urls.length === 1 ? FAILURES_TO_OPEN_THE_ONLY_URL : FAILURES_TO_OPEN_ONE_OF_SEVERAL;
  return urls.map((text) => new Target(text, failures, options));
}

/** The targets in the order in which one request may try them: those of low rank, then from `first` on, round the list. */
export function orderTargets(
  targets: readonly Target[],
  first: number,
  rankOf: (target: Target) => number,
): readonly Target[] {
  const start = first % targets.length;
  const rotated = [...targets.slice(start), ...targets.slice(0, start)];
  const ranks = new Map(rotated.map((target) => [target, rankOf(target)]));
  return rotated.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
}

function nameTarget(url: URL): string {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return `${url.hostname}:${port}`;
}
