import { sum } from '../numbers.ts';
import type { Limit } from '../vocabulary.ts';

/** The deadline of one poll (or one command), and what the API clients have received for it. */
export interface PollStats {
  /** Of this poll alone. */
  readonly id: symbol;
  /** Aborts when the poll's time is up or the process stops. */
  readonly signal: AbortSignal;
  /** When the time is up, monotonic ms; undefined without a limit. */
  readonly endsAtMs?: number | undefined;
  /** Answers read to their end. */
  pages: number;
  /** Elements of listings, and single objects. */
  items: number;
  /** Decoded bytes of responses. */
  bytes: number;
  readonly limits: Set<Limit>;
  /** What was odd and did not fail the poll. */
  readonly warnings: Set<string>;
  /** Whether a request that changes something was begun and not answered, so that the change may have been made. */
  mayHaveChanged: boolean;
  /** When responses that arrived were prepared and received, monotonic ms: disjoint, in order. */
  readonly answering: { readonly startMs: number; readonly endMs: number }[];
}

/** Stats of which nothing has arrived yet. */
export function createPollStats(signal: AbortSignal, endsAtMs?: number): PollStats {
  return {
    id: Symbol('poll'),
    signal,
    endsAtMs,
    pages: 0,
    items: 0,
    bytes: 0,
    limits: new Set(),
    warnings: new Set(),
    mayHaveChanged: false,
    answering: [],
  };
}

/** Adds the time of a response that has just arrived; what overlaps counts once. */
export function recordAnswer({ answering }: PollStats, startMs: number, endMs: number): void {
  let firstMs = startMs;
  for (let last = answering.at(-1); last !== undefined; last = answering.at(-1)) {
    if (last.endMs < firstMs) break;
    firstMs = Math.min(firstMs, last.startMs);
    answering.pop();
  }
  answering.push({ startMs: firstMs, endMs });
}

/** How long responses were prepared and received, in seconds. */
export function answerSeconds({ answering }: Pick<PollStats, 'answering'>): number {
  return sum(answering.map(({ startMs, endMs }) => endMs - startMs)) / 1000;
}
