import { type Infer, integer, object, parsed, type TextParser } from '../../json/index.ts';
import { median } from '../../numbers.ts';
import type {
  FailedConnection,
  NetworkResult,
  NodePeers,
  PeerState,
  TimedConnection,
} from './network-result.ts';

/** The states, indexed by the number that servers send. */
const STATE_BY_CODE: readonly PeerState[] = ['unknown', 'established', 'establishing', 'error'];

/** Old servers call a connection that was never made an error, and only the text tells. */
const NEVER_MADE: readonly string[] = ['no connection found', 'not yet heartbeated'];

/** The longest text that is read; a wrapped error of a server has some hundred bytes. */
const MAX_ERROR_BYTES = 1_000;

/** A connection as a server sends it. Its text names addresses: where it is not shown, it is read as an empty one. */
export function peerShape(showsErrors: boolean) {
  const error = parsed(showsErrors ? readFailure : markFailure);
  return object({ status: integer(), latency: parsed(parseSeconds), error });
}

/** Undefined where the text is not that of a failure. */
const readFailure: TextParser<string | undefined> = (bytes, start, end) => {
  const text = readText(bytes, start, Math.min(end, start + MAX_ERROR_BYTES));
  return NEVER_MADE.includes(text) ? undefined : text;
};

const markFailure: typeof readFailure = (...place) =>
  readFailure(...place) === undefined ? undefined : '';

const readText: TextParser<string> = (bytes, start, end) =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();

/** Reads a duration as `0.000512s`; undefined for any other form, and for 0, which stands for none. */
const parseSeconds: TextParser<number | undefined> = (bytes, start, end) => {
  const [, digits] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(readText(bytes, start, end)) ?? [];
  return Number(digits) || undefined;
};

type SentPeer = Infer<ReturnType<typeof peerShape>>;

/** The connections of one node. */
export interface NodeConnections {
  readonly peers: NodePeers;
  /** Whether it says something of a live peer, if only that the state is not known. */
  readonly namesLivePeer: boolean;
  /** Those to live peers that have failed; none of a node that is not live. */
  readonly failed: readonly FailedConnection[];
  /** Those to live peers with the longest round trips. */
  readonly slowest: readonly TimedConnection[];
}

/** Counts the connections of a node to its peers by their ids, as the server sends them. */
export function countConnections(
  nodeId: number,
  sent: ReadonlyMap<number, SentPeer>,
  live: ReadonlySet<number>,
): NodeConnections {
  const all = Array.from(sent, ([peerId, peer]) => ({ nodeId, peerId, ...readPeer(peer) }));
  const count = (wanted: PeerState) => all.filter(({ state }) => state === wanted).length;
  const seconds = all.flatMap((peer) => peer.seconds ?? []).toSorted((a, b) => a - b);
  const betweenLive = live.has(nodeId) ? all.filter(({ peerId }) => live.has(peerId)) : [];
  const failed = betweenLive.filter(({ state }) => state === 'error');
  const timed = betweenLive.flatMap(({ peerId, seconds: time }) =>
    time === undefined ? [] : [{ nodeId, peerId, seconds: time }],
  );
  return {
    peers: {
      established: count('established'),
      establishing: count('establishing'),
      error: count('error'),
      unknown: count('unknown'),
      medianSeconds: median(seconds),
      maxSeconds: seconds.at(-1),
    },
    namesLivePeer: betweenLive.some(({ peerId }) => peerId !== nodeId),
    failed: failed.map(({ peerId, error }) => ({ nodeId, peerId, error: error || undefined })),
    slowest: findSlowest(timed),
  };
}

function readPeer({ status = 0, latency, error }: SentPeer) {
  const sent = STATE_BY_CODE[status] ?? 'unknown';
  const state = sent === 'error' && error === undefined ? 'unknown' : sent;
  return { state, seconds: state === 'established' ? latency : undefined, error };
}

/** Puts together what the nodes that were asked said. */
export function mergeConnections(
  asked: ReadonlyMap<number, NodeConnections>,
  live: ReadonlySet<number>,
): Omit<NetworkResult, 'maxPairs'> {
  const nodes = [...asked].toSorted(([a], [b]) => a - b);
  // Nothing is said by an empty list either, as of a node that has just started, unless there is no peer to speak of.
  const hasAnswered = (id: number): boolean =>
    asked.get(id)?.namesLivePeer === true || (asked.has(id) && live.size === 1);
  const unaskedNodes = [...live].filter((id) => !hasAnswered(id)).toSorted((a, b) => a - b);
  return {
    checked: unaskedNodes.length === 0,
    unaskedNodes,
    unreachable: nodes.flatMap(([, { failed }]) => failed.toSorted((a, b) => a.peerId - b.peerId)),
    peers: new Map(nodes.flatMap(([id, { peers }]) => (live.has(id) ? [[id, peers]] : []))),
    slowest: findSlowest(nodes.flatMap(([, { slowest }]) => slowest)),
  };
}

const MAX_SLOWEST = 10;

/** Both nodes of a pair measure the round trip: the longer time counts. */
function findSlowest(connections: readonly TimedConnection[]): readonly TimedConnection[] {
  const longest = connections.toSorted((a, b) => b.seconds - a.seconds);
  const byPair = new Map<string, TimedConnection>();
  for (const connection of longest) {
    const pair = [connection.nodeId, connection.peerId].toSorted((a, b) => a - b).join(' ');
    if (!byPair.has(pair)) byPair.set(pair, connection);
    if (byPair.size === MAX_SLOWEST) break;
  }
  return [...byPair.values()];
}
