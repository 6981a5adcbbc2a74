import type { Config } from '#config';
import type { Observation, WatchProblem } from './observation.ts';
import type { Route } from './routes/respond.ts';

/** What runs beside the daemon and reads what it observes, as the status page does. A daemon runs without one. */
export interface Companion {
  /** Paths that the web server serves beside those of the daemon. */
  readonly routes: readonly Route[];
  /** Called when a poll of a collector has ended or was skipped, but not of a cluster that was stopped. */
  polled(cluster: Observation, collector: string): void;
}

/** What a companion may read of the running daemon. */
export interface Daemon {
  readonly version: string;
  /** The clusters of the running configuration. */
  readonly clusters: () => readonly Observation[];
  /** The running configuration. */
  readonly config: () => Config;
  /** How many times the configuration has been replaced by a reload. */
  readonly reloads: () => number;
  /** The problems of the exporter itself, for every cluster. */
  readonly problems: () => readonly WatchProblem[];
  /** Wall clock at the start, ms. */
  readonly startedMs: number;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}
