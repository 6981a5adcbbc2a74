import { RequestError } from './errors.ts';

/** A bound that a poll ran into; the label `limit` of crdb_exporter_collector_limit_hit. */
export type Limit = 'pages' | 'bytes' | 'items' | 'duration' | 'series';

/** What one poll (or one command) reads: its deadline, and what came, counted by the API clients. */
export interface Reading {
  /** Aborts when the poll's time is up or the process stops. */
  readonly signal: AbortSignal;
  /** Answers read to their end. */
  pages: number;
  /** Elements of listings, and single objects. */
  items: number;
  /** Decoded bytes of answers. */
  bytes: number;
  readonly limits: Set<Limit>;
}

/** A reading of which nothing has come yet. */
export function startReading(signal: AbortSignal): Reading {
  return { signal, pages: 0, items: 0, bytes: 0, limits: new Set() };
}

/** Marks the reading when the failure is an answer over its limit of bytes; a limit of items is already marked. */
export function noteLimit(reading: Reading, failure: unknown): void {
  const isLimit = failure instanceof RequestError && failure.reason === 'limit';
  if (isLimit && !reading.limits.has('items')) reading.limits.add('bytes');
}
