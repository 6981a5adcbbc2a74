import type { Thresholds } from '#alerts';
import type { JobsStatus, ListedNode, RangesResult, SessionsResult } from '#collectors';
import type { WatchProblem } from '#exporter';
import type { CertificateLives } from './certificate-lives.ts';
import type { Connections } from './reachability.ts';
import type { DeadEvidence, Trends } from './safe-to-stop.ts';
import type { ClusterView, LastKnownStatus, Problem } from './status.ts';

/** What polls that succeeded have found, however long ago. */
export interface LastSeen extends LastKnownStatus {
  /** The lost ranges by the last scan that could tell: no problems where none was lost. */
  readonly losses?:
    | {
        readonly problems: readonly Problem[];
        readonly seenAt: string;
        /** The nodes that this scan read. */
        readonly read: readonly number[];
      }
    | undefined;
}

/** What is remembered of the earlier polls of a cluster. */
export interface Memory {
  /** The problem that ranges are read wrongly, by the scans before. */
  readonly scanProblems: readonly Problem[];
  /** The problem that the user sees no sessions of others. */
  readonly hiddenSessions: Problem | undefined;
  /** The lives of the certificates of nodes. */
  readonly certificates: CertificateLives;
  /** The nodes that write records with a time that is too early, with the seconds: their clocks are behind. */
  readonly lateRecords: ReadonlyMap<number, number>;
  /** The nodes that count as dead and have written a record since. */
  readonly writing: ReadonlySet<number>;
  readonly lastSeen: LastSeen;
  /** The last time that the cluster was healthy; undefined before the first one. */
  readonly healthyMs: number | undefined;
  /** Whether replicas on members that are not live are replaced. */
  readonly trends: Trends;
}

/** A difference between the clocks of exporter and server that is longer than a poll may take. */
export interface ClockDifference {
  /** How far the clock of the exporter is ahead; negative where it is behind. */
  readonly seconds: number;
  /** Whose is wrong: where exporter and nodes agree, it is the Date that a server or a proxy sends. */
  readonly wrong: 'exporter' | 'date';
}

/** All that is known of a cluster at one moment: its problems follow from this alone. */
export interface Evidence extends Memory {
  /** Wall clock, ms. */
  readonly nowMs: number;
  /** Undefined while the clocks agree, and where that is not known. */
  readonly clocks: ClockDifference | undefined;
  /** The time by the clock of the cluster, ms: ages of what servers have dated follow it. */
  readonly clusterMs: number;
  readonly thresholds: Thresholds;
  /** The cluster as log, page and JSON show it. */
  readonly view: ClusterView;
  /** The listed nodes, and those of them with fresh records; none while no list is current. */
  readonly nodes: readonly ListedNode[];
  readonly fresh: readonly ListedNode[];
  /** When the server sent the list of nodes, by its clock; undefined where that is not known. */
  readonly answeredMs: number | undefined;
  readonly jobs: JobsStatus;
  /** A backup, an import or a restore is running, which may use all CPUs for hours. */
  readonly isHeavyJobRunning: boolean;
  /** Metrics of nodes that are read, and that no node sends any more. */
  readonly missingKeys: readonly string[];
  /** Unix time; 0 without one. */
  readonly lastBackupSeconds: number;
  /** By the last result, however the polls since then ended. */
  readonly network: Connections;
  readonly ranges: RangesResult | undefined;
  readonly sessions: SessionsResult | undefined;
  readonly dead: DeadEvidence;
  /** The problems of watching the cluster. */
  readonly watchProblems: readonly WatchProblem[];
}
