import type { NodesResult } from '../collectors/nodes.ts';
import type { RangesResult } from '../collectors/ranges.ts';
import { sessions, type SessionsResult } from '../collectors/sessions.ts';
import type { Conditions } from '../polling/conditions.ts';
import type { Api } from '../vocabulary.ts';
import { assistantProblems, type AssistantStatus } from './assistant.ts';
import { decideDecommission } from './dead-nodes.ts';
import { jobProblems } from './job-problems.ts';
import { hotRangeProblems, loadProblems, sessionLoadProblems } from './load-problems.ts';
import { nodeProblems, type NodesStatus } from './nodes.ts';
import { type CollectorStatus, pollProblems, warningProblem } from './polls.ts';
import type { Problem } from './problem.ts';
import { quorumProblems, rangeProblems } from './range-problems.ts';
import { type RangesStatus } from './ranges.ts';
import type { StopEvidence } from './safe-to-stop.ts';
import { sessionProblems, type SessionsStatus } from './sessions.ts';

/** What is known of a cluster; a part is absent while there is no current data of it. */
export interface ClusterView {
  readonly name: string;
  /** `isUp` is crdb_up: absent before the first poll has ended. */
  readonly apis: readonly { readonly api: Api; readonly isUp: boolean | undefined }[];
  readonly nodes: NodesStatus | undefined;
  readonly ranges: RangesStatus | undefined;
  readonly sessions: SessionsStatus | undefined;
  readonly assistant: AssistantStatus | undefined;
  readonly collectors: readonly CollectorStatus[];
}

/** What the problems follow from. */
export interface ClusterEvidence {
  readonly results: ProblemResults;
  readonly stop: StopEvidence;
  /** What is wrong although polls succeed. */
  readonly warnings: Conditions['warnings'];
}

/** The current results of polls; absent while there are none. */
interface ProblemResults {
  readonly nodes: NodesResult | undefined;
  readonly ranges: RangesResult | undefined;
  readonly sessions: SessionsResult | undefined;
}

/** The problems of a cluster and of watching it, as the page, /api/status and the commands show them. */
export function findProblems(
  view: ClusterView,
  { results, stop, warnings }: ClusterEvidence,
  nowMs: number,
): readonly Problem[] {
  const polledAt = view.collectors.find(({ name }) => name === sessions.name)?.lastSuccessAt;
  const down = new Set(view.apis.filter(({ isUp }) => isUp === false).map(({ api }) => api));
  return [
    ...pollProblems(view.collectors, down),
    ...warnings.map((warning) => warningProblem(view.name, warning)),
    ...(view.nodes ? nodeProblems(view.nodes, decideDecommission(stop)) : []),
    ...(view.ranges
      ? rangeProblems(view.ranges, down.has('cluster'), view.nodes?.list.length)
      : []),
    ...(results.nodes
      ? [...loadProblems(results.nodes), ...jobProblems(results.nodes, nowMs)]
      : []),
    ...(results.ranges
      ? [...hotRangeProblems(results.ranges), ...quorumProblems(results.ranges)]
      : []),
    ...(results.nodes && results.sessions
      ? sessionLoadProblems(results.sessions, results.nodes)
      : []),
    ...(view.sessions ? sessionProblems(view.sessions, view.name, polledAt) : []),
    ...(view.assistant ? assistantProblems(view.assistant) : []),
  ];
}
