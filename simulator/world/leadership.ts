import type { Lease } from './leases.ts';
import type { Range, Replica } from './ranges.ts';
import { canReach } from './reachability.ts';
import { hasMajority, isVoter, votesAfter } from './replica-types.ts';
import type { WorldState } from './state.ts';

/** Whether a replica on that node can lead the range: it reaches, itself included, a majority of the voters. */
export function canLead(
  state: WorldState,
  { replicas }: Range,
  leader: number,
  counts: (replica: Replica) => boolean = () => true,
): boolean {
  return hasMajority(
    replicas,
    (replica) => counts(replica) && canReach(state, leader, replica.nodeId),
  );
}

/** The voters that can lead the range and stay voters; none when it has no majority. */
export function leadersOf(state: WorldState, range: Range): Replica[] {
  return range.replicas.filter(
    (replica) => votesAfter(replica) && canLead(state, range, replica.nodeId),
  );
}

/** Whether one of the replicas that count can lead a majority of the voters, of which those that do not count are down. */
export function isLed(
  state: WorldState,
  range: Range,
  counts: (replica: Replica) => boolean,
): boolean {
  return range.replicas.some(
    (replica) =>
      isVoter(replica) && counts(replica) && canLead(state, range, replica.nodeId, counts),
  );
}

/** The lease of the range while its holder can serve: its node is up and leads a majority of the voters. */
export function validLeaseOf(state: WorldState, range: Range): Lease | undefined {
  const lease = range.leases.at(-1);
  const holder = range.replicas.find(({ storeId }) => storeId === lease?.storeId);
  if (holder === undefined || holder.flags.has('no_lease')) return undefined;
  return canLead(state, range, holder.nodeId) ? lease : undefined;
}
