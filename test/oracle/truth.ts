import type { Simulator } from '../../simulator/index.ts';
import { isLed } from '../../simulator/world/leadership.ts';
import { type ClusterNode, countsAsLive, isReachable } from '../../simulator/world/nodes.ts';
import type { Replica } from '../../simulator/world/ranges.ts';
import { isChanging } from '../../simulator/world/replica-types.ts';
import { listedNodes, type WorldState } from '../../simulator/world/state.ts';
import type { Reads } from './reads.ts';

/** What was true after a change. */
export interface Moment {
  readonly dependence: ReturnType<Simulator['dependence']>;
  /** The nodes whose stop would have been unsafe, with the ids of the ranges because of which. */
  readonly unsafe: ReadonlyMap<number, readonly number[]>;
  /** The ranges among them that the exporter cannot know of yet. */
  readonly hidden: ReadonlyMap<number, 'window' | 'down'>;
  /** Nodes that nobody may call safe for another reason: they leave and still hold replicas, or another node drains. */
  readonly forbidden: ReadonlySet<number>;
  /** Each node is up and reads live, or is down and does not, and knows what its replicas are; none of them is on its way. */
  readonly isPlain: boolean;
  readonly isDraining: boolean;
  /** A URL calls its old answers new. */
  readonly isLying: boolean;
  /** Pairs of nodes that do not reach each other. */
  readonly cutPairs: number;
}

/** What is true now. */
export function momentOf(simulator: Simulator, reads: Reads, isLying: boolean): Moment {
  const { state } = simulator.world;
  const dependence = simulator.dependence();
  const nodes = listedNodes(state);
  const draining = nodes.filter(({ liveness }) => liveness === 'draining').map(({ id }) => id);
  const isForbidden = (node: ClusterNode): boolean =>
    draining.some((id) => id !== node.id) ||
    (node.liveness === 'decommissioning' && holdsReplicas(state, node));
  const unsafe = findCulprits(state, dependence);
  const culprits = new Set([...unsafe.values()].flat());
  return {
    dependence,
    unsafe,
    hidden: new Map(
      [...culprits].flatMap((id) => {
        const range = state.ranges.get(id);
        const hidden = range && reads.hiddenChange(range);
        return hidden === undefined ? [] : [[id, hidden]];
      }),
    ),
    forbidden: new Set(nodes.filter(isForbidden).map(({ id }) => id)),
    isPlain:
      nodes.every((node) => isReachable(node) === countsAsLive(node) && !node.isBehind) &&
      [...state.ranges.values()].every(({ replicas }) => !isChanging(replicas)),
    isDraining: draining.length > 0,
    isLying,
    cutPairs: state.cutPairs.size,
  };
}

function holdsReplicas({ ranges }: WorldState, { id }: ClusterNode): boolean {
  return [...ranges.values()].some(({ replicas }) => replicas.some(({ nodeId }) => nodeId === id));
}

/** By node, the ranges because of which it may not stop now: the damaged ones, else those that need it. */
function findCulprits(
  state: WorldState,
  { withoutQuorum, servingNothing }: Moment['dependence'],
): ReadonlyMap<number, readonly number[]> {
  const damaged = [...withoutQuorum, ...servingNothing];
  const up = listedNodes(state).filter(isReachable);
  if (damaged.length > 0) return new Map(up.map(({ id }) => [id, damaged]));
  const culprits = new Map<number, number[]>();
  for (const range of state.ranges.values()) {
    for (const { nodeId } of range.replicas) {
      const stays = (replica: Replica): boolean => replica.nodeId !== nodeId && votes(replica);
      if (isLed(state, range, stays)) continue;
      culprits.set(nodeId, [...(culprits.get(nodeId) ?? []), range.id]);
    }
  }
  return culprits;
}

function votes({ flags }: Replica): boolean {
  return !flags.has('no_raft_leader') && !flags.has('circuit_breaker_error');
}
