import { isLed } from '../world/leadership.ts';
import type { ClusterNode } from '../world/nodes.ts';
import type { Range, Replica } from '../world/ranges.ts';
import { listedNodes, nodeOf, type WorldState } from '../world/state.ts';

/** How many ranges lose something when a node stops, or all nodes of a locality at once. */
interface Dependence {
  /** Ranges that have a majority now, and would have none. */
  readonly quorum: number;
  /** Ranges whose replicas that are live are all there. */
  readonly allReplicas: number;
  /** Ranges that have no majority now, and a live replica there. */
  readonly withoutQuorum: number;
}

/**
 * By descriptors, processes and who reaches whom: what is, not what a client can know. A replica is live while its node is
 * up; it votes unless it knows no leader or its circuit breaker is open.
 */
export interface DependenceTruth {
  /** By id of the nodes that are up. */
  readonly nodes: Readonly<Record<string, Dependence>>;
  /** By tier and prefix: `zone region=a,zone=b`. */
  readonly localities: Readonly<Record<string, Dependence>>;
  /** Ranges all of whose replicas are on nodes that are not up. */
  readonly lost: readonly number[];
  /** Ranges without a majority, lost ones included. */
  readonly withoutQuorum: readonly number[];
  /** Ranges that have a majority of nodes, and serve nothing: too few replicas vote, or the leader or leaseholder does not. */
  readonly servingNothing: readonly number[];
  /** The nodes whose stop would leave a range without a majority; all nodes while a range has none or serves nothing. */
  readonly unsafeToStop: readonly number[];
}

/** What would be lost with each node and each locality. */
export function dependenceTruth(state: WorldState): DependenceTruth {
  const up = listedNodes(state).filter(({ process }) => process === 'up');
  const nodes = new Map(up.map(({ id }) => [String(id), emptyDomain([id])]));
  const localities = new Map<string, Domain>();
  for (const node of up) {
    for (const name of localitiesOf(node)) {
      const inside = up.filter((each) => localitiesOf(each).includes(name));
      localities.set(name, emptyDomain(inside.map(({ id }) => id)));
    }
  }
  const domainsOf = new Map(
    up.map((node) => {
      const names = localitiesOf(node).map((name) => localities.get(name));
      return [node.id, [nodes.get(String(node.id)), ...names].filter((each) => each !== undefined)];
    }),
  );
  const ranges = [...state.ranges.values()];
  for (const range of ranges) {
    const live = range.replicas.filter(({ nodeId }) => domainsOf.has(nodeId));
    const domains = new Set(live.flatMap(({ nodeId }) => domainsOf.get(nodeId) ?? []));
    for (const domain of domains) addRange(state, domain, range, live);
  }
  const idsOf = (isMeant: (range: Range) => boolean): number[] =>
    ranges.filter(isMeant).map(({ id }) => id);
  // A node that is cut off may still lead a range whose only voter it holds: nobody reaches it there.
  const withoutQuorum = idsOf(
    (range) => !isLed(state, range, ({ nodeId }) => domainsOf.has(nodeId)),
  );
  const servingNothing = idsOf(
    (range) => !withoutQuorum.includes(range.id) && servesNothing(state, range),
  );
  const isDamaged = withoutQuorum.length + servingNothing.length > 0;
  return {
    nodes: countsOf(nodes),
    localities: countsOf(localities),
    lost: idsOf(({ replicas }) => replicas.every(({ nodeId }) => !domainsOf.has(nodeId))),
    withoutQuorum,
    servingNothing,
    unsafeToStop: up
      .map(({ id }) => id)
      .filter((id) => isDamaged || nodes.get(String(id))?.quorum !== 0),
  };
}

/** Nodes that may stop together. */
interface Domain {
  readonly inside: ReadonlySet<number>;
  quorum: number;
  allReplicas: number;
  withoutQuorum: number;
}

function emptyDomain(nodeIds: readonly number[]): Domain {
  return { inside: new Set(nodeIds), quorum: 0, allReplicas: 0, withoutQuorum: 0 };
}

function countsOf(domains: ReadonlyMap<string, Domain>): Record<string, Dependence> {
  return Object.fromEntries(
    Array.from(domains, ([name, { quorum, allReplicas, withoutQuorum }]) => [
      name,
      { quorum, allReplicas, withoutQuorum },
    ]),
  );
}

/** `region region=a`, `zone region=a,zone=b`. */
function localitiesOf({ locality }: ClusterNode): string[] {
  const pairs = locality.map(({ key, value }) => `${key}=${value}`);
  return locality.map(({ key }, tier) => `${key} ${pairs.slice(0, tier + 1).join(',')}`);
}

function addRange(state: WorldState, domain: Domain, range: Range, live: readonly Replica[]): void {
  const counts = (replica: Replica): boolean => votes(replica) && live.includes(replica);
  const stays = (replica: Replica): boolean =>
    counts(replica) && !domain.inside.has(replica.nodeId);
  if (live.every(({ nodeId }) => domain.inside.has(nodeId))) domain.allReplicas += 1;
  if (!isLed(state, range, counts)) domain.withoutQuorum += 1;
  else if (!isLed(state, range, stays)) domain.quorum += 1;
}

function votes({ flags }: Replica): boolean {
  return !flags.has('no_raft_leader') && !flags.has('circuit_breaker_error');
}

/** The leader is the leaseholder, unless a replica says that it leads and holds no lease, or that it leads without one. */
function servesNothing(state: WorldState, range: Range): boolean {
  const lease = range.leases.at(-1);
  const speakers = range.replicas.filter(
    ({ storeId, flags }) => storeId === lease?.storeId || flags.has('leader_not_lease_holder'),
  );
  const isUp = ({ nodeId }: Replica): boolean => nodeOf(state, nodeId).process === 'up';
  return (
    !isLed(state, range, votes) ||
    speakers.some((replica) => isUp(replica) && !votes(replica)) ||
    range.replicas.some((replica) => isUp(replica) && replica.flags.has('no_lease'))
  );
}
