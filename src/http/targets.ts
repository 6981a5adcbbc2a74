import { type Breaker, type BreakerState, createBreaker } from './breaker.ts';

/** With one URL a single reset says little; with several, the next one is at hand. */
const FAILURES_TO_OPEN_THE_ONLY_URL = 3;
const FAILURES_TO_OPEN_ONE_OF_SEVERAL = 1;

export interface Target {
  readonly url: URL;
  /** host:port, as the label `target`. */
  readonly name: string;
  readonly breaker: Breaker;
}

export interface TargetState {
  readonly target: string;
  readonly state: BreakerState;
}

/** The configured URLs of one API, each with its circuit breaker. */
export function createTargets(
  urls: readonly string[],
  options: { readonly openMs: number; readonly monotonicMs: () => number },
): readonly Target[] {
  const failures =
    urls.length === 1 ? FAILURES_TO_OPEN_THE_ONLY_URL : FAILURES_TO_OPEN_ONE_OF_SEVERAL;
  return urls.map((text) => {
    const url = new URL(text);
    return { url, name: nameTarget(url), breaker: createBreaker({ failures, ...options }) };
  });
}

/** The targets in the order in which one request may try them: from `first` on, round the list. */
export function orderTargets(targets: readonly Target[], first: number): readonly Target[] {
  const start = first % targets.length;
  return [...targets.slice(start), ...targets.slice(0, start)];
}

function nameTarget(url: URL): string {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return `${url.hostname}:${port}`;
}
