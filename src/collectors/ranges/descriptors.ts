import type { RangeDescriptor } from '#cockroach';
import type { Members } from './members.ts';
import {
  GENERATIONS,
  NO_PLACE,
  type RangeMap,
  MAX_NODE_ID,
  MAX_REPLICAS,
  MARK,
} from './range-map.ts';

/** Types of replicas that vote, and that voted before a change of the configuration that is going on (roachpb ReplicaType). */
const VOTES: ReadonlySet<unknown> = new Set([0, 2]);
const VOTED_BEFORE: ReadonlySet<unknown> = new Set([0, 3, 4, 6]);
/** Types of replicas while no change is going on: voter and non-voter. */
const SETTLED: ReadonlySet<unknown> = new Set([0, 5]);
/** A replica of a higher type may vote or not: nobody knows. */
const MAX_TYPE = 6;

/** What a descriptor changed: `older` ones are not kept; `zone` shows other voters on the same nodes. */
type DescriptorChange = 'older' | 'kept' | 'zone';

/**
 * Keeps a descriptor that was requested at this tick, unless one with a higher generation is known. Example: node 4 was down, the range
 * has left it, and it answers with generation 7 while 9 is known: 9 stays. Generations are compared in a circle of 524,288: the later
 * one is at most half of it ahead.
 */
export function keepDescriptor(
  map: RangeMap,
  slot: number,
  descriptor: RangeDescriptor,
  tick: number,
): DescriptorChange {
  const { readAt, marks } = map.columns;
  const { generation, isFromLeaseholder } = descriptor;
  const isKnown = map.replicasOf(slot) !== 0;
  const ahead = (generation - map.generationOf(slot) + GENERATIONS) % GENERATIONS;
  if (isKnown && ahead >= GENERATIONS / 2) return 'older';
  const wasSettled = isKnown && ((marks[slot] ?? 0) & MARK.isChanging) === 0;
  const before = isKnown ? votersOf(map, slot) : undefined;
  readAt[slot] = tick;
  const isSettled = descriptor.replicas.every(({ type }) => SETTLED.has(type));
  marks[slot] =
    ((marks[slot] ?? 0) & ~(MARK.readAtLeaseholder | MARK.isChanging)) |
    (isFromLeaseholder ? MARK.readAtLeaseholder : 0) |
    (isSettled ? 0 : MARK.isChanging);
  keepReplicas(map, slot, descriptor);
  if (before === undefined) return 'kept';
  // A move has a learner more at first and a voter less at the end. On the same nodes it is the zone that changes, where that is
  // seen from its beginning or at its end.
  if (!wasSettled && !isSettled) return 'kept';
  const after = votersOf(map, slot);
  return before.nodes === after.nodes && before.voters !== after.voters ? 'zone' : 'kept';
}

/** The nodes and the voters of the descriptor as texts. */
function votersOf(
  map: RangeMap,
  slot: number,
): { readonly nodes: string; readonly voters: string } {
  const voters = map.votersOf(slot);
  const nodes = nodesOf(map, slot);
  const voting = nodes.filter((_, place) => (voters & (1 << place)) !== 0);
  return { nodes: joined(nodes), voters: joined(voting) };
}

function joined(ids: readonly number[]): string {
  return ids.toSorted((a, b) => a - b).join();
}

/** Puts the replicas into places, voters first, and the nodes that report the range beside them behind. */
function keepReplicas(
  map: RangeMap,
  slot: number,
  { replicas: list, generation }: RangeDescriptor,
): void {
  const { leases } = map.columns;
  const reporters = reportersOf(map, slot);
  const leaseholder = map.nodeAt(slot, (leases[slot] ?? 0) >> 2);
  const isVoter = ({ type }: RangeDescriptor['replicas'][number]) =>
    VOTES.has(type) || VOTED_BEFORE.has(type);
  const ordered = [...list.filter(isVoter), ...list.filter((replica) => !isVoter(replica))];
  const most = map.mostPlacesOf(slot);
  const placed = ordered.slice(0, most);
  // The voters are not known when one of them has no place, when the id of a node does not fit, or with a type of a newer server.
  const areKnown =
    list.length <= MAX_REPLICAS &&
    list.every(({ type = -1 }) => type >= 0 && type <= MAX_TYPE) &&
    ordered.slice(most).every((replica) => !isVoter(replica)) &&
    placed.every(({ nodeId }) => nodeId > 0 && nodeId <= MAX_NODE_ID);
  const maskOf = (types: ReadonlySet<unknown>) =>
    placed.reduce((mask, { type }, place) => mask | (types.has(type) ? 1 << place : 0), 0);
  map.describe(slot, areKnown ? list.length : 0, generation);
  const nodeIds = areKnown ? placed.map(({ nodeId }) => nodeId) : [];
  map.place(slot, nodeIds, areKnown ? maskOf(VOTES) : 0, areKnown ? maskOf(VOTED_BEFORE) : 0);
  const kind = (leases[slot] ?? 0) & 3;
  leases[slot] = kind | (NO_PLACE << 2);
  for (const nodeId of reporters) {
    const place = map.report(slot, nodeId);
    if (nodeId === leaseholder) leases[slot] = kind | (place << 2);
  }
}

/**
 * Whether the descriptor names a store that its node, which reports the range, has not listed: then that node reports an old replica.
 * Example: node 3 has lost the disk of store 6, to which the replica had moved from store 5 a minute before.
 */
export function namesUnlistedStore(
  map: RangeMap,
  slot: number,
  { replicas }: RangeDescriptor,
  members: Pick<Members, 'mayHave'>,
): boolean {
  return replicas.some(
    ({ nodeId, storeId }) =>
      !members.mayHave(nodeId, storeId) && reportersOf(map, slot).includes(nodeId),
  );
}

/** The nodes of the descriptor that have a place, voters first. */
export function nodesOf(map: RangeMap, slot: number): readonly number[] {
  const count = map.placesOf(slot);
  // A view of the column for each of a million ranges would cost more than the judgement.
  const found: number[] = [];
  for (let place = 0; place < count; place += 1) found.push(map.nodeAt(slot, place));
  return found;
}

const NOBODY: readonly number[] = [];

/** The first of the reporters, without these. It is looked for in each of a million ranges, and makes no array. */
export function firstReporter(
  map: RangeMap,
  slot: number,
  except: readonly number[] = NOBODY,
): number | undefined {
  const leaseholder = map.nodeAt(slot, (map.columns.leases[slot] ?? 0) >> 2);
  if (leaseholder !== 0 && !except.includes(leaseholder)) return leaseholder;
  const reported = map.reportedOf(slot);
  for (let place = 0; reported >> place !== 0; place += 1) {
    if ((reported & (1 << place)) === 0) continue;
    const nodeId = map.nodeAt(slot, place);
    if (nodeId !== 0 && !except.includes(nodeId)) return nodeId;
  }
  return undefined;
}

/** The nodes with a place that report the range in this scan; the leaseholder first. */
export function reportersOf(map: RangeMap, slot: number): readonly number[] {
  const nodes: number[] = [];
  let next = firstReporter(map, slot);
  while (next !== undefined) {
    nodes.push(next);
    next = firstReporter(map, slot, nodes);
  }
  return nodes;
}
