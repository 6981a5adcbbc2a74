import { countsAsLive, isReachable } from '../../simulator/world/nodes.ts';
import { canReach } from '../../simulator/world/reachability.ts';
import { listedNodes, type WorldState } from '../../simulator/world/state.ts';
import type { Start } from './history.ts';

/** How nodes send and count their connections. */
export interface ConnectionForm {
  readonly sent: 'known' | 'unknown' | 'code' | 'name' | 'error-object' | 'scalar';
  readonly list: 'works' | 'missing';
  readonly counts: 'counted' | 'zero' | 'missing';
  /** Peers that are no nodes of the cluster. */
  readonly foreign: number;
}

export const PLAIN_FORM: ConnectionForm = {
  sent: 'known',
  list: 'works',
  counts: 'counted',
  foreign: 0,
};

/** The form in which the connections of node `of` to node `to` are sent; 0 stands for all. */
export interface SentConnections {
  readonly form: ConnectionForm;
  readonly of: number;
  readonly to: number;
}

/** Whether anybody can know that live nodes reach each other. */
export interface Readability {
  /**
   * `unreadable`: a live node lists no connection to a live peer that is established or failed, or one that cannot be read.
   * `missing`: the server has no list.
   */
  readonly list: 'readable' | 'unreadable' | 'missing';
  /** Nodes count their connections, which says something where there is no list. */
  readonly isCounted: boolean;
}

export function readabilityOf(
  state: WorldState,
  { form, of, to }: SentConnections,
  idle: Start['idleConnections'] = 'none',
): Readability {
  const isCounted = form.counts === 'counted';
  if (form.list === 'missing') return { list: 'missing', isCounted };
  const live = listedNodes(state).filter((node) => isReachable(node) && countsAsLive(node));
  const isSentSo = (id: number, peer: number): boolean =>
    form.sent !== 'known' && [0, id].includes(of) && [0, peer].includes(to);
  const hasAnswered = (id: number): boolean => {
    const peers = live.map((node) => node.id).filter((peer) => peer !== id);
    const listed = peers.filter((peer) => !isIdle(state, idle, id, peer));
    // A peer of unknown state alone says nothing, and forbids nothing: not all nodes talk to each other.
    const isUnknown = form.sent === 'unknown';
    if (isUnknown) return listed.some((peer) => !isSentSo(id, peer));
    const sent = idle === 'missing' ? listed : peers;
    return listed.length > 0 && !sent.some((peer) => isSentSo(id, peer));
  };
  const isReadable = live.length < 2 || live.every(({ id }) => hasAnswered(id));
  return { list: isReadable ? 'readable' : 'unreadable', isCounted };
}

/** As the simulator draws the connections that were never made. */
function isIdle(
  state: WorldState,
  idle: Start['idleConnections'],
  id: number,
  peer: number,
): boolean {
  return idle !== 'none' && (id + peer) % 4 === 0 && canReach(state, id, peer);
}
