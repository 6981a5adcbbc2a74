import type { Log } from '../log.ts';

const LOG_INTERVAL_MS = 60_000;

export interface DropLogOptions {
  /** Counts one connection. */
  readonly count: () => void;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Counts connections that were closed or refused because too many were open, and logs it at most once a minute. */
export function createDropLog({ count, monotonicMs, log }: DropLogOptions): () => void {
  let loggedAtMs = -Infinity;
  return () => {
    count();
    const nowMs = monotonicMs();
    if (nowMs - loggedAtMs < LOG_INTERVAL_MS) return;
    loggedAtMs = nowMs;
    log.warn(
      'too many open connections: idle ones are closed, and others of the client that has most; restrict who can reach the port, and see crdb_exporter_web_connections_dropped_total',
    );
  };
}
