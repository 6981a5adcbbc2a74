import { retriesOf, statisticsNode } from './job-metrics.ts';
import { renewRecords } from './record-actions.ts';
import { recordOf } from './records.ts';
import { nodeOf, type ReplicationKind, type WorldState } from './state.ts';

/** Changes to jobs. */
export interface JobActions {
  /** One job of this type is paused, as since `ageMs`, and protects data from garbage collection. */
  pauseJob(job: string, ageMs?: number): void;
  resumeJob(job: string): void;
  /** A job of this type fails for good on the node. */
  failJob(job: string, nodeId: number, error?: string): void;
  /**
   * The job poll_jobs_stats runs on this node from now on. The former node keeps the numbers of paused jobs and of
   * protected data that it had until it restarts, as servers before 26.2 do.
   */
  moveStatistics(nodeId: number): void;
  /** Without it no node says who runs poll_jobs_stats, as very old servers do. */
  setStatisticsJob(isReported: boolean): void;
  /** A job on this node replicates from another cluster; a former node keeps the time that it had set. */
  replicate(kind: ReplicationKind, nodeId: number, lagMs?: number): void;
  /** The job ends; its node keeps the time that it had set. */
  endReplication(kind: ReplicationKind): void;
  /** A changefeed of this node scans whole tables; none without a node. */
  backfill(nodeId?: number): void;
  /** A changefeed only retries because of this error; it works again without one. */
  retryChangefeed(error?: string): void;
  /** No backup has ended since `ageMs`. */
  stopBackups(ageMs?: number): void;
  resumeBackups(): void;
}

export function createJobActions(state: WorldState): JobActions {
  const writeRecords = (): void => renewRecords(state);
  return {
    pauseJob: (job, ageMs = 0) => {
      state.pausedJobs.set(job, state.now() - ageMs);
      writeRecords();
    },
    resumeJob: (job) => {
      state.pausedJobs.delete(job);
      writeRecords();
    },
    failJob: (job, nodeId, error = `${job} failed`) => {
      const { id } = nodeOf(state, nodeId);
      state.failedJobs.push({ job, nodeId: id, error, failedAtMs: state.now() });
      writeRecords();
    },
    moveStatistics: (nodeId) => {
      const { id } = nodeOf(state, nodeId);
      const former = statisticsNode(state);
      if (former !== undefined) recordOf(state, former);
      state.statisticsNodeId = id;
      writeRecords();
    },
    setStatisticsJob: (isReported) => {
      state.hasStatisticsJob = isReported;
      writeRecords();
    },
    replicate: (kind, nodeId, lagMs = 0) => {
      const former = state.nodes.get(state.replications.get(kind)?.nodeId ?? 0);
      if (former !== undefined) recordOf(state, former);
      state.replications.set(kind, { nodeId: nodeOf(state, nodeId).id, lagMs });
      writeRecords();
    },
    endReplication: (kind) => {
      state.replications.delete(kind);
      writeRecords();
    },
    backfill: (nodeId) => {
      state.backfillNodeId = nodeId === undefined ? undefined : nodeOf(state, nodeId).id;
      writeRecords();
    },
    retryChangefeed: (error) => {
      const nowMs = state.now();
      state.pastRetries = retriesOf(state, nowMs);
      state.changefeedError = error === undefined ? undefined : { text: error, sinceMs: nowMs };
      writeRecords();
    },
    stopBackups: (ageMs = 0) => {
      state.backupsStoppedAtMs = state.now() - ageMs;
      writeRecords();
    },
    resumeBackups: () => {
      state.backupsStoppedAtMs = undefined;
      writeRecords();
    },
  };
}
