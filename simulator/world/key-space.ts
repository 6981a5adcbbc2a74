import { changeRange, hears, settleRange } from './descriptors.ts';
import { splitKey } from './keys.ts';
import { leadersOf } from './leadership.ts';
import { makeReplica, type Range, type Replica } from './ranges.ts';
import { isMoving } from './replication.ts';
import { nodeOf, type WorldState } from './state.ts';

/** Splits the range; the right half has the next id. Stores that are cut off do not hold it yet. */
export function splitRange(state: WorldState, range: Range): Range {
  const { end } = range;
  const middle = splitKey(range.start, end);
  const isCutOff = (replica: Replica): boolean => !hears(state, range, replica);
  const replicas = range.replicas.map((replica): Replica => {
    const { nodeId, storeId, replicaId, type } = replica;
    const copy = makeReplica(nodeOf(state, nodeId), storeId, replicaId, type);
    return isCutOff(replica) ? { ...copy, knows: 'nothing' } : copy;
  });
  changeRange(state, range, { end: middle });
  range.queriesPerSecond /= 2;
  const right: Range = {
    ...range,
    id: state.nextRangeId,
    start: middle,
    end,
    replicas,
    leases: range.leases.slice(-1),
    goal: undefined,
    extraCpuNanos: 0,
    forced: new Set(),
  };
  state.nextRangeId += 1;
  state.ranges.set(right.id, right);
  return right;
}

/** Merges the range with its right neighbour, if there is one and the server could. */
export function mergeWithNext(state: WorldState, range: Range): boolean {
  const right = [...state.ranges.values()].find(({ start }) => start === range.end);
  if (right === undefined || !isWhole(state, range) || !isWhole(state, right)) return false;
  // Both have their replicas on the same stores before they become one.
  relocate(state, right, range);
  changeRange(state, range, { end: right.end });
  range.generation = 1 + Math.max(range.generation, right.generation);
  range.queriesPerSecond += right.queriesPerSecond;
  state.ranges.delete(right.id);
  settleRange(state, range);
  return true;
}

function isWhole(state: WorldState, range: Range): boolean {
  if (isMoving(range) || leadersOf(state, range).length === 0) return false;
  return range.replicas.every(
    (replica) => replica.knows === undefined && hears(state, range, replica),
  );
}

function relocate(state: WorldState, range: Range, onto: Range): void {
  const replicas = onto.replicas.map(({ nodeId, storeId, type }) => {
    const present = range.replicas.find((each) => each.storeId === storeId);
    const id = present?.replicaId ?? range.nextReplicaId++;
    return makeReplica(nodeOf(state, nodeId), storeId, id, type);
  });
  changeRange(state, range, { replicas });
}
