import type { Limit } from '../vocabulary.ts';

/** The deadline of one poll (or one command), and what the API clients have received for it. */
export interface PollStats {
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
  /** Whether a request that changes something was begun and not answered, so that the change may have been made. */
  mayHaveChanged: boolean;
  /** When responses that arrived were prepared and received, monotonic ms: disjoint, in order. */
  readonly answering: { readonly startMs: number; readonly endMs: number }[];
}

/** Stats of which nothing has arrived yet. */
export function createPollStats(signal: AbortSignal, endsAtMs?: number): PollStats {
  return {
    signal,
    endsAtMs,
    pages: 0,
    items: 0,
    bytes: 0,
    limits: new Set(),
    mayHaveChanged: false,
    answering: [],
  };
}

/** Adds what was received for a part of a poll that had a deadline of its own. */
export function addStats(stats: PollStats, part: PollStats): void {
  stats.pages += part.pages;
  stats.items += part.items;
  stats.bytes += part.bytes;
  for (const { startMs, endMs } of part.answering) recordAnswer(stats, startMs, endMs);
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
