import type { readSamples } from '../../metrics/samples.ts';
import { type AssistantStatus, readAssistant } from './assistant.ts';
import { type CollectorStatus, readCollectors } from './collectors.ts';
import { Figures } from './figures.ts';
import { type NodesStatus, readNodes } from './nodes.ts';
import { type RangesStatus, readRanges } from './ranges.ts';
import { readSessions, type SessionsStatus } from './sessions.ts';
import type { ClusterSource } from './source.ts';

/** What the polls of one cluster say now; a part is absent while there is no present data of it. */
export interface ClusterFacts {
  readonly name: string;
  /** False: only /probe asks it. */
  readonly isPolled: boolean;
  readonly apis: readonly ApiStatus[];
  readonly nodes: NodesStatus | undefined;
  readonly ranges: RangesStatus | undefined;
  readonly sessions: SessionsStatus | undefined;
  readonly assistant: AssistantStatus | undefined;
  readonly collectors: readonly CollectorStatus[];
}

interface ApiStatus {
  readonly api: 'cluster' | 'cloud';
  /** crdb_up: how the last poll of its most frequent collector ended; absent before the first. */
  readonly isUp: boolean | undefined;
}

/** Reads everything from what the last polls left behind. */
export function readFacts(cluster: ClusterSource, read: typeof readSamples): ClusterFacts {
  const figures = new Figures(cluster, read);
  return {
    name: cluster.name,
    isPolled: cluster.isPolled,
    apis: [...new Set(cluster.pollers.map(({ plan }) => plan.api))].map((api) => ({
      api,
      isUp: toBoolean(figures.value('crdb_up', { api })),
    })),
    nodes: readNodes(figures),
    ranges: readRanges(figures),
    sessions: readSessions(figures),
    assistant: readAssistant(figures),
    collectors: readCollectors(cluster, figures),
  };
}

function toBoolean(value: number | undefined): boolean | undefined {
  return value === undefined ? undefined : value === 1;
}
