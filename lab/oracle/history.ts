import type { Problem } from '../../simulator/world/ranges.ts';
import type { ConnectionForm } from './connections.ts';

/** The collectors whose results decide which node may stop. */
export const POLLED = ['nodes', 'network', 'ranges'] as const;
export type Polled = (typeof POLLED)[number];

/** Steps of the history that fall between two requests of a poll or command: before its request of that number, from 0. */
export interface Inside {
  readonly before: number;
  readonly changes: readonly Change[];
}

/**
 * What a URL does: it repeats its old answers about ranges, or all of them, as if they were new; it answers all questions about
 * ranges as it would have before; or it is a cache, which tells how old an answer is.
 */
export type Staleness = 'repeats-ranges' | 'repeats-all' | 'remembers' | 'caches';

/** How a node goes: `partitioned`, it runs and its URL answers, and the other nodes do not reach it. */
type Death = 'dead' | 'unavailable' | 'crash' | 'partitioned';

/**
 * A change of the world. A number `pick` from 0 to 1 chooses among what is there, so that a step means something in every
 * world, also when the steps before it are left out.
 */
export type Change =
  | { readonly kind: 'kill'; readonly pick: number; readonly how: Death }
  | {
      readonly kind: 'revive';
      readonly pick: number;
      readonly isBehind: boolean;
      readonly isSuspect: boolean;
    }
  | { readonly kind: 'catch-up'; readonly pick: number }
  | { readonly kind: 'restart'; readonly pick: number }
  /** All nodes restart, one after the other, so that none knows a lease that is older. */
  | { readonly kind: 'forget' }
  | { readonly kind: 'drain'; readonly pick: number }
  | { readonly kind: 'undrain'; readonly pick: number }
  | { readonly kind: 'leave'; readonly pick: number; readonly how: 'begin' | 'move' | 'finish' }
  | { readonly kind: 'stay'; readonly pick: number }
  | { readonly kind: 'cut'; readonly picks: readonly [number, number] }
  | { readonly kind: 'heal'; readonly pick: number }
  | { readonly kind: 'move'; readonly picks: readonly number[]; readonly steps: number }
  | { readonly kind: 'step'; readonly pick: number; readonly steps: number }
  | { readonly kind: 'replicate'; readonly steps: number }
  | { readonly kind: 'split'; readonly pick: number }
  | { readonly kind: 'merge'; readonly pick: number }
  /** The range is merged with the one before, and some of its nodes keep their replicas of it. */
  | {
      readonly kind: 'leave-behind';
      readonly pick: number;
      readonly nodes: number;
      readonly problems: readonly Problem[];
      readonly knowsLease: boolean;
    }
  /** One replica that was left behind goes, or all of them. */
  | { readonly kind: 'collect'; readonly pick: number; readonly isAll: boolean }
  | { readonly kind: 'lease'; readonly picks: readonly [number, number] }
  /** Ranges of a table, from `from` to `to` of its ranges, get other voters and non-voters. */
  | {
      readonly kind: 'zone';
      readonly pick: number;
      readonly from: number;
      readonly to: number;
      readonly voters: number;
      readonly nonVoters: number;
      readonly steps: number;
    }
  /** The same, on the same nodes: some voters become non-voters, or the other way round. */
  | {
      readonly kind: 'swap';
      readonly pick: number;
      readonly from: number;
      readonly to: number;
      readonly turn: number;
      readonly voters: number;
    }
  | {
      readonly kind: 'stick';
      readonly picks: readonly [number, number];
      readonly problem: 'no_raft_leader' | 'circuit_breaker_error' | 'no_lease';
      /** Not the replica that holds the lease. */
      readonly isFollower?: boolean;
    }
  /** A follower says of its range what no other replica says, in each list or in the next one alone. */
  | {
      readonly kind: 'claim';
      readonly picks: readonly [number, number];
      readonly problem: 'unavailable' | 'underreplicated' | 'no_raft_leader';
      readonly repeats: boolean;
    }
  | { readonly kind: 'unstick' }
  /** Nodes send their connections in another form from now on; `of` and `to` pick the nodes, all of them when undefined. */
  | {
      readonly kind: 'connections';
      readonly form: ConnectionForm;
      readonly of?: number | undefined;
      readonly to?: number | undefined;
    }
  | { readonly kind: 'stale'; readonly pick: number; readonly how: Staleness }
  | { readonly kind: 'fresh' }
  /** The next requests of an endpoint fail. */
  | {
      readonly kind: 'hiccup';
      readonly endpoint: 'nodes' | 'node_ranges' | 'range_descriptors' | 'connectivity';
      readonly times: number;
      readonly how: 'reset' | 'error' | 'cut';
    }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'admit' };

/** A step of a history. */
export type Step =
  | Change
  | { readonly kind: 'poll'; readonly order: readonly Polled[]; readonly inside?: Inside }
  | { readonly kind: 'command'; readonly inside?: Inside }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'restart-exporter' };

/** The zone of some ranges of a table at the start. */
export interface StartZone {
  readonly pick: number;
  readonly from: number;
  readonly to: number;
  readonly voters: number;
  readonly nonVoters: number;
}

/** The cluster before the first step. */
export interface Start {
  readonly nodes: number;
  readonly stores: number;
  readonly gateways: number;
  readonly ranges: number;
  readonly replication: number;
  readonly zones: readonly StartZone[];
  /** Seconds until a descriptor is too old. */
  readonly descriptorMaxAge: number;
  /** What a request takes of the world's time. */
  readonly requestMs: number;
  /** What nodes say of connections that were never made. */
  readonly idleConnections?: 'none' | 'missing' | 'unknown' | 'establishing';
}

/** A world and what happens in it; it follows from its seed alone, unless steps were left out. */
export interface History {
  readonly seed: number;
  readonly start: Start;
  readonly steps: readonly Step[];
}
