import { largest, median } from '#base';
import { isId, type MessageReader } from '#cockroach';
import { type Infer, integer, object, optional, parsed, type TextParser } from '#json';
import type {
  FailedConnection,
  NetworkResult,
  NodePeers,
  PeerState,
  TimedConnection,
} from './network-result.ts';

/** The states, indexed by the number that servers send. */
const STATE_BY_CODE: readonly PeerState[] = ['unknown', 'established', 'establishing', 'error'];

/** Old servers call a connection that was never made an error, and only the text says so. */
const NEVER_MADE: readonly string[] = ['no connection found', 'not yet heartbeated'];

/** The longest text that is read; a wrapped error of a server has some hundred bytes. */
const MAX_ERROR_BYTES = 1_000;

/** A connection as a server sends it. Its text names addresses: where it is not shown, it is read as an empty one. */
export function peerShape(showsErrors: boolean) {
  const error = parsed(showsErrors ? readFailure : markFailure);
  return optional(object({ status: integer(), latency: parsed(parseSeconds), error }));
}

/** The same of a Peer (pkg/server/serverpb/status.proto), read up to its end. */
export function peerMessage(showsErrors: boolean) {
  const parseError = showsErrors ? readFailure : markFailure;
  return (reader: MessageReader, end: number): SentPeer => {
    let status = 0;
    let latency: number | undefined;
    let error: string | false = '';
    for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
      if (field === 1) latency = readSeconds(reader, reader.message());
      else if (field === 2) status = reader.int32();
      else if (field === 6) error = reader.bytes(parseError);
      else reader.skip();
    }
    return { status, latency, error };
  };
}

/** Reads a Duration; undefined for 0, which stands for none, and for one that is negative. */
function readSeconds(reader: MessageReader, end: number): number | undefined {
  let seconds = 0;
  let nanos = 0;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) seconds = reader.int64();
    else if (field === 2) nanos = reader.int32();
    else reader.skip();
  }
  const all = (seconds * 1e9 + nanos) / 1e9;
  return all > 0 ? all : undefined;
}

/** False where the text says that the connection was never made. */
const readFailure: TextParser<string | false> = (bytes, start, end) => {
  const text = readText(bytes, start, Math.min(end, start + MAX_ERROR_BYTES));
  return NEVER_MADE.includes(text) ? false : text;
};

const markFailure: typeof readFailure = (...place) =>
  readFailure(...place) === false ? false : '';

const readText: TextParser<string> = (bytes, start, end) =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();

/** Reads a duration as `0.000512s`; undefined for any other form, and for 0, which stands for none. */
const parseSeconds: TextParser<number | undefined> = (bytes, start, end) => {
  const [, digits] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(readText(bytes, start, end)) ?? [];
  return Number(digits) || undefined;
};

type SentPeer = Infer<ReturnType<typeof peerShape>>;

/** The ids of the nodes of the cluster by the poll's own list. */
interface ListedIds {
  readonly all: ReadonlySet<number>;
  readonly live: ReadonlySet<number>;
}

/** The connections of one live node. */
export interface NodeConnections {
  readonly peers: NodePeers;
  /** Whether at least one connection to a live peer is established or failed, and the exporter can read all of those. */
  readonly hasAnswered: boolean;
  /** The failed connections to live peers. */
  readonly failed: readonly FailedConnection[];
  /** The connections to live peers with the longest round trips. */
  readonly slowest: readonly TimedConnection[];
}

/** Counts the connections of a live node to the other members by their ids, as the server sends them. */
export function countConnections(
  nodeId: number,
  sent: ReadonlyMap<string, SentPeer>,
  { all, live }: ListedIds,
): NodeConnections {
  const counts = { established: 0, establishing: 0, error: 0, unknown: 0 };
  const times: number[] = [];
  const failed: FailedConnection[] = [];
  const timed: TimedConnection[] = [];
  let isKnown = false;
  let isReadable = true;
  for (const [key, peer] of sent) {
    const peerId = Number(key);
    // An id of another form may be the id of a live peer.
    isReadable &&= isId(peerId);
    if (peerId === nodeId || !all.has(peerId)) continue;
    const read = readPeer(peer);
    const { state, seconds } = read;
    counts[state] += 1;
    if (seconds !== undefined) times.push(seconds);
    if (!live.has(peerId)) continue;
    isKnown ||= state === 'established' || state === 'error';
    isReadable &&= read.isReadable;
    if (state === 'error') failed.push({ nodeId, peerId, error: read.error });
    if (seconds !== undefined) timed.push({ nodeId, peerId, seconds });
  }
  const peers = { ...counts, medianSeconds: median(times), maxSeconds: largest(times) };
  return { peers, hasAnswered: isKnown && isReadable, failed, slowest: findSlowest(timed) };
}

/**
 * A connection is readable when its state is one of the four numbers and its error is a text or absent. What cannot be read
 * is not known, except that a failed connection has failed whatever its error is.
 */
function readPeer({ status, latency, error }: Partial<SentPeer> = {}) {
  const sent = STATE_BY_CODE[status ?? -1];
  const state = sent === 'error' && error === false ? 'unknown' : (sent ?? 'unknown');
  return {
    state,
    isReadable: sent !== undefined && error !== undefined,
    seconds: state === 'established' ? latency : undefined,
    error: error || undefined,
  };
}

/**
 * Puts together what the live nodes that were asked said. Two of them that say nothing of each other are no doubt: nodes connect
 * when they have something to send, so in a calm cluster of three regions whose tables stay in theirs, most pairs of two regions
 * are `not yet heartbeated`. Servers say the same of a connection of DRPC, so the two cannot be told apart.
 */
export function mergeConnections(
  asked: ReadonlyMap<number, NodeConnections>,
  live: ReadonlySet<number>,
): Omit<NetworkResult, 'maxPairs'> {
  const nodes = [...asked].toSorted(([a], [b]) => a - b);
  // A node without live peers has nothing to say of them.
  const hasAnswered = (id: number): boolean =>
    asked.get(id)?.hasAnswered === true || (asked.has(id) && live.size === 1);
  const unaskedNodes = [...live].filter((id) => !hasAnswered(id)).toSorted((a, b) => a - b);
  return {
    checked: live.size > 0 && unaskedNodes.length === 0,
    unaskedNodes,
    unreachable: nodes.flatMap(([, { failed }]) => failed.toSorted((a, b) => a.peerId - b.peerId)),
    peers: new Map(nodes.map(([id, { peers }]) => [id, peers])),
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
