import type { FaultHandle } from '../../simulator/http/faults.ts';
import type { Simulator } from '../../simulator/index.ts';
import type { ClusterNode } from '../../simulator/world/nodes.ts';
import { listedNodes, type WorldState } from '../../simulator/world/state.ts';
import type { World } from '../../simulator/world/world.ts';
import type { SentConnections } from './connections.ts';
import type { Change, Staleness, Start } from './history.ts';
import type { Reads } from './reads.ts';

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;
export type Apply<Kind extends Change['kind']> = (
  cluster: ChangedCluster,
  change: ChangeOf<Kind>,
) => string | undefined;

/** A cluster that a history changes. */
export interface ChangedCluster {
  readonly simulator: Simulator;
  readonly world: World;
  readonly state: WorldState;
  readonly start: Start;
  /** What the exporter has read. */
  readonly reads: { readonly exporter: Pick<Reads, 'forget'> };
  /** Whether a URL answers with old lists. */
  readonly isStale: boolean;
  /** Lets the URL of a node answer with old lists and descriptors from now on; no URL without an argument. */
  setStale(gateway?: number, how?: Staleness): void;
  /** Whether descriptors are not refused. */
  isAdmitted: boolean;
  /** Requests that are to fail, and how many of them have. */
  readonly hiccups: {
    readonly endpoint: string;
    readonly times: number;
    readonly fault: FaultHandle;
  }[];
  /** The form in which nodes send their connections. */
  connections: SentConnections;
}

export function pickOf<T>(items: readonly T[], pick: number): T | undefined {
  return items[Math.floor(pick * items.length)];
}

export function nodesWhere(
  state: WorldState,
  isMeant: (node: ClusterNode) => boolean,
): ClusterNode[] {
  return listedNodes(state).filter((node) => !node.isRelic && isMeant(node));
}
