import type { CollectorResult } from '../collector.ts';

/** States of a connection to a peer; values of the label `state` of crdb_node_peers. */
export const PEER_STATES = ['established', 'establishing', 'error', 'unknown'] as const;
export type PeerState = (typeof PEER_STATES)[number];

/** A connection of one node to another. */
export interface Connection {
  readonly nodeId: number;
  readonly peerId: number;
}

/** A connection that has failed, as its node sees it: the other direction may work. */
export interface FailedConnection extends Connection {
  /** The text of the server, which names addresses: for commands alone, and never read by the exporter. */
  readonly error?: string | undefined;
}

/** An established connection with its round-trip time. */
export interface TimedConnection extends Connection {
  readonly seconds: number;
}

/** The connections of one node, by state. */
export interface NodePeers extends Readonly<Record<PeerState, number>> {
  /** Round-trip times to its established peers, seconds; undefined without one that has a time. */
  readonly medianSeconds: number | undefined;
  readonly maxSeconds: number | undefined;
}

/** Who reaches whom. Nodes are live when the poll's own list says live, draining or decommissioning. */
export interface NetworkResult extends CollectorResult {
  /** Whether every live node has answered; undefined where there is no data to get, which `noData` explains. */
  readonly checked: boolean | undefined;
  /** Live nodes that have not answered, ascending: those in `peers` have, but not in a form that says whom they reach. */
  readonly unaskedNodes: readonly number[];
  /** Number of listed nodes that could not be read, so that nobody asked them; none where undefined. */
  readonly unreadable?: number;
  /** All failed connections between two live nodes, by node and peer ascending. */
  readonly unreachable: readonly FailedConnection[];
  /** The metrics name this many of them. */
  readonly maxPairs: number;
  /** The peers of the live nodes that were asked, by node id. */
  readonly peers: ReadonlyMap<number, NodePeers>;
  /** The established connections between live nodes with the longest round trips, ten at most, each pair of nodes once. */
  readonly slowest: readonly TimedConnection[];
}
