import { formatNodes } from '#base';
import type { Problem } from './status.ts';

/** The alerts of what a slow disk of the same node holds up. */
const EFFECTS: ReadonlySet<Problem['alert']> = new Set([
  'CrdbHeartbeatSlow',
  'CrdbLatencyHigh',
  'CrdbRequestsStuck',
  'CrdbStoreOverloaded',
]);

/**
 * The problems of nodes, of which those that a slow disk of the same node explains lead to it. Example: the disk of node 2 is
 * slow, and the heartbeats of nodes 1 and 2 are: `First see the slow disk of node 2.`
 */
export function leadToDisks(problems: readonly Problem[]): readonly Problem[] {
  const slow = problems.filter(({ alert }) => alert === 'CrdbStoreDiskSlow');
  const nodes = new Set(slow.flatMap(({ nodeIds = [] }) => nodeIds));
  return problems.map((problem) => {
    const shared = (problem.nodeIds ?? []).filter((id) => nodes.has(id));
    if (shared.length === 0 || !EFFECTS.has(problem.alert)) return problem;
    return {
      ...problem,
      next: `First see the slow disk of ${formatNodes(shared)}. ${problem.next}`,
    };
  });
}
