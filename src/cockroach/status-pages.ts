import {
  array,
  boolean,
  type Infer,
  object,
  type ObjectShape,
  optional,
  record,
  type Shape,
  string,
} from '#json';
import type { PollStats } from './http/poll-stats.ts';
import { assertWithin } from './listings.ts';
import { isId } from './node.ts';
import type { MessageReader } from './protobuf/index.ts';
import {
  describedRange,
  type RangeDescriptor,
  readDescriptor,
  readDescriptorMessage,
} from './range-descriptor.ts';
import type { PageRequest } from './read-page.ts';

// The requests of the pages beside the API v2, which the DB Console uses: they are no stable interface of the server.

const DESCRIPTORS_MS = 20_000;

/** How the descriptors of ranges are read. */
export interface DescriptorsRequest {
  readonly nodeId: number;
  readonly rangeIds: readonly number[];
  /** To the headers, which a server sends after all of its work; default 20 s. */
  readonly headersMs?: number;
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
  readonly onDescriptor: (descriptor: RangeDescriptor) => void;
  /** The warnings of the responses are added here. */
  readonly warnings?: PollStats['warnings'];
}

/** The request of the descriptors that one node knows. */
export function descriptorsPage(request: DescriptorsRequest) {
  // The parameter is repeated: servers up to 25.x refuse a list.
  const query = request.rangeIds.map((id) => `range_ids=${id}`).join('&');
  return {
    endpoint: 'range_descriptors',
    path: `/_status/ranges/${request.nodeId}?${query}`,
    isBesideApi: true,
    // A node that is slow here says nothing of the others.
    blames: 'nobody',
    headersMs: request.headersMs ?? DESCRIPTORS_MS,
    firstUrl: request.firstUrl,
    list: 'ranges',
    element: describedRange,
    envelope: object({}),
    onElement(range) {
      const descriptor = readDescriptor(range);
      if (descriptor !== undefined) request.onDescriptor(descriptor);
    },
    messages: {
      list: 1,
      onMessage(reader, end) {
        const descriptor = readDescriptorMessage(reader, end);
        if (descriptor !== undefined) request.onDescriptor(descriptor);
      },
    },
  } satisfies PageRequest<typeof describedRange, ReturnType<typeof object>>;
}

/** How the connections between nodes are listed. */
export interface ConnectivityRequest<Peer> {
  /** Asks this node alone. */
  readonly nodeId?: number;
  /** To the headers: the server waits for every node, without a limit of its own. */
  readonly headersMs: number;
  /** Index of the URL to begin with. */
  readonly firstUrl: number;
  /** A connection of a node in JSON, and as a message, which is read up to its end. */
  readonly peer: Shape<Peer, unknown>;
  readonly peerMessage: (reader: MessageReader, end: number) => Peer;
  /** Called for each node that was asked, with its connections by the id of the peer: at most 10,000. */
  readonly onNode: (nodeId: number, peers: ReadonlyMap<string, Peer>) => void;
}

/**
 * The request of the list, or of one node's part. One silent node keeps the whole list back. The texts of the nodes that could
 * not be asked are not read.
 */
export function connectivityPage<Peer>(
  stats: PollStats,
  { nodeId, headersMs, firstUrl, peer, peerMessage, onNode }: ConnectivityRequest<Peer>,
) {
  const element = object({ peers: record(peer) });
  const takeNode = (id: number, peers: ReadonlyMap<string, Peer>): void => {
    if (!isId(id)) return;
    assertWithin(stats, 'connectivity', 'peers of one node', peers.size, 'nodes');
    onNode(id, peers);
  };
  /** Reads a Connectivity, which is the map of its peers. */
  const readPeers = (reader: MessageReader, end: number): ReadonlyMap<string, Peer> => {
    const peers = new Map<string, Peer>();
    for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
      if (field !== 1) reader.skip();
      else {
        const { key, value } = readEntry(reader, reader.item(), peerMessage);
        peers.set(String(key), value);
      }
    }
    return peers;
  };
  return {
    endpoint: 'connectivity',
    path: `/_status/connectivity${nodeId === undefined ? '' : `?node_id=${nodeId}`}`,
    isBesideApi: true,
    blames: 'nobody',
    headersMs,
    firstUrl,
    list: 'connections',
    isMap: true,
    element,
    envelope: object({}),
    onElement: ({ peers }, key) => takeNode(Number(key), peers),
    messages: {
      list: 1,
      onMessage(reader, end) {
        const { key, value: peers } = readEntry(reader, end, readPeers);
        takeNode(key, peers);
      },
    },
  } satisfies PageRequest<typeof element, ReturnType<typeof object>>;
}

/** Reads an entry of a map by numbers: the key is field 1, the value field 2. A value that is absent has no fields. */
function readEntry<Value>(
  reader: MessageReader,
  end: number,
  readValue: (reader: MessageReader, end: number) => Value,
): { readonly key: number; readonly value: Value } {
  let key = 0;
  let value: Value | undefined;
  for (let field = reader.next(end); field !== 0; field = reader.next(end)) {
    if (field === 1) key = reader.int32();
    else if (field === 2) value = readValue(reader, reader.message());
    else reader.skip();
  }
  return { key, value: value ?? readValue(reader, reader.position) };
}

/** Whether transactions are throttled for want of a license or of telemetry: times are Unix seconds as text. */
export const throttlingShape = object({
  throttled: optional(boolean()),
  hasGracePeriod: boolean(),
  gracePeriodEndSeconds: string(),
  hasTelemetryDeadline: boolean(),
  telemetryDeadlineSeconds: string(),
  nodeIdsWithTelemetryProblems: array(string()),
});

/** What a node says of throttling; `throttled` is undefined where it does not say. */
export type Throttling = Infer<typeof throttlingShape>;

/** How jobs are listed: of all users with the privilege VIEWJOB, else those of the user. */
export interface JobsRequest<S extends ObjectShape> {
  /** The newest ones. */
  readonly limit: number;
  /** Only jobs with exactly this status. */
  readonly status?: string;
  readonly shape: S;
  /** `dateMs` is the Date header of the response. */
  readonly onJob: (job: Infer<S>, dateMs: number | undefined) => void;
}

/** The request of the list, which is one response. */
export function jobsPage<S extends ObjectShape>({ limit, status, shape, onJob }: JobsRequest<S>) {
  let dateMs: number | undefined;
  return {
    endpoint: 'jobs',
    path: `/_admin/v1/jobs?limit=${limit}${status === undefined ? '' : `&status=${status}`}`,
    isBesideApi: true,
    blames: 'endpoint',
    list: 'jobs',
    element: shape,
    envelope: object({}),
    onHeaders: (response) => void ({ dateMs } = response),
    onElement: (job) => onJob(job, dateMs),
  } satisfies PageRequest<S, ReturnType<typeof object>>;
}
