import { nodeOf, type WorldState } from './state.ts';

/** Changes to jobs, and to what nodes report of themselves. */
export interface JobActions {
  /** One job of this type is paused, as since `ageMs`, and protects data from garbage collection. */
  pauseJob(job: string, ageMs?: number): void;
  resumeJob(job: string): void;
  /** No backup has ended since `ageMs`. */
  stopBackups(ageMs?: number): void;
  resumeBackups(): void;
  /** The records of the node, or of its stores, have this value from now on; undefined removes it. */
  setMetric(nodeId: number, key: string, value: number | undefined, of?: 'node' | 'stores'): void;
}

export function createJobActions(state: WorldState): JobActions {
  const writeRecords = (): void => {
    for (const node of state.nodes.values()) node.written = undefined;
  };
  return {
    pauseJob: (job, ageMs = 0) => {
      state.pausedJobs.set(job, state.now() - ageMs);
      writeRecords();
    },
    resumeJob: (job) => {
      state.pausedJobs.delete(job);
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
    setMetric: (nodeId, key, value, of = 'node') => {
      const { overrides } = nodeOf(state, nodeId);
      if (value === undefined) delete overrides[of][key];
      else overrides[of][key] = value;
      writeRecords();
    },
  };
}
