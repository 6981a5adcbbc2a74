import { type Breaker, type BreakerState, createBreaker } from './breaker.ts';
import { ByName } from './by-name.ts';
import { EndpointState, type EndpointStateOptions } from './endpoint-state.ts';

/** With one URL a single refusal says little; with several, the next one is at hand. */
const FAILURES_TO_OPEN_THE_ONLY_URL = 3;
const FAILURES_TO_OPEN_ONE_OF_SEVERAL = 1;
/** One endpoint or node without an answer may have its own trouble. */
const SILENCES_TO_OPEN = 2;

export interface TargetState {
  readonly target: string;
  readonly state: BreakerState;
}

/** One silent request: when that was known to be the URL's, and when the first in a row of them was sent. */
export interface Silence {
  /** The endpoint, or a node that answers elsewhere. */
  readonly what: string;
  readonly sentAtMs: number;
  readonly sinceMs: number;
}

/** One of the configured URLs of an API, with what is known of it. */
export class Target {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  /** Opened only by what speaks of the URL: no connection, or silence of several endpoints or nodes. */
  readonly breaker: Breaker;
  /** Its endpoints, and tables. */
  readonly endpoints: ByName<EndpointState>;
  readonly #monotonicMs: () => number;
  /** What was silent here since the last answer. */
  readonly #silent = new Set<string>();
  #answeredAtMs = -Infinity;
  #avoidForNodesUntilMs = -Infinity;

  constructor(text: string, failures: number, options: EndpointStateOptions) {
    this.url = new URL(text);
    this.name = nameTarget(this.url);
    this.breaker = createBreaker({ ...options, failures });
    this.endpoints = new ByName(() => new EndpointState(options));
    this.#monotonicMs = options.monotonicMs;
  }

  /** When headers last came from it, monotonic ms. */
  get answeredAtMs(): number {
    return this.#answeredAtMs;
  }

  /** Whether the lists of nodes are rather read at another URL. */
  get isAvoidedForNodes(): boolean {
    const isClosed = this.breaker.state() === 'closed';
    return !isClosed || this.#monotonicMs() < this.#avoidForNodesUntilMs;
  }

  /** Until then, or until it answers, the lists of nodes are rather read at another URL. */
  avoidForNodes(untilMs: number): void {
    this.#avoidForNodesUntilMs = untilMs;
  }

  answered(): void {
    this.#answeredAtMs = this.#monotonicMs();
    this.#avoidForNodesUntilMs = -Infinity;
    this.#silent.clear();
    this.breaker.succeeded();
  }

  /** Takes a silence into account; it says nothing of a URL that has given other answers since it began. */
  fellSilent({ what, sentAtMs, sinceMs }: Silence): void {
    const isNews = sinceMs >= this.#answeredAtMs;
    if (isNews) this.#silent.add(what);
    if (isNews && this.#silent.size >= SILENCES_TO_OPEN) this.breaker.trip(sentAtMs, what);
    else this.breaker.released(what);
  }
}

/** The configured URLs of one API, each with its circuit breaker. */
export function createTargets(
  urls: readonly string[],
  options: EndpointStateOptions,
): readonly Target[] {
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

/** The same with all but the first of the URLs on trial at the end: each may cost a wait. */
export function tryOneOut(order: readonly Target[]): readonly Target[] {
  const [, ...late] = order.filter(({ breaker }) => breaker.state() === 'half_open');
  return [...order.filter((target) => !late.includes(target)), ...late];
}

function nameTarget(url: URL): string {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return `${url.hostname}:${port}`;
}
