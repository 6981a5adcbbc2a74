import type { Clock } from '../../../src/base/clock.ts';
import { inSlices } from '../../../src/base/time-slice.ts';
import type { ApiRequest } from '../../../src/cockroach/api-login.ts';
import { ClusterApi } from '../../../src/cockroach/cluster-api.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import {
  type PollStats,
  createPollStats,
  warningText,
} from '../../../src/cockroach/http/poll-stats.ts';
import { collectorPoll, type CollectorPoll } from '../../../src/collectors/collector.ts';
import { ranges } from '../../../src/collectors/ranges/collector.ts';
import type { RangeMap } from '../../../src/collectors/ranges/range-map.ts';
import type { ClusterScan, ScannedNode } from '../../../src/collectors/ranges/scan-result.ts';
import { SampleSet } from '../../../src/metrics/sample-set.ts';
import { renderFamilies } from '../../../src/metrics/snapshot.ts';

/** What a node answers: its elements, one list a page, or what the request fails with. */
type Answer = readonly unknown[] | Error;

export interface FakeNode {
  readonly nodeId: unknown;
  readonly status?: unknown;
  /** `region=us-east1,zone=b`. */
  readonly locality?: string;
  readonly ranges?: Answer;
  /** Pages in place of `ranges`; beside `ranges`, for requests with a limit. */
  readonly pages?: readonly Answer[];
  /** What a proxied request gets, when it is not the same. */
  readonly proxied?: Answer;
  /** What requests for single replicas get, when it is not the same. */
  readonly again?: Answer;
}

interface Asked {
  readonly nodeId: string;
  readonly route: 'gateway' | 'proxy' | 'local';
  readonly firstUrl: number | undefined;
  /** `none` of a request for the whole list. */
  readonly offset: string;
}

/** Memory of the columns of a table, and of its keys while a scan runs. */
export function bytesOf({ columns, keys }: RangeMap): number {
  const all = [...Object.values(columns), keys];
  return all.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** The descriptor of a range as a node answers it. */
interface FakeDescriptor {
  /** Types by node: `{ 1: 0, 2: 0, 3: 5 }` has voters on 1 and 2 and a non-voter on 3. */
  readonly types: Readonly<Record<number, unknown>>;
  /** Stores by node; default: not sent. */
  readonly stores?: Readonly<Record<number, number>>;
  readonly generation?: number;
  readonly isLeaseholder?: boolean;
  readonly leaseValid?: boolean;
}

/** A node whose pages were read and held nothing. */
export function scannedNode(nodeId: number): ScannedNode {
  return {
    nodeId,
    stores: new Map(),
    isDetailed: false,
    withoutProblems: 0,
    knowsLeaseKinds: true,
    byQueries: [],
    maxQueries: undefined,
    maxCpuNanos: undefined,
  };
}

export interface FakeCluster {
  readonly api: ClusterApi;
  nodes: readonly FakeNode[];
  /** Questions for ranges so far, oldest first. */
  asked: Asked[];
  /** Elements that were counted as wrong. */
  decodeErrors: number;
  /** Questions for descriptors so far. */
  askedDescriptors: {
    readonly nodeId: number;
    readonly rangeIds: readonly number[];
    readonly firstUrl: number | undefined;
  }[];
  /** The descriptor that a node sends of a range, undefined for none; throws what the request fails with. */
  describe: (rangeId: number, nodeId: number) => FakeDescriptor | undefined;
  /** Questions for single replicas so far, as `node: range range`. */
  askedAgain: string[];
  /** The URLs, by index, that list all ranges where single ones are asked for. */
  ignoring: Set<number>;
  /** Awaited before each answer; a test that cuts a scan waits here for the deadline. */
  hold: (asked: Asked, reading: PollStats) => Promise<void>;
  /** What requests for the list of nodes fail with. */
  nodesFailure: Error | undefined;
}

const LIVE = 3;
const AT_ONCE = { sentMs: 0, arrivedMs: 0, dateMs: undefined };

/** The cluster API over documents in memory: real paths, paging and decoding. The first node is the URL's own. */
export function fakeCluster(nodes: readonly FakeNode[]): FakeCluster {
  const cluster: FakeCluster = {
    nodes,
    asked: [],
    decodeErrors: 0,
    askedDescriptors: [],
    describe: (rangeId, nodeId) => ({
      types: Object.fromEntries(holdersOf(cluster, rangeId).map((id) => [id, 0])),
      isLeaseholder: holdersOf(cluster, rangeId)[0] === nodeId,
    }),
    askedAgain: [],
    ignoring: new Set(),
    hold: async () => undefined,
    nodesFailure: undefined,
    api: new ClusterApi({ send }, (_endpoint, count) => {
      cluster.decodeErrors += count;
    }),
  };

  async function send<T>(request: ApiRequest<T>): Promise<T> {
    const { path, stats, firstUrl, onChunks, onEnd } = request;
    const url = new URL(`http://fake${path}`);
    const urlIndex = request.onlyUrl ?? firstUrl ?? 0;
    const response = { status: 200, url: `fake-${urlIndex}`, urlIndex, ...AT_ONCE };
    const body = await bodyOf(url, stats, firstUrl, urlIndex);
    request.onHeaders?.(response);
    onChunks([Buffer.from(JSON.stringify(body))]);
    return onEnd(response);
  }

  function bodyOf(
    url: URL,
    stats: PollStats,
    firstUrl: number | undefined,
    urlIndex: number,
  ): unknown {
    if (url.pathname === '/nodes/') {
      if (cluster.nodesFailure !== undefined) throw cluster.nodesFailure;
      return listing(cluster);
    }
    if (url.searchParams.has('ranges')) return listedAgain(url, urlIndex);
    if (!url.pathname.startsWith('/_status/ranges/')) return listed(url, stats, firstUrl);
    const rangeIds = url.searchParams.getAll('range_ids').map(Number);
    const nodeId = Number(url.pathname.split('/')[3]);
    cluster.askedDescriptors.push({ nodeId, rangeIds, firstUrl });
    const elements = rangeIds.flatMap((id) => {
      const descriptor = cluster.describe(id, nodeId);
      return descriptor === undefined ? [] : [described(id, descriptor)];
    });
    return { ranges: elements, next: 0 };
  }

  function listedAgain(url: URL, urlIndex: number): unknown {
    const nodeId = url.pathname.split('/')[2] ?? '';
    const ids = (url.searchParams.get('ranges') ?? '').split(',').map(Number);
    cluster.askedAgain.push(`${nodeId}: ${ids.join(' ')}`);
    const node = cluster.nodes.find((each) => String(each.nodeId) === nodeId);
    const replicas = node?.again ?? node?.ranges ?? [];
    if (replicas instanceof Error) throw replicas;
    const isIgnored = cluster.ignoring.has(urlIndex);
    return { ranges: replicas.filter((each) => isIgnored || ids.includes(rangeIdOf(each))) };
  }

  async function listed(
    url: URL,
    reading: PollStats,
    firstUrl: number | undefined,
  ): Promise<unknown> {
    const asked: Asked = {
      ...routeOf(url),
      firstUrl,
      offset: url.searchParams.get('offset') ?? 'none',
    };
    cluster.asked.push(asked);
    await cluster.hold(asked, reading);
    const [own] = cluster.nodes;
    const node =
      asked.route === 'local'
        ? own
        : cluster.nodes.find((each) => String(each.nodeId) === asked.nodeId);
    return pageOf(asked, node);
  }

  return cluster;
}

/** The nodes that list the range, as they are in the cluster. */
function holdersOf({ nodes }: FakeCluster, rangeId: number): readonly number[] {
  return nodes.flatMap(({ nodeId, ranges: listed = [], pages = [] }) => {
    const elements = [listed, ...pages].flatMap((answer) =>
      answer instanceof Error ? [] : [...answer],
    );
    return elements.some((each) => rangeIdOf(each) === rangeId) ? [Number(nodeId)] : [];
  });
}

function rangeIdOf(element: unknown): number {
  const { desc }: { readonly desc?: { readonly range_id?: unknown } } = Object(element);
  return Number(desc?.range_id);
}

function described(rangeId: number, descriptor: FakeDescriptor): unknown {
  const { types, generation = 1, isLeaseholder = true, leaseValid = isLeaseholder } = descriptor;
  const internalReplicas = Object.entries(types).map(([nodeId, type]) => ({
    nodeId: Number(nodeId),
    storeId: descriptor.stores?.[Number(nodeId)],
    type,
  }));
  const desc = { rangeId: String(rangeId), internalReplicas, generation: String(generation) };
  return { state: { state: { desc } }, isLeaseholder, leaseValid };
}

function listing({ nodes }: FakeCluster): unknown {
  return {
    nodes: nodes.map(({ nodeId, status = LIVE, locality }) => ({
      node_id: nodeId,
      liveness_status: status,
      locality: { tiers: tiersOf(locality) },
    })),
  };
}

function tiersOf(locality: string | undefined): unknown {
  return locality?.split(',').map((tier) => {
    const [key, value] = tier.split('=');
    return { key, value };
  });
}

function routeOf(url: URL): Pick<Asked, 'nodeId' | 'route'> {
  const nodeId = url.pathname.split('/')[2] ?? '';
  const remote = url.searchParams.get('remote_node_id');
  if (nodeId !== 'local') return { nodeId, route: 'gateway' };
  return remote === null ? { nodeId, route: 'local' } : { nodeId: remote, route: 'proxy' };
}

/** Offsets count pages here: the API only asks that they grow. */
function pageOf({ route, offset }: Asked, node: FakeNode | undefined): unknown {
  const whole = (route === 'proxy' ? node?.proxied : undefined) ?? node?.ranges ?? [];
  const isWhole = offset === 'none' && node?.ranges !== undefined;
  const pages = (isWhole ? undefined : node?.pages) ?? [whole];
  const at = offset === 'none' ? 0 : Number(offset);
  const page = pages[at];
  if (page instanceof Error) throw page;
  const following = at + 1 < pages.length ? at + 1 : undefined;
  return { ranges: page, next: following };
}

interface ReplicaFields {
  readonly rangeId: unknown;
  readonly nodeId?: unknown;
  readonly storeId: unknown;
  /** Store that holds the lease as far as this replica knows; node of it: `leaseNodeId`. */
  readonly lease?: number;
  readonly leaseNodeId?: number;
  readonly sequence?: number;
  readonly epoch?: unknown;
  readonly term?: unknown;
  readonly problems?: Readonly<Record<string, unknown>>;
  readonly stats?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  /** Where the range begins and ends; default: with its id and the next one, so that ranges 1, 2, 3 join. */
  readonly keys?: readonly [start: string | undefined, end: string];
  readonly quiescent?: true;
  readonly ticking?: true;
}

/** The end of the last range. */
export const LAST_KEY = '//8=';

/** A key as JSON. */
export function encodeKey(key: unknown): string {
  return Buffer.from(`key ${String(key)}`).toString('base64');
}

/** An element as the server writes it: zeros are left out. */
export function replica(fields: ReplicaFields): Record<string, unknown> {
  const { lease, epoch, term, sequence, rangeId } = fields;
  const startKey = rangeId === 1 ? undefined : encodeKey(rangeId);
  const [start_key, end_key] = fields.keys ?? [startKey, encodeKey(Number(rangeId) + 1)];
  return {
    desc: { range_id: rangeId, start_key, end_key, store_id: 0, queries_per_second: 0 },
    span: { start_key: fields.key ?? '/Table/104/1' },
    source_node_id: fields.nodeId,
    source_store_id: fields.storeId,
    lease_history:
      lease === undefined
        ? null
        : [
            { start: {}, replica: { node_id: 99, store_id: 99 }, sequence: 1 },
            {
              start: {},
              replica: { node_id: fields.leaseNodeId ?? lease, store_id: lease, replica_id: 1 },
              epoch,
              term,
              sequence,
            },
          ],
    problems: fields.problems ?? {},
    stats: fields.stats ?? {},
    quiescent: fields.quiescent,
    ticking: fields.ticking,
  };
}

type Options = Parameters<typeof ranges.collect>[1]['options'];
type State = ReturnType<typeof ranges.createState>;

const OPTIONS: Options = {
  page_limit: 0,
  node_timeout: 30,
  descriptor_max_age: 1_800,
  concurrency: 2,
  route: 'gateway',
  hot_ranges: 20,
  problem_ranges: 20,
  top_tables: 20,
};

export interface PollGiven {
  readonly options?: Partial<Options>;
  readonly state?: State;
  readonly context?: Partial<CollectorPoll<Options, State>>;
  readonly clock?: Partial<Clock>;
  readonly shard?: string;
}

export interface Polled {
  readonly failure: RequestError | undefined;
  readonly warnings: readonly string[];
  readonly tableIds: readonly string[] | undefined;
  readonly cluster: ClusterScan | undefined;
  /** Sample lines, in the order of writing. */
  readonly lines: readonly string[];
  readonly context: CollectorPoll<Options, State>;
  /** Lines of one family, without its name. */
  readonly of: (family: string) => readonly string[];
}

/** All readings are those of the test, or of the first that it gives; otherwise the clock stands still. */
function clockOf({ wallMs = () => 1_000_000, ...given }: Partial<Clock> = {}): Clock {
  return { wallMs, monotonicMs: wallMs, runningMs: () => performance.now(), ...given };
}

/** A context of one poll; its scan begins with `state`. */
export function contextOf<S>(options: Partial<Options>, state: S): CollectorPoll<Options, S> {
  const chosen = { options: { ...OPTIONS, ...options }, state, clock: clockOf() };
  return collectorPoll(createPollStats(AbortSignal.timeout(20_000)), chosen);
}

/** One poll of the collector, as the poller would do it. */
export async function pollRanges(api: ClusterApi, given: PollGiven = {}): Promise<Polled> {
  const sheet = new SampleSet({});
  const context: CollectorPoll<Options, State> = {
    ...contextOf(given.options ?? {}, given.state ?? ranges.createState()),
    clock: clockOf(given.clock),
    ...given.context,
  };
  const result = await ranges.collect(api, context);
  const steps = ranges.samples(result, sheet, given.shard ?? '0');
  if (steps !== undefined) await inSlices(steps[Symbol.iterator]());
  const { failure, tableIds } = result;
  const lines = renderFamilies(sheet)
    .flatMap((rendered) => rendered.lines.toString().split('\n'))
    .filter((line) => line !== '');
  const warnings = Array.from(context.warnings.values(), warningText);
  return {
    failure,
    warnings,
    tableIds,
    cluster: result.summary?.cluster,
    lines,
    context,
    of: (family) => linesOf(lines, family),
  };
}

function linesOf(lines: readonly string[], family: string): readonly string[] {
  return lines
    .filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family} `))
    .map((line) => line.slice(family.length).trim());
}

/** The error of an answer with that status, as the transport makes it. */
export function statusError(status: number): RequestError {
  return new RequestError('http', `node_ranges: HTTP ${status}`, { status });
}
