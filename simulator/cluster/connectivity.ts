import { internalError, jsonAnswer, textAnswer, type Reply } from '../http/answer.ts';
import type { Quirks } from '../quirks.ts';
import { fractionOf } from '../random.ts';
import { talkByDrpc } from '../releases.ts';
import { encodeJson } from '../wire/encoding.ts';
import {
  bytesField,
  entryField,
  type Field,
  integerField,
  messageField,
} from '../wire/protobuf.ts';
import type { ClusterNode } from '../world/nodes.ts';
import { canReach } from '../world/reachability.ts';
import { listedNodes } from '../world/state.ts';
import { errorInForm, protobufAnswer, sendsProtobuf } from './forms.ts';
import { goInteger } from './page.ts';
import { reach } from './ranges.ts';
import { callerOfCookie, isRefusal, type ClusterRequest, type ClusterServer } from './request.ts';

/** As jsonpb writes the enum. */
const STATUS = { unknown: 0, established: 1, establishing: 2, error: 3 } as const;

const STATUS_NAMES = Object.keys(STATUS).map((name) => name.toUpperCase());
/** A state of a newer release. */
const NEW_STATUS = 7;

/** A connection that was never made, as servers say it since the probes of peers (23.2). */
const NEVER_MADE = { status: STATUS.establishing, error: 'not yet heartbeated' } as const;

/** Refusals by the quirk `connectivity`. */
const REFUSALS = { forbidden: 403, missing: 404, unimplemented: 501 } as const;

/**
 * GET /_status/connectivity of the old mux, since 23.2: how each node sees its connections; with `node_id` that node alone.
 * No privilege is checked. One node that never responds keeps the whole list back: the call has no time limit.
 */
export async function describeConnections(
  server: ClusterServer,
  request: ClusterRequest,
): Promise<Reply> {
  const { connectivity } = server.quirks;
  if (connectivity !== 'works') {
    return textAnswer(REFUSALS[connectivity], 'connectivity is not available here');
  }
  const caller = callerOfCookie(server, request);
  if (isRefusal(caller)) return caller;
  const { state } = server.world;
  const chosen = request.query.get('node_id') ?? '';
  if (chosen === '') return describeAll(server, request);
  const id = chosen === 'local' ? request.node.id : goInteger(chosen);
  const node = id === undefined ? undefined : state.nodes.get(id);
  const failure = await reach(server, request.node, node);
  if (failure !== undefined || node === undefined) {
    return errorInForm(server, request, failure ?? internalError());
  }
  return answer(server, request, [[node.id, peersOf(server, node)]], []);
}

/** Asks every listed node that is not decommissioned (5); one that fails is in `errorsByNodeId`. */
async function describeAll(server: ClusterServer, request: ClusterRequest): Promise<Reply> {
  const nodes = listedNodes(server.world.state).filter(
    ({ liveness }) => liveness !== 'decommissioned',
  );
  const failures = await Promise.all(nodes.map((node) => reach(server, request.node, node)));
  if (failures.includes('silence')) return 'silence';
  const asked = nodes.filter((_node, index) => failures[index] === undefined);
  const failed = nodes.filter((_node, index) => failures[index] !== undefined);
  return answer(
    server,
    request,
    asked.map((node) => [node.id, peersOf(server, node)]),
    failed.map((node) => [node.id, `failed to connect to n${node.id} at ${dialFailure(node)}`]),
  );
}

function answer(
  server: ClusterServer,
  request: ClusterRequest,
  connections: readonly (readonly [id: number, peers: readonly ListedPeer[]])[],
  errors: readonly (readonly [id: number, text: string])[],
): Reply {
  const { quirks } = server;
  const isMessage = ['known', 'unknown', 'code'].includes(quirks.connectionForm);
  if (isMessage && sendsProtobuf(server, request)) {
    return protobufAnswer(200, [
      ...connections.map(([id, peers]) => nodeMessage(id, peers)),
      ...errors.map(([id, text]) => entryField(2, id, (number) => bytesField(number, text))),
    ]);
  }
  const nodes = connections.map(([id, peers]) => {
    const sent = peers.map((peer) => [peer[0], inJson(quirks, id, peer)] as const);
    return [id, { peers: Object.fromEntries(sent) }] as const;
  });
  const body = {
    connections: Object.fromEntries(nodes),
    errorsByNodeId: Object.fromEntries(errors),
  };
  return jsonAnswer(200, encodeJson(body));
}

/** The connections of a node to all others that it knows by gossip. */
function peersOf(server: ClusterServer, node: ClusterNode): readonly ListedPeer[] {
  const peers = listedNodes(server.world.state).filter(({ id }) => id !== node.id);
  const known = peers.flatMap((peer) => {
    const connection = connectionOf(server, node, peer);
    if (connection === undefined) return [];
    const { status, latencyMs = 0, error = '' } = connection;
    const latency = latencyMs === 0 ? '0s' : `${(latencyMs / 1000).toFixed(6)}s`;
    const locality = { tiers: peer.locality };
    const sent = { latency, status, address: addressOf(peer), locality, error };
    return [[peer.id, withState(server, node, peer, sent)] as const];
  });
  return [...known, ...foreignPeers(server, node)];
}

interface SentConnection {
  readonly latency: string;
  readonly status: number;
  readonly address?: string;
  readonly locality?: { readonly tiers: ClusterNode['locality'] };
  readonly error: string;
}

type ListedPeer = readonly [id: number, connection: SentConnection];

/** An entry of the map of nodes. */
function nodeMessage(id: number, peers: readonly ListedPeer[]): Field {
  const entries = peers.map(([peerId, sent]) =>
    entryField(1, peerId, (number) => peerMessage(number, sent)),
  );
  return entryField(1, id, (number) => messageField(number, entries));
}

/** The connection to a peer without zeros. */
function peerMessage(number: number, sent: SentConnection): Field {
  const { latency, status, address, locality, error } = sent;
  const nanos = Math.round(Number.parseFloat(latency) * 1e9);
  const tiers = locality?.tiers.map(({ key, value }) =>
    messageField(1, [bytesField(1, key), bytesField(2, value)]),
  );
  return messageField(number, [
    messageField(1, nanos === 0 ? [] : [integerField(2, nanos)]),
    ...(status === 0 ? [] : [integerField(2, status)]),
    ...(address === undefined ? [] : [bytesField(4, address)]),
    ...(tiers === undefined ? [] : [messageField(5, tiers)]),
    ...(error === '' ? [] : [bytesField(6, error)]),
  ]);
}

/** Whether the quirk `connectionForm` is that of this connection. */
function isFormOf({ connectionFormOf, connectionFormTo }: Quirks, id: number, peer: number) {
  return [0, id].includes(connectionFormOf) && [0, peer].includes(connectionFormTo);
}

/** A connection with the state that the quirk `connectionForm` gives it. */
function withState(
  { quirks }: ClusterServer,
  node: ClusterNode,
  peer: ClusterNode,
  sent: SentConnection,
): SentConnection {
  const form = isFormOf(quirks, node.id, peer.id) ? quirks.connectionForm : 'known';
  if (form === 'code') return { ...sent, status: NEW_STATUS };
  return form === 'unknown' ? { ...sent, status: STATUS.unknown, latency: '0s', error: '' } : sent;
}

/** A connection in a form of the quirk `connectionForm` that JSON alone can have. */
function inJson(quirks: Quirks, nodeId: number, [peerId, sent]: ListedPeer): object | number {
  switch (isFormOf(quirks, nodeId, peerId) ? quirks.connectionForm : 'known') {
    case 'name':
      return { ...sent, status: STATUS_NAMES[sent.status] };
    case 'error-object':
      return { ...sent, error: { code: 14, message: sent.error } };
    case 'scalar':
      return sent.status;
    default:
      return sent;
  }
}

/** Peers by ids that no node of the cluster has. */
function foreignPeers(
  { quirks: { foreignPeers: count, connectionFormOf } }: ClusterServer,
  { id }: ClusterNode,
): readonly ListedPeer[] {
  if (![0, id].includes(connectionFormOf)) return [];
  const connection = { latency: '0.000500s', status: STATUS.established, error: '' };
  return Array.from({ length: count }, (_, index) => [1_000_000 + index, connection] as const);
}

/** The connection of a node to a peer; undefined where the node does not list it. */
function connectionOf(
  { world: { state }, quirks }: ClusterServer,
  node: ClusterNode,
  peer: ClusterNode,
): { readonly status: number; readonly latencyMs?: number; readonly error?: string } | undefined {
  // Their health is looked up among connections of gRPC, where they have none.
  if (talkByDrpc(node, peer)) return NEVER_MADE;
  if (!canReach(state, node.id, peer.id)) {
    return { status: STATUS.error, error: dialFailure(peer) };
  }
  // Not all nodes talk to each other.
  if (quirks.idleConnections !== 'none' && (node.id + peer.id) % 4 === 0) {
    switch (quirks.idleConnections) {
      case 'missing':
        return undefined;
      case 'old-error':
        return { status: STATUS.error, error: 'no connection found' };
      case 'establishing':
        return NEVER_MADE;
      case 'unknown':
        return { status: STATUS.unknown };
    }
  }
  return { status: STATUS.established, latencyMs: latencyBetween(node, peer) };
}

function dialFailure(peer: ClusterNode): string {
  return `${addressOf(peer)}: initial connection heartbeat failed: grpc: connection error: desc = "transport: Error while dialing: dial tcp: i/o timeout" [code 14/Unavailable]`;
}

function addressOf({ host }: ClusterNode): string {
  return `${host}:26257`;
}

/** Round-trip time between two nodes: below 1 ms in a zone, 1 to 2 ms in a region, 30 to 120 ms between regions. */
function latencyBetween(a: ClusterNode, b: ClusterNode): number {
  const share = fractionOf('latency', Math.min(a.id, b.id), Math.max(a.id, b.id));
  const [sameRegion, sameZone] = ['region', 'zone'].map((key) => tierOf(a, key) === tierOf(b, key));
  if (sameRegion !== true) return 30 + 90 * share;
  return sameZone === true ? 0.3 + 0.6 * share : 1 + share;
}

function tierOf({ locality }: ClusterNode, wanted: string): string | undefined {
  return locality.find(({ key }) => key === wanted)?.value;
}
