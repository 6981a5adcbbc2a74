import { formatCount, formatCounted, formatNodes, plural, smallest } from '#base';
import { livenessOf, REACHABLE } from '#cockroach';
import type { Connection, ListedNode, NetworkResult } from '#collectors';
import type { ReachabilityStatus } from './status.ts';

/** The result of the collector `network`; `unread` while there is none that is young enough, undefined where it does not run. */
export type Connections = NetworkResult | 'unread' | undefined;

/**
 * Whether all live nodes reach each other. `unreachable`: two of them do not. `unknown`: nobody can tell, for this reason.
 * `unchecked`: nobody tells, as the server sends neither connections, for the reason in `remedy`, nor their number.
 */
export type Reachability =
  | { readonly answer: 'reached' }
  | { readonly answer: 'unchecked'; readonly remedy: string }
  | { readonly answer: 'unknown'; readonly reason: string }
  | {
      readonly answer: 'unreachable';
      readonly reason: string;
      /** The nodes that others do not reach; all of them where that may be the fault of either side. */
      readonly nodeIds: readonly number[];
    };

/**
 * Finds out whether live nodes reach each other: by the collector `network` where it has data to get, else by the unhealthy
 * connections that nodes count. `nodes` is undefined while there is no current list. The alert CrdbPartitionSuspected has the same conditions.
 */
export function findUnreachable(
  connections: Connections,
  nodes: readonly ListedNode[] | undefined,
): Reachability {
  const found = findAmongLive(connections, nodes);
  const unclear = nodes?.filter(isUnclear) ?? [];
  if ('reason' in found || unclear.length === 0) return found;
  const are = `${formatNodes(unclear.map(({ id }) => id))} ${plural(unclear.length, 'is', 'are')}`;
  return { answer: 'unknown', reason: `it is not known whether ${are} live` };
}

/**
 * Whether live nodes reach each other, by the counts in the records that they wrote between two lists. Example: a pair was cut
 * 1 s before the first list, and both nodes had written 5 s before it: only their next records count the failed connection.
 */
export function findUnreachableSince(
  before: readonly ListedNode[],
  after: readonly ListedNode[],
): Reachability {
  const written = new Map(before.map(({ id, updatedSeconds }) => [id, updatedSeconds]));
  // A URL that repeats old responses may send records that are even older.
  const old = after.filter(
    (node) => livenessOf(node) === 'live' && node.updatedSeconds <= (written.get(node.id) ?? 0),
  );
  if (old.length === 0) return findUnreachable(undefined, after);
  const wrote = `${formatNodes(old.map(({ id }) => id))} ${plural(old.length, 'has', 'have')} written no record meanwhile`;
  return { answer: 'unknown', reason: `${wrote}, which would count connections that fail` };
}

/** The worst first. */
const ANSWERS = ['unreachable', 'unknown', 'unchecked', 'reached'] as const;

/** The worst of what several URLs say: one of them may repeat old responses, or a proxy before it hide the list. */
export function leastFavourable(found: readonly Reachability[]): Reachability {
  const worst = ANSWERS.flatMap((answer) => found.filter((each) => each.answer === answer));
  return worst[0] ?? { answer: 'unchecked', remedy: CHECK_DRPC };
}

/** Whether a node may be live or draining: its liveness has a code or a form that the exporter does not know, or there is none. */
function isUnclear(node: ListedNode): boolean {
  const status = livenessOf(node);
  return status === 'other' || (status === 'unknown' && node.isFresh);
}

function findAmongLive(
  result: Connections,
  nodes: readonly ListedNode[] | undefined,
): Reachability {
  if (result === undefined) return compareCounts(nodes ?? [], 'enable the collector network');
  const none = 'there is no current list of the connections between nodes';
  if (result === 'unread') return { answer: 'unknown', reason: none };
  if (result.checked === undefined) return compareCounts(nodes ?? [], result.noData ?? CHECK_DRPC);
  if (result.unreachable.length > 0) return describeFailed(result);
  const unheard = findUnheard(result, nodes);
  if (unheard.length > 0) return { answer: 'unknown', reason: describeUnheard(unheard, result) };
  if (result.unreadable !== undefined) {
    return { answer: 'unknown', reason: describeUnreadable(result.unreadable) };
  }
  return result.checked
    ? { answer: 'reached' }
    : { answer: 'unknown', reason: 'no node is live by the list of nodes' };
}

/** Whether the server lists connections, which nodes may only count. */
export function isList(connections: Connections): connections is NetworkResult {
  return typeof connections === 'object' && connections.checked !== undefined;
}

/** Nodes that did not answer, before those whose responses say nothing. */
export function describeUnheard(ids: readonly number[], { peers }: NetworkResult): string {
  const { silent = [], vague = [] } = Object.groupBy(ids, (id) =>
    peers.has(id) ? 'vague' : 'silent',
  );
  const reach = plural(silent.length, 'it reaches', 'they reach');
  const list = plural(vague.length, 'lists', 'list');
  return [
    ...(silent.length === 0 ? [] : [`${formatNodes(silent)} did not tell which nodes ${reach}`]),
    ...(vague.length === 0
      ? []
      : [`${formatNodes(vague)} ${list} no connections that can be read: ${CHECK_DRPC}`]),
  ].join(', and ');
}

/** This many listed nodes could not be read: of them nothing is known. */
export function describeUnreadable(count: number): string {
  return `${formatCounted(count, 'listed node')} could not be read`;
}

/** What to do where healthy nodes say nothing of their connections. */
const CHECK_DRPC =
  'check whether the servers use DRPC, whose connections some releases neither list nor count';

/** Nodes that are up and have not told whom they reach, ascending: also those that were down when the others were asked. */
function findUnheard(
  { unaskedNodes, peers }: NetworkResult,
  nodes: readonly ListedNode[] = [],
): readonly number[] {
  const isUnheard = ({ id, livenessCode }: ListedNode): boolean =>
    REACHABLE.has(livenessOf({ livenessCode })) && !peers.has(id);
  const returned = nodes.filter(isUnheard).map(({ id }) => id);
  return [...new Set([...unaskedNodes, ...returned])].toSorted((a, b) => a - b);
}

/** The last result as page and JSON show it; undefined while neither connections nor nodes are known. */
export function readReachability(
  connections: Connections,
  nodes: readonly ListedNode[] | undefined,
): ReachabilityStatus | undefined {
  if (connections === undefined && nodes === undefined) return undefined;
  const reachability = findUnreachable(connections, nodes);
  const { answer } = reachability;
  const found = 'reason' in reachability ? { answer, reason: reachability.reason } : { answer };
  if (!isList(connections)) return found;
  const { unreachable, maxPairs, unaskedNodes, slowest } = connections;
  const pairs = unreachable.slice(0, maxPairs);
  return {
    ...found,
    failed: pairs.map(({ nodeId, peerId }) => ({ nodeId, peerId })),
    failedCount: unreachable.length,
    unaskedNodes,
    slowest: slowest[0],
  };
}

/** Compares the share of unhealthy connections of each live node with the nodes that are not live. */
function compareCounts(nodes: readonly ListedNode[], remedy: string): Reachability {
  const { apart, doubtful, up, counted, uncounted } = findApart(nodes);
  if (apart.length > 0) {
    const verb = plural(apart.length, 'does', 'do');
    const reason = `${formatNodes(apart)} ${verb} not reach all nodes that are up`;
    return { answer: 'unreachable', reason, nodeIds: apart };
  }
  if (doubtful.length > 0) {
    const count = plural(doubtful.length, 'counts', 'count');
    const reason = `${formatNodes(doubtful)} ${count} more connections that fail than nodes that are down explain`;
    return { answer: 'unknown', reason };
  }
  const isCounted = up > 0 && uncounted.length === 0;
  if (up === 1 || isCounted) return { answer: 'reached' };
  if (counted === 0) return { answer: 'unchecked', remedy };
  const count = plural(uncounted.length, 'counts', 'count');
  const reason = `${formatNodes(uncounted)} ${count} no connections: ${CHECK_DRPC}`;
  return { answer: 'unknown', reason };
}

/**
 * `apart`: live nodes with more unhealthy connections than the nodes that are not live explain. Example: of 3 nodes 1 is not live.
 * That explains less than 2 of 3 failing connections of a live node.
 * `doubtful`: those with more than the nodes that are down explain, or than another live node has, which does not reach these nodes
 * either. Example: of 9 nodes 1 is down. That explains that the others count 1 unhealthy and 16 healthy connections, but not that two of
 * them count 3 and 14.
 * `uncounted`: those that count none. Where both counts are 0, connections are not counted.
 */
function findApart(nodes: readonly ListedNode[]) {
  const live = nodes.filter((node) => livenessOf(node) === 'live');
  const up = nodes.filter((node) => REACHABLE.has(livenessOf(node))).length;
  const unexplained = (nodes.length - live.length + 1) / nodes.length;
  const explained = (nodes.length - up) / Math.max(up - 1, ALONE);
  const counts = live.flatMap(({ id, isFresh, metrics }) => {
    const unhealthy = metrics.get('rpc.connection.unhealthy');
    const healthy = metrics.get('rpc.connection.healthy');
    if (!isFresh || unhealthy === undefined || healthy === undefined) return [];
    return unhealthy + healthy > 0 ? [{ id, unhealthy, healthy }] : [];
  });
  const least = smallest(counts.map(({ unhealthy }) => unhealthy)) ?? 0;
  const apart = counts.filter(
    ({ unhealthy, healthy }) => unhealthy / (unhealthy + healthy) >= unexplained,
  );
  const doubtful = counts.filter(
    ({ unhealthy, healthy }) => unhealthy > least || unhealthy / healthy > explained,
  );
  const counting = new Set(idsOf(counts));
  const uncounted = live.map(({ id }) => id).filter((id) => !counting.has(id));
  return { apart: idsOf(apart), doubtful: idsOf(doubtful), up, counted: counting.size, uncounted };
}

/** In place of 0 peers that are up: whoever is alone has no other to reach. */
const ALONE = 0.1;

function idsOf(nodes: readonly Pick<ListedNode, 'id'>[]): readonly number[] {
  return nodes.map(({ id }) => id);
}

/**
 * Names the nodes at fault as far as that is known. Example: node 3 of 5 has crashed and its liveness has not expired. It could
 * not be asked, and the other 4 do not reach it: it is named alone, before the pairs that fail without it.
 */
function describeFailed({ unreachable, unaskedNodes, peers }: NetworkResult): Reachability {
  const counts = new Map<number, number>();
  for (const { peerId } of unreachable) counts.set(peerId, (counts.get(peerId) ?? 0) + 1);
  const silent = new Set(
    unaskedNodes.filter((id) => (counts.get(id) ?? 0) >= Math.max(1, peers.size)),
  );
  const others = unreachable.filter(({ peerId }) => !silent.has(peerId));
  const silence = plural(silent.size, 'does not answer its peers', 'do not answer their peers');
  const reasons = [
    ...(silent.size === 0 ? [] : [`${formatNodes([...silent])} ${silence}`]),
    ...(others.length === 0 ? [] : [describeUnreachable(others)]),
  ];
  const nodeIds = [...new Set([...silent, ...findEnds(others)])].toSorted((a, b) => a - b);
  return { answer: 'unreachable', reason: reasons.join(', and '), nodeIds };
}

/** The nodes that do not reach each other; the one that is in all of several pairs alone. */
function findEnds(failed: readonly Connection[]): readonly number[] {
  const pairs = new Map(failed.map((connection) => [keyOf(connection), connection]));
  const [first, ...others] = pairs.values();
  if (first === undefined) return [];
  const isInAll = (id: number): boolean =>
    others.every(({ nodeId, peerId }) => nodeId === id || peerId === id);
  const common = [first.nodeId, first.peerId].filter(isInAll);
  if (common.length === 1) return common;
  return failed.flatMap(({ nodeId, peerId }) => [nodeId, peerId]);
}

/** Pairs that a sentence names; the others are counted. */
const MAX_PAIRS = 3;

/** `nodes 1 and 2 do not reach each other`; `node 1 does not reach node 2` where the other direction is not known to fail. */
function describeUnreachable(failed: readonly Connection[]): string {
  const [first] = failed;
  if (first === undefined) return 'all live nodes reach each other';
  const { nodeId, peerId } = first;
  const keys = new Set(failed.map(keyOf));
  if (failed.length === 1) return `node ${nodeId} does not reach node ${peerId}`;
  if (keys.size === 1) return `nodes ${keyOf(first)} do not reach each other`;
  const shown = [...keys].slice(0, MAX_PAIRS);
  const more = keys.size - shown.length;
  const others =
    more === 0
      ? ''
      : `, nor ${plural(more, 'does 1 other pair', `do ${formatCount(more)} other pairs`)}`;
  return `nodes ${shown.join(', ')} do not reach each other${others}`;
}

/** A pair of nodes without a direction: `1 and 2`. */
function keyOf({ nodeId, peerId }: Connection): string {
  return `${Math.min(nodeId, peerId)} and ${Math.max(nodeId, peerId)}`;
}
