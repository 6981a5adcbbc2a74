import type { ClusterNode } from '../world/nodes.ts';
import { hasQuorum, problemsOf, quorumOf } from '../world/problems.ts';
import type { Range } from '../world/ranges.ts';
import type { WorldState } from '../world/state.ts';

/** How many ranges would lose something; in between it depends on what was seen of them before. */
interface Bounds {
  least: number;
  most: number;
}

interface Dependence {
  readonly quorum: Bounds;
  readonly allReplicas: Bounds;
}

interface NodeDependence extends Dependence {
  /** Ranges that have no quorum and a replica on the node. */
  readonly withoutQuorum: Bounds;
}

/** How many ranges lose something when nodes stop, by their voters. */
interface RealDependence {
  readonly quorum: number;
  readonly allReplicas: number;
  readonly withoutQuorum: number;
}

export interface DependenceTruth {
  /** By id of the nodes that can be scanned. */
  readonly nodes: Readonly<Record<string, NodeDependence>>;
  /** By tier and prefix: `zone region=a,zone=b`. */
  readonly localities: Readonly<Record<string, Dependence>>;
  /** What really depends on each node that can be scanned, and on each locality, by the voters of the ranges. */
  readonly real: {
    readonly nodes: Readonly<Record<string, RealDependence>>;
    readonly localities: Readonly<Record<string, RealDependence>>;
  };
  /** Ranges all of whose replicas are on nodes that are not live. */
  readonly lost: readonly number[];
}

const LIVE = ['live', 'draining', 'decommissioning'];

/** What would be lost with each node and each locality. */
export function dependenceTruth(
  state: WorldState,
  scannable: readonly ClusterNode[],
): DependenceTruth {
  const scannableIds = new Set(scannable.map(({ id }) => id));
  const seen = [...state.ranges.values()].map((range) => {
    const holders = new Set(range.replicas.map(({ nodeId }) => nodeId)).intersection(scannableIds);
    return { holders, views: viewsOf(state, range, holders) };
  });
  const realNodes: Record<string, RealDependence> = {};
  const realLocalities: Record<string, RealDependence> = {};
  const nodes: Record<string, NodeDependence> = {};
  const localities: Record<string, Dependence> = {};
  for (const node of scannable) {
    nodes[node.id] = {
      ...dependenceOn(seen, new Set([node.id])),
      withoutQuorum: withoutQuorum(seen, node.id),
    };
    realNodes[node.id] = realDependence(state, new Set([node.id]));
    node.locality.forEach(({ key }, tier) => {
      const name = `${key} ${prefixOf(node, tier)}`;
      const inside = scannable.filter((each) => prefixOf(each, tier) === prefixOf(node, tier));
      const ids = new Set(inside.map(({ id }) => id));
      localities[name] ??= dependenceOn(seen, ids);
      realLocalities[name] ??= realDependence(state, ids);
    });
  }
  const isLive = (id: number): boolean => LIVE.includes(state.nodes.get(id)?.liveness ?? '');
  const lost = [...state.ranges.values()].filter(({ replicas }) =>
    replicas.every(({ nodeId }) => !isLive(nodeId)),
  );
  const real = { nodes: realNodes, localities: realLocalities };
  return { nodes, localities, real, lost: lost.map(({ id }) => id) };
}

function realDependence(state: WorldState, stopped: ReadonlySet<number>): RealDependence {
  const real = { quorum: 0, allReplicas: 0, withoutQuorum: 0 };
  for (const range of state.ranges.values()) {
    const live = range.replicas.filter(({ nodeId }) =>
      LIVE.includes(state.nodes.get(nodeId)?.liveness ?? ''),
    );
    const left = live.filter(({ nodeId }) => !stopped.has(nodeId));
    if (left.length === live.length) continue;
    if (left.length === 0) real.allReplicas += 1;
    if (!hasQuorum(range, live)) real.withoutQuorum += 1;
    else if (!hasQuorum(range, left)) real.quorum += 1;
  }
  return real;
}

/** A range by the nodes that report it, and the numbers of replicas that it can be taken for. */
interface SeenRange {
  readonly holders: ReadonlySet<number>;
  readonly views: readonly View[];
}

function prefixOf({ locality }: ClusterNode, tier: number): string {
  if (locality.length <= tier) return '';
  return locality
    .slice(0, tier + 1)
    .map(({ key, value }) => `${key}=${value}`)
    .join(',');
}

function dependenceOn(seen: readonly SeenRange[], stopped: ReadonlySet<number>): Dependence {
  const quorum = { least: 0, most: 0 };
  const allReplicas = { least: 0, most: 0 };
  for (const { holders, views } of seen) {
    const lost = holders.intersection(stopped).size;
    const losesQuorum = views.filter((view) => {
      const spare = spareOf(view);
      return spare >= 0 && lost > spare;
    });
    const losesAll = views.filter(({ live }) => live > 0 && live === lost);
    addBounds(quorum, losesQuorum.length, views.length);
    addBounds(allReplicas, losesAll.length, views.length);
  }
  return { quorum, allReplicas };
}

function withoutQuorum(seen: readonly SeenRange[], nodeId: number): Bounds {
  const bounds = { least: 0, most: 0 };
  for (const { holders, views } of seen) {
    if (!holders.has(nodeId)) continue;
    const lacking = views.filter((view) => spareOf(view) < 0);
    addBounds(bounds, lacking.length, views.length);
  }
  return bounds;
}

/** Replicas that a range can lose in the worst case, in which every missing one is a voter; fewer than 0: no quorum. */
function spareOf({ intended, live, voters }: View): number {
  const needed = quorumOf(voters);
  if (live < needed) return -1;
  return Math.max(0, voters - Math.max(0, intended - live) - needed);
}

function addBounds(bounds: Bounds, agreeing: number, views: number): void {
  if (agreeing > 0) bounds.most += 1;
  if (agreeing > 0 && agreeing === views) bounds.least += 1;
}

/** What a range can be taken for. */
interface View {
  readonly intended: number;
  readonly live: number;
  readonly voters: number;
}

/** A range of 4 or more replicas by its voters, and as if all of them were, where its types are not known. */
function viewsOf(state: WorldState, range: Range, holders: ReadonlySet<number>): readonly View[] {
  const voters = range.replicas.filter(({ isVoter }) => isVoter).length;
  return sizesOf(state, range, holders).flatMap(({ intended, live }) => {
    const all = { intended, live, voters: intended };
    const isTold = intended >= 4 && intended === range.replicas.length && voters < intended;
    return isTold ? [all, { intended, live, voters }] : [all];
  });
}

/** The numbers of replicas that a range can be taken for, by what was seen of it before. */
function sizesOf(
  state: WorldState,
  range: Range,
  holders: ReadonlySet<number>,
): readonly { readonly intended: number; readonly live: number }[] {
  const reported = new Set(
    range.replicas
      .filter(({ nodeId }) => holders.has(nodeId))
      .flatMap((replica) => [...problemsOf(range, replica, state.nodes)]),
  );
  const count = holders.size;
  if (count === 0) return [];
  if (reported.has('unavailable')) return [{ intended: Infinity, live: count }];
  const wanted = [...new Set([range.replicas.length, range.wantedReplicas])];
  if (!reported.has('underreplicated')) {
    const moved = [count + (count % 2 === 0 ? 1 : 0), ...wanted.filter((size) => size > count)];
    const seen = [...new Set([count, ...moved])];
    if (count > 1) return seen.map((live) => ({ intended: live, live }));
  }
  // A range that is new may be a part of another one, whose other replicas were read before it was split off.
  if (count === 1) return [1, 0].map((live) => ({ intended: 1, live }));
  const next = count + 1 + (count % 2);
  const sizes = new Set([...wanted, next].map((size) => Math.max(size, count)));
  return [...sizes].map((intended) => ({ intended, live: count }));
}
