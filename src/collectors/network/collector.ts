import type { OptionSpecs, OptionValues } from '#base';
import { type ClusterApi, failureOf, listNodes, type RequestError } from '#cockroach';
import { gauge } from '#metrics';
import { type CollectorPoll, defineCollector, mostFrequent } from '../collector.ts';
import { type NetworkResult, PEER_STATES } from './network-result.ts';
import {
  countConnections,
  mergeConnections,
  type NodeConnections,
  peerMessage,
  peerShape,
} from './peers.ts';

const OPTIONS = {
  max_pairs: {
    kind: 'integer',
    default: 50,
    min: 0,
    max: 1000,
    help: 'Failed connections with their own series; all are counted.',
  },
  max_nodes: {
    kind: 'integer',
    default: 200,
    min: 1,
    max: 1000,
    help: 'Largest cluster whose connections are read: the response has an entry for each pair of nodes.',
  },
} as const satisfies OptionSpecs;

/** Number of polls: each begins at another URL, as one of them may repeat old responses. */
interface State {
  polls: number;
}

type Context = CollectorPoll<OptionValues<typeof OPTIONS>, State>;

const families = {
  peers: gauge({
    name: 'crdb_node_peers',
    help: "Other nodes by the state of the node's connection to them.",
    labels: ['node_id', 'state'],
    field: 'connections.peers.status',
    notes:
      'establishing, and unknown: also connections that were never made, as not all nodes talk to each other, and those of DRPC in releases that do not list them.',
  }),
  latencyMedian: gauge({
    name: 'crdb_node_peer_latency_median_seconds',
    help: 'Median of the round-trip times of the node to its established peers in seconds.',
    labels: ['node_id'],
    field: 'connections.peers.latency',
  }),
  latencyMax: gauge({
    name: 'crdb_node_peer_latency_max_seconds',
    help: 'Longest round-trip time of the node to an established peer in seconds.',
    labels: ['node_id'],
    field: 'connections.peers.latency',
  }),
  unreachable: gauge({
    name: 'crdb_node_unreachable_peer_info',
    help: 'A failed connection of the node to a peer while both are live. Always 1.',
    labels: ['node_id', 'peer_node_id'],
    field: 'connections.peers.status',
    notes: 'For the first max_pairs connections, by node and peer.',
    list: { name: 'unreachable peers', entry: ['node_id', 'peer_node_id'] },
  }),
  unreachablePairs: gauge({
    name: 'crdb_network_unreachable_pairs',
    help: 'Failed connections between live nodes.',
    field: 'connections.peers.status',
    notes: 'Each direction counts: two nodes that do not reach each other are 2.',
  }),
  checked: gauge({
    name: 'crdb_network_checked',
    help: 'Whether in the last poll every live node said whom it reaches.',
    unit: '0 or 1',
    notes:
      'A node has said so when one connection to a live peer is established or failed, and all to live peers can be read: some releases list none of DRPC. 0 also before the first poll has ended, and while polls fail. Absent where there is no data to get: the server does not offer it, or the cluster has more than max_nodes nodes.',
  }),
};

/** GET /_status/connectivity: which nodes reach each other, and how fast. */
export const network = defineCollector({
  name: 'network',
  api: 'cluster',
  help: 'Connections between the nodes: who does not reach whom, and round-trip times.',
  privilege: 'GRANT SYSTEM VIEWCLUSTERMETADATA',
  load: {
    requests:
      '`/nodes/`, then `/_status/connectivity`; after 10 s without a response once for each node that is up, `?node_id=N`',
    cost: 'The responding node asks every node how it sees its connections, from memory: about 95 bytes for each pair of nodes, 8 kB for 9 nodes and 3.7 MB for 200, the most that `max_nodes` allows; as JSON four times as much.',
  },
  request: 'GET /_status/connectivity',
  intervalSeconds: 60,
  timeoutSeconds: 15,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: Object.values(families),
  options: OPTIONS,
  scope: 'cluster',
  inProbe: true,
  createState: (): State => ({ polls: 0 }),

  collect: (api, context): Promise<NetworkResult> => readConnections(api, context),

  samples({ peers, unreachable, maxPairs, noData }, set) {
    if (noData !== undefined) return;
    for (const [id, node] of peers) {
      const labels = { node_id: String(id) };
      for (const state of PEER_STATES) set.set(families.peers, { ...labels, state }, node[state]);
      set.set(families.latencyMedian, labels, node.medianSeconds);
      set.set(families.latencyMax, labels, node.maxSeconds);
    }
    for (const { nodeId, peerId } of unreachable.slice(0, maxPairs)) {
      const labels = { node_id: String(nodeId), peer_node_id: String(peerId) };
      set.info(families.unreachable, labels);
    }
    set.set(families.unreachablePairs, {}, unreachable.length);
  },

  lastingSamples(result, set) {
    const isAbsent = result !== undefined && result.checked === undefined;
    set.set(families.checked, {}, isAbsent ? undefined : Number(result?.checked ?? false));
  },
});

/** The whole list may take this long, and at most this share of the poll: the rest is for nodes that are asked alone. */
const WHOLE_MS = 10_000;
const WHOLE_SHARE = 2 / 3;
/** One node may take this long. */
const NODE_MS = 5_000;
/** The poll ends this much before its timeout. */
const RESERVE_MS = 250;
/** Nodes that are asked at the same time: fewer than a cluster gets requests, as some may be silent. */
const CONCURRENCY = 3;

/**
 * Reads the connections of all live nodes: by one request, and if that gets no response, node by node. `showsErrors` reads the
 * texts of the servers. Rejects when no node could be asked.
 */
export async function readConnections(
  api: ClusterApi,
  context: Context,
  { showsErrors = false } = {},
): Promise<NetworkResult> {
  const { max_nodes, max_pairs } = context.options;
  const firstUrl = (context.firstUrl + context.state.polls) % context.urls;
  context.state.polls += 1;
  const { toScan, toSkip, unreadable } = await listNodes(api, context, { firstUrl });
  const live = new Set(toScan);
  const all = new Set([...toScan, ...toSkip]);
  if (all.size > max_nodes) {
    return withoutData(`the cluster has ${all.size} nodes, more than max_nodes (${max_nodes})`);
  }
  const asked = new Map<number, NodeConnections>();
  const forms = { peer: peerShape(showsErrors), peerMessage: peerMessage(showsErrors) };
  const read = (headersMs: number, one: { readonly nodeId?: number } = {}) =>
    api.connectivity(context, {
      ...one,
      headersMs,
      firstUrl,
      ...forms,
      onNode(nodeId, peers) {
        if (!live.has(nodeId)) return;
        asked.set(nodeId, countConnections(nodeId, peers, { all, live }));
      },
    });
  try {
    await read(Math.min(WHOLE_MS, WHOLE_SHARE * context.leftMs()));
  } catch (error) {
    const failure = failureOf(error);
    if (failure.isNotOffered) {
      const refused = `the server does not offer /_status/connectivity (HTTP ${failure.status})`;
      return withoutData(`${refused}: it exists from version 23.2 on, and a proxy must pass it on`);
    }
    if (!failure.isSilence || context.signal.aborted) throw error;
    const failures = await askEach(toScan, context, (waitMs, nodeId) => read(waitMs, { nodeId }));
    if (asked.size === 0) throw mostFrequent(failures) ?? failure;
  }
  const merged = { ...mergeConnections(asked, live), maxPairs: max_pairs };
  return unreadable === 0 ? merged : { ...merged, unreadable, checked: false };
}

function withoutData(noData: string): NetworkResult {
  const none = { unaskedNodes: [], unreachable: [], maxPairs: 0, peers: new Map(), slowest: [] };
  return { ...none, noData, checked: undefined };
}

/** Asks each node alone, as long as the poll may take. Resolves to the failures. */
async function askEach(
  nodeIds: readonly number[],
  context: Context,
  ask: (waitMs: number, nodeId: number) => Promise<void>,
): Promise<readonly RequestError[]> {
  const failures: RequestError[] = [];
  const left = nodeIds.values();
  const askOneByOne = async (): Promise<void> => {
    for (const nodeId of left) {
      const waitMs = Math.min(NODE_MS, context.leftMs() - RESERVE_MS);
      if (waitMs <= 0) return;
      await ask(waitMs, nodeId).catch((error: unknown) => failures.push(failureOf(error)));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, askOneByOne));
  return failures;
}
