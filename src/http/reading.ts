import { RequestError } from './errors.ts';

/** A bound that a poll ran into; the label `limit` of crdb_exporter_collector_limit_hit. */
export type Limit = 'pages' | 'bytes' | 'items' | 'duration' | 'series';

/** What one poll (or one command) reads: its deadline, and what came, counted by the API clients. */
export interface Reading {
  /** Aborts when the poll's time is up or the process stops. */
  readonly signal: AbortSignal;
  /** When the time is up, as `performance.now()`; undefined without a limit. */
  readonly endsAtMs?: number | undefined;
  /** Answers read to their end. */
  pages: number;
  /** Elements of listings, and single objects. */
  items: number;
  /** Decoded bytes of answers. */
  bytes: number;
  readonly limits: Set<Limit>;
  /** When answers were prepared and received that arrived: apart from each other, in order. */
  readonly answering: Span[];
}

/** A stretch of time, monotonic ms. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A reading of which nothing has come yet. */
export function startReading(signal: AbortSignal): Reading {
  return { signal, pages: 0, items: 0, bytes: 0, limits: new Set(), answering: [] };
}

/** Adds the time of an answer that has just arrived; what overlaps counts once. */
export function noteAnswer({ answering }: Reading, { startMs, endMs }: Span): void {
  let firstMs = startMs;
  for (let last = answering.at(-1); last !== undefined; last = answering.at(-1)) {
    if (last.endMs < firstMs) break;
    firstMs = Math.min(firstMs, last.startMs);
    answering.pop();
  }
  answering.push({ startMs: firstMs, endMs });
}

/** Marks the reading when the failure is an answer over its limit of bytes; a limit of items is already marked. */
export function noteLimit(reading: Reading, failure: unknown): void {
  const isLimit = failure instanceof RequestError && failure.reason === 'limit';
  if (isLimit && !reading.limits.has('items')) reading.limits.add('bytes');
}
