import type { NodesResult } from '../collectors/nodes/collector.ts';
import type { RangesResult } from '../collectors/ranges/collector.ts';
import { sessions, type SessionsResult } from '../collectors/sessions/collector.ts';
import type { FindingSettings } from '../config/alert-settings.ts';
import { formatDuration } from '../format.ts';
import type { Api } from '../vocabulary.ts';
import { hotRangeProblems, hotspotProblems } from './hotspots.ts';
import { assistantProblems, type AssistantStatus, jobProblems } from './job-problems.ts';
import { loadProblems } from './load-problems.ts';
import { formatLiveNodes, nodeProblems, type NodesStatus } from './nodes.ts';
import { type CollectorStatus, pollProblems } from './polls.ts';
import type { Problem } from './problem.ts';
import { quorumProblems, rangeProblems, widespreadProblems } from './range-problems.ts';
import type { RangesStatus } from './ranges.ts';
import { type StopEvidence, decideDecommission } from './safe-to-stop.ts';
import { sessionLoadProblems, sessionProblems, type SessionsStatus } from './sessions.ts';
import type { StartedProblem } from './watch-problems.ts';

/** A cluster as far as it is known; a part is absent while there is no current data of it. */
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

/** The facts that the problems follow from. */
export interface ClusterEvidence {
  readonly settings: FindingSettings;
  readonly results: ProblemResults;
  /** Write stalls per minute by node id. */
  readonly writeStalls: ReadonlyMap<number, number>;
  readonly stop: StopEvidence;
  /** The problems of watching the cluster, as the log has them. */
  readonly watchProblems: readonly StartedProblem[];
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
  { results, writeStalls, stop, watchProblems, settings: { thresholds } }: ClusterEvidence,
  nowMs: number,
): readonly Problem[] {
  const polledAt = view.collectors.find(({ name }) => name === sessions.name)?.lastSuccessAt;
  const down = new Set(view.apis.filter(({ isUp }) => isUp === false).map(({ api }) => api));
  const isBlind = down.has('cluster');
  const from = (collector: string, problems: readonly Problem[]): readonly Problem[] => {
    const source = view.collectors.find(({ name }) => name === collector);
    return source?.state === 'failing'
      ? problems.map((one) => toOld(one, source, isBlind, nowMs))
      : problems;
  };
  const { nodes, ranges, sessions: listed } = results;
  return [
    ...pollProblems({
      name: view.name,
      collectors: view.collectors,
      down,
      watchProblems,
      lastSeen: describeLastSeen(view, nowMs),
    }),
    ...from('nodes', [
      ...(view.nodes ? nodeProblems(view.nodes, decideDecommission(stop), thresholds) : []),
      ...(nodes
        ? [
            ...loadProblems(nodes, writeStalls, thresholds),
            ...jobProblems(nodes, nowMs, thresholds),
          ]
        : []),
    ]),
    ...from('ranges', [
      ...(view.ranges ? rangeProblems(view.ranges, isBlind, view.nodes?.list.length) : []),
      ...(ranges
        ? [...hotRangeProblems(ranges, thresholds), ...quorumProblems(ranges, thresholds)]
        : []),
      ...(ranges && nodes
        ? [
            ...hotspotProblems(nodes, ranges, thresholds),
            ...widespreadProblems(ranges, nodes.nodes.length, thresholds),
          ]
        : []),
    ]),
    ...from('sessions', [
      ...(view.sessions ? sessionProblems(view.sessions, view.name, polledAt, thresholds) : []),
      ...(nodes && listed ? sessionLoadProblems(listed, nodes, thresholds) : []),
    ]),
    ...from('cloud', view.assistant ? assistantProblems(view.assistant) : []),
  ];
}

/** A problem as it was last seen: nothing is recommended on old data. */
function toOld(
  problem: Problem,
  { name, lastSuccessAt }: CollectorStatus,
  isBlind: boolean,
  nowMs: number,
): Problem {
  const text = `Last seen ${formatAgo(lastSuccessAt, nowMs)}: ${problem.text}`;
  const next = `The polls of ${name} are failing, and this may have changed.`;
  return { ...problem, level: isBlind ? 'info' : problem.level, text, next };
}

/** `Last seen 18 s ago: 4 of 5 nodes live.`; undefined while nothing was ever seen. */
function describeLastSeen({ nodes, collectors }: ClusterView, nowMs: number): string | undefined {
  const seenAt = collectors.find(({ name }) => name === 'nodes')?.lastSuccessAt;
  if (nodes === undefined || seenAt === undefined) return undefined;
  return `Last seen ${formatAgo(seenAt, nowMs)}: ${formatLiveNodes(nodes)} nodes live.`;
}

function formatAgo(at: string | undefined, nowMs: number): string {
  const seconds = at === undefined ? 0 : Math.max(0, nowMs - Date.parse(at)) / 1000;
  return `${formatDuration(Math.round(seconds))} ago`;
}
