import { type Endpoint, type Limit, sum } from '#base';
import { RequestError } from './errors.ts';

/** What was odd in a poll and did not fail it. */
export interface PollWarning {
  /** What it is about, the same in each poll: `ranges of node 5`, `table movr.public.rides`. */
  readonly about: string;
  /** What the responses were requested from; absent where all that a collector reads is meant. */
  readonly endpoint?: Endpoint;
  /** What failed, or what was wrong with the responses; its message may name another URL or duration in the next poll. */
  readonly error: RequestError;
}

/** The deadline of one poll (or one command), and what the API clients have received for it. */
export interface PollStats {
  /** Another one for each poll. */
  readonly pollId: symbol;
  /** Aborts when the poll's time is up or the process stops. */
  readonly signal: AbortSignal;
  /** How long the poll may still take, ms. */
  readonly leftMs: () => number;
  /** Responses read to their end. */
  pages: number;
  /** Elements of listings, and single objects. */
  items: number;
  /** Decoded bytes of responses. */
  bytes: number;
  readonly limits: Set<Limit>;
  /** What was odd and did not fail the poll, by what stays the same from poll to poll (`addWarning`). */
  readonly warnings: Map<string, PollWarning>;
  /** Whether a request that changes something was begun and got no response, so that the change may have been made. */
  mayHaveChanged: boolean;
  /** When responses that arrived were prepared and received, running ms: disjoint, in order. */
  readonly responding: { readonly startMs: number; readonly endMs: number }[];
}

/** Stats before anything has arrived. */
export function createPollStats(
  signal: AbortSignal,
  leftMs: () => number = () => Infinity,
): PollStats {
  return {
    pollId: Symbol('poll'),
    signal,
    leftMs,
    pages: 0,
    items: 0,
    bytes: 0,
    limits: new Set(),
    warnings: new Map(),
    mayHaveChanged: false,
    responding: [],
  };
}

/**
 * Adds a warning, unless the poll has one of the same fault already. Example: node 5 responds 500 at crdb-1 in one poll, and is silent
 * at crdb-2 in the next: that is one fault.
 */
export function addWarning({ warnings }: Pick<PollStats, 'warnings'>, warning: PollWarning): void {
  const { about, endpoint, error } = warning;
  const key = [about, endpoint, error.fault].filter(Boolean).join(', ');
  if (!warnings.has(key)) warnings.set(key, warning);
}

/** Counts fields and elements of a wrong shape in a response, which were left out; called also with 0. */
export type CountDecodeErrors = (endpoint: Endpoint, count: number) => void;

/**
 * Counts the fields and elements of a response that have another form than expected and were left out, and warns of them: what they
 * say is missing, or 0. Example: a newer server sends `alloc_bytes` as a string, so that the memory of all sessions is 0. Elements that
 * are too large are counted alone: `crdb_exporter_collector_limit_hit` shows them.
 */
export function recordDecodeErrors(
  countErrors: CountDecodeErrors,
  stats: PollStats,
  endpoint: Endpoint,
  count: number,
  tooLarge = 0,
): void {
  countErrors(endpoint, count + tooLarge);
  if (count === 0) return;
  const about = `responses of ${endpoint}`;
  const text = `${about}: some fields or elements have an unexpected form and were left out`;
  const remedy =
    'what they say is missing or counts as 0; check whether the server is newer than this exporter; `crdb_exporter_decode_errors_total` counts them';
  const error = new RequestError('decode', text, { endpoint, remedy });
  addWarning(stats, { about, endpoint, error });
}

/** A warning as one text that begins with what it is about. */
export function warningText({ about, error: { message, remedy } }: PollWarning): string {
  const text = remedy === undefined ? message : `${message}: ${remedy}`;
  return text.startsWith(about) ? text : `${about}: ${text}`;
}

/** Adds the time of a response that has just arrived; what overlaps counts once. */
export function recordResponse({ responding }: PollStats, startMs: number, endMs: number): void {
  let firstMs = startMs;
  for (let last = responding.at(-1); last !== undefined; last = responding.at(-1)) {
    if (last.endMs < firstMs) break;
    firstMs = Math.min(firstMs, last.startMs);
    responding.pop();
  }
  responding.push({ startMs: firstMs, endMs });
}

/** How long responses were prepared and received, in seconds. */
export function responseSeconds({ responding }: Pick<PollStats, 'responding'>): number {
  return sum(responding.map(({ startMs, endMs }) => endMs - startMs)) / 1000;
}
