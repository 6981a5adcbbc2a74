import type { Simulator } from '../../simulator/index.ts';
import { heldReplicas } from '../../simulator/world/held-replicas.ts';
import { isLed } from '../../simulator/world/leadership.ts';
import { type ClusterNode, countsAsLive, isReachable } from '../../simulator/world/nodes.ts';
import { problemsOf } from '../../simulator/world/problems.ts';
import type { Problem, Replica } from '../../simulator/world/ranges.ts';
import { isChanging } from '../../simulator/world/replica-types.ts';
import { listedNodes, type WorldState } from '../../simulator/world/state.ts';
import type { Readability } from './connections.ts';
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
  readonly isPlain: boolean;
  readonly isDraining: boolean;
  /** A URL calls its old answers new. */
  readonly isLying: boolean;
  /** Whether anybody can know that live nodes reach each other. */
  readonly connections: Readability;
  readonly outages: Outages;
  /** Nodes that leave and hold only replicas that merges left behind: they count, so that no yes is owed. */
  readonly holdingLeftOvers: ReadonlySet<number>;
  /** A range has more than 6 replicas. */
  readonly isWide: boolean;
  /** Pairs of nodes that do not reach each other. */
  readonly cutPairs: number;
  /** When it began. */
  readonly sinceMs: number;
}

/**
 * What a critical alert of ranges may say. A node counts as up while it is and reads live: one that has just returned, or died,
 * is down for one of those who look.
 */
export interface Outages {
  /** A range has no replica on a node that is up. */
  readonly lost: boolean;
  readonly withoutQuorum: boolean;
  /** A range has no leader, or its leader or leaseholder serves nothing. */
  readonly servingNothing: boolean;
  /**
   * What replicas report of ranges that exist. An alert that repeats what a node reports is right, although the node alone says so
   * and errs: what nodes claim is not known to be wrong. What a merge left behind is of no range, which only descriptors show.
   */
  readonly reported: ReadonlySet<Problem>;
  /** A replica claims that its range is unavailable. */
  readonly claimed: boolean;
}

/** What is true now. */
export function momentOf(
  simulator: Simulator,
  reads: Reads,
  {
    isAdmitted,
    ...evidence
  }: Pick<Moment, 'isLying' | 'connections' | 'sinceMs'> & { readonly isAdmitted: boolean },
): Moment {
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
    isPlain: isPlain(state),
    isDraining: draining.length > 0,
    ...evidence,
    outages: findOutages(state, dependence, isAdmitted),
    holdingLeftOvers: new Set(
      state.removed.flatMap(({ isLeftOver, replica }) => (isLeftOver ? [replica.nodeId] : [])),
    ),
    isWide: [...state.ranges.values()].some(({ replicas }) => replicas.length > MANY_REPLICAS),
    cutPairs: state.cutPairs.size,
  };
}

/** Each node is up and reads live, or is down and does not, and knows what its replicas are; none of them is on its way. */
export function isPlain(state: WorldState): boolean {
  return (
    listedNodes(state).every(
      (node) => isReachable(node) === countsAsLive(node) && !node.isBehind,
    ) && [...state.ranges.values()].every(({ replicas }) => !isChanging(replicas))
  );
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

/** Ranges with more replicas are judged by themselves, too. */
const MANY_REPLICAS = 6;

const STUCK: readonly Problem[] = ['no_raft_leader', 'circuit_breaker_error'];

function findOutages(
  state: WorldState,
  { servingNothing }: Moment['dependence'],
  areDescriptorsRead: boolean,
): Outages {
  const seen = new Set(
    listedNodes(state)
      .filter((node) => isReachable(node) && countsAsLive(node))
      .map(({ id }) => id),
  );
  const reported = new Set<Problem>();
  const stuck = new Set<Replica>();
  for (const { range, replica } of heldReplicas(state)) {
    if (areDescriptorsRead && !state.ranges.has(range.id)) continue;
    const problems = problemsOf(state, range, replica);
    for (const problem of problems) reported.add(problem);
    if (STUCK.some((problem) => problems.has(problem))) stuck.add(replica);
  }
  const isSeen = ({ nodeId }: Replica): boolean => seen.has(nodeId);
  const isVoting = (replica: Replica): boolean => isSeen(replica) && !stuck.has(replica);
  const ranges = [...state.ranges.values()];
  return {
    lost: ranges.some(({ replicas }) => !replicas.some(isSeen)),
    withoutQuorum: ranges.some((range) => !isLed(state, range, isSeen)),
    servingNothing:
      servingNothing.length > 0 || ranges.some((range) => !isLed(state, range, isVoting)),
    reported,
    claimed: ranges.some(({ replicas }) =>
      replicas.some(({ flags, passing }) => flags.has('unavailable') || passing.has('unavailable')),
    ),
  };
}

function votes({ flags }: Replica): boolean {
  return !flags.has('no_raft_leader') && !flags.has('circuit_breaker_error');
}
