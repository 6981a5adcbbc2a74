import type { NodeActions } from './node-actions.ts';
import { type ClusterNode, faultyNodesOf } from './nodes.ts';
import type { RangeActions } from './range-actions.ts';
import { REPLICA_PROBLEMS } from './ranges.ts';
import { nodeOf, rangeOf, type WorldState } from './state.ts';

/** One of this many ranges is affected. */
const QUIESCENT_EVERY = 17;
const TOO_LARGE_EVERY = 101;
const FLAGGED_EVERY = 23;
const LAGGING_EVERY = 67;
const DEAD_AGE_MS = 600_000;
const DECOMMISSIONED_AGE_MS = 3 * 86_400_000;

/** Adds one fault of every type to a new world. */
export function addFaults(state: WorldState, world: NodeActions & RangeActions): void {
  const { dead, draining, decommissioned } = faultyNodesOf(state.options);
  for (const id of state.ranges.keys()) addRangeFaults(state, world, id);
  if (decommissioned !== undefined) {
    world.decommission(decommissioned);
    world.killNode(decommissioned);
    backdateRecord(nodeOf(state, decommissioned), DECOMMISSIONED_AGE_MS);
  }
  if (draining !== undefined) world.drainNode(draining);
  if (dead !== undefined) {
    misplaceReplicas(state, world, dead);
    world.killNode(dead);
    backdateRecord(nodeOf(state, dead), DEAD_AGE_MS);
  }
  mixBuilds(world, state);
}

/** As if the node had stopped earlier. */
function backdateRecord(node: ClusterNode, ageMs: number): void {
  const record = node.frozenRecord;
  if (record === undefined) return;
  node.frozenRecord = { ...record, updatedAtMs: record.updatedAtMs - ageMs };
}

function addRangeFaults(state: WorldState, world: RangeActions, id: number): void {
  if (id % QUIESCENT_EVERY === 0) world.setQuiescent(id, true);
  if (id % TOO_LARGE_EVERY === 0) world.setProblem(id, 'range_too_large');
  if (id % FLAGGED_EVERY === 0) {
    const problem = REPLICA_PROBLEMS[Math.floor(id / FLAGGED_EVERY) % REPLICA_PROBLEMS.length];
    if (problem !== undefined) world.setProblem(id, problem);
  }
  const range = rangeOf(state, id);
  const follower = range.replicas.find((each) => each.storeId !== range.leases.at(-1)?.storeId);
  if (id % LAGGING_EVERY === 0 && follower !== undefined) world.lagReplica(id, follower.nodeId, 1);
}

/** One range without quorum, one with all its replicas on the dead node, one with one replica too many. */
function misplaceReplicas(state: WorldState, world: RangeActions, dead: number): void {
  const ids = [...state.ranges.keys()].filter((id) => id % FLAGGED_EVERY === 7);
  const [withoutQuorum, lost, overreplicated] = ids;
  if (withoutQuorum !== undefined) world.placeRange(withoutQuorum, [dead, 1]);
  if (lost !== undefined) world.placeRange(lost, [dead]);
  const others = [...state.nodes.values()].filter(
    (node) => node.process === 'up' && node.id !== dead,
  );
  const chosen = others.slice(0, state.options.replication + 1).map((node) => node.id);
  if (overreplicated !== undefined) world.placeRange(overreplicated, chosen);
}

function mixBuilds(world: NodeActions, state: WorldState): void {
  const ids = [...state.nodes.keys()];
  const [, second, third] = ids;
  if (second !== undefined) world.setBuild(second, 'v25.4.1', 25, 4, 0);
  if (third !== undefined) world.setBuild(third, 'v26.1.0-beta.2', 25, 4, 8);
}
