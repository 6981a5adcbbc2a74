import { DEFAULT_THRESHOLDS, type Thresholds } from '../../src/alerts/thresholds.ts';
import { createLog } from '../../src/base/log.ts';
import type { FailureReason } from '../../src/base/vocabulary.ts';
import { RequestError } from '../../src/cockroach/http/errors.ts';
import type { CloudResult } from '../../src/collectors/cloud/collector.ts';
import type { CollectorResult } from '../../src/collectors/collector.ts';
import type { NetworkResult } from '../../src/collectors/network/network-result.ts';
import { nodes as nodesCollector, type NodesResult } from '../../src/collectors/nodes/collector.ts';
import { expiriesOf } from '../../src/collectors/nodes/node-record.ts';
import type { Poller } from '../../src/collectors/polling/poller.ts';
import { LOADS, LOAD_INDEX } from '../../src/collectors/ranges/replica.ts';
import type { ClusterScan, RangesResult } from '../../src/collectors/ranges/scan-result.ts';
import type { ScannedNode } from '../../src/collectors/ranges/scan-result.ts';
import { sessions, type SessionsResult } from '../../src/collectors/sessions/collector.ts';
import { createTally, type SessionTally } from '../../src/collectors/sessions/session.ts';
import type { SqlResult } from '../../src/collectors/sql/collector.ts';
import type { ClusterConfig } from '../../src/config/keys-and-flags.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { CollectorState, Observation } from '../../src/exporter/observation.ts';
import { WatchHistory } from '../../src/exporter/watch-history.ts';
import type { Memory, Evidence } from '../../src/status/findings/evidence.ts';
import { observe } from '../../src/status/findings/observe.ts';
import type { DeadEvidence } from '../../src/status/findings/safe-to-stop.ts';
import type { RangesStatus } from '../../src/status/findings/status.ts';
import { preparePoller } from '../collectors/polling/prepare-poller.ts';
import { scannedNode } from '../collectors/ranges/cluster.ts';

export type Node = NodesResult['nodes'][number];

/** A live node. */
export function node(id: number, more: Partial<Node> = {}): Node {
  const { metrics = new Map([['sql.conns', 5]]), updatedSeconds = 1_700_000_100 } = more;
  return {
    id,
    livenessCode: 3,
    address: 'db:26257',
    sqlAddress: 'db:26257',
    buildTag: 'v25.4.3',
    serverVersion: '25.4',
    clusterName: '',
    tiers: [{ key: 'region', value: 'us-east1' }],
    startedSeconds: 1_700_000_000,
    updatedSeconds,
    cpus: 4,
    memoryBytes: 1,
    metrics,
    ...expiriesOf(metrics, updatedSeconds),
    stores: new Map(),
    isFresh: true,
    ...more,
  };
}

export function nodesResult(...nodes: readonly Node[]): NodesResult {
  return { nodes, selected: { keys: [], prefixes: [] }, lastBackupSeconds: 0 };
}

/** Open sessions of applications, all on one node. */
export function sessionsResult(
  applications: Readonly<Record<string, Partial<SessionTally>>>,
  failedNodes: readonly number[] = [],
): SessionsResult {
  const listed = Object.entries(applications).map(([application, tally]) => ({
    ...createTally(),
    ...tally,
    application,
    user: `user of ${application}`,
  }));
  return {
    nodes: new Map(listed.map((tally, at) => [at, { ...tally, clientHosts: 1 }])),
    byAge: new Map(),
    queriesByAge: new Map(),
    applications: listed,
    users: [],
    answered: new Set(),
    failedNodes: new Set(failedNodes),
  };
}

/** A scan that failed to read this many nodes. */
export function rangesResult(failed: number): RangesResult {
  return {
    scanned: [],
    failed: Array.from({ length: failed }, (_, at) => ({
      nodeId: at + 1,
      wasQueried: true,
      failure: new RequestError('http', 'HTTP 500'),
    })),
    unreadable: 0,
    skipped: 0,
  };
}

/** A node whose replicas are on one store, with this many leases and queries a second. */
export function scannedStore(nodeId: number, leases: number, queries = 0): ScannedNode {
  const load = LOADS.map((_, at) => (at === LOAD_INDEX.queries ? queries : 0));
  const store = { replicas: 3 * leases, leases, quiescent: 0, ticking: 0, problems: [] };
  const stores = new Map([[nodeId, { ...store, load: Float64Array.from(load) }]]);
  return { ...scannedNode(nodeId), stores };
}

/** A scan of all nodes that has verified every range, without figures of dependence. */
export const WHOLE_SCAN: ClusterScan = {
  unverified: 0,
  servingNothing: 0,
  stuck: 0,
  unreported: new Map(),
  disputed: { rangeIds: new Set(), byTable: new Map(), nodeIds: [] },
  isServingBound: false,
  withoutProblems: 0,
  ignoringUrls: [],
  leftOver: [],
  keySpace: { isComplete: true, isGapConfirmed: false, overlapping: [] },
  dependence: undefined,
  descriptors: {
    state: 'read',
    failure: undefined,
    due: 0,
    perMinute: undefined,
  },
  lost: 0,
};

/** A scan of these nodes with this summary. */
export function scannedRanges(
  summary: Partial<NonNullable<RangesResult['summary']>>,
  scanned: ScannedNode[],
): RangesResult {
  return {
    ...rangesResult(0),
    scanned,
    summary: {
      ranges: 7,
      byReplicas: [],
      byLeaseKind: [],
      problemsByTable: new Map(),
      leaseChanges: 0,
      hot: [],
      problems: new Map(),
      tables: { ids: [], loads: new Map(), problems: new Map() },
      hasTableCpu: false,
      ...summary,
    },
  };
}

/** The last results by the names of their collectors. */
export interface Results {
  readonly nodes?: NodesResult;
  readonly ranges?: RangesResult;
  readonly sessions?: SessionsResult;
  readonly cloud?: CloudResult;
  readonly sql?: SqlResult;
  readonly network?: NetworkResult;
}

interface Polled {
  readonly pollers: readonly Poller[];
  readonly isPolled?: boolean;
  readonly isUp: boolean | undefined;
  readonly config?: ClusterConfig;
  readonly results?: Results;
}

const NOON = '2026-03-01T12:00:00.000Z';

/** A collector whose last poll succeeded at noon. */
export function collectorState(name: string, more: Partial<CollectorState> = {}): CollectorState {
  return {
    name,
    isOld: more.state === 'failing' && more.isPartial === undefined,
    api: 'cluster',
    state: 'ok',
    isPolling: false,
    hasData: true,
    lastSuccessAt: NOON,
    nextPollAt: NOON,
    intervalSeconds: 30,
    configuredIntervalSeconds: 30,
    durationSeconds: 1,
    items: 1,
    bytes: 1,
    series: 1,
    limits: [],
    failure: undefined,
    ...more,
  };
}

/** Pollers by the names of their collectors: `ok`, `waiting`, or `failing` without data. */
export function pollersOf(states: Readonly<Record<string, string>>): Promise<readonly Poller[]> {
  const pollers = Object.entries(states).map(async ([name, state]) => {
    const collect = (): void => {
      if (state === 'failing') throw new Error('broken');
    };
    const { poller, poll } = preparePoller(collect, {}, { name });
    if (state !== 'waiting') await poll();
    return poller;
  });
  return Promise.all(pollers);
}

/** A cluster whose API needs no login, or the one of this user. */
export async function clusterConfig(username?: string): Promise<ClusterConfig> {
  const login = username === undefined ? {} : { 'cluster.username': username };
  const { config } = await loadConfig({
    flags: { 'cluster.url': ['http://127.0.0.1:9'], ...login },
    env: username === undefined ? {} : { CRDB_EXPORTER_CLUSTER_PASSWORD: 'secret' },
    collectors: [nodesCollector, sessions],
  });
  const [cluster] = config.clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

const CONFIG = await clusterConfig();
const SHOP = Symbol('shop');

/** The cluster `shop` with these pollers and results. */
export function polledCluster({
  pollers,
  isPolled = true,
  isUp,
  results = {},
  config = CONFIG,
}: Polled): Observation {
  const byName = new Map<string, CollectorResult>(Object.entries(results));
  const watch = new WatchHistory(SILENT, () => 0);
  const cluster: Observation = {
    name: 'shop',
    identity: SHOP,
    pollers,
    config: { ...config, name: 'shop', poll: isPolled },
    upstreams: () => [],
    result<R extends CollectorResult>(collector: {
      readonly name: string;
      collect(...args: never): Promise<R>;
    }) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made for the collector of that name
      return byName.get(collector.name) as R | undefined;
    },
    lastResult: () => undefined,
    isUp: () => isUp,
    problems: (nowMs) => watch.read(cluster, nowMs),
  };
  return cluster;
}

const SILENT = createLog({
  level: 'error',
  format: 'logfmt',
  destination: { write: () => undefined },
});

const NOTHING: Memory = {
  scanProblems: [],
  hiddenSessions: undefined,
  certificates: new Map(),
  lateRecords: new Map(),
  writing: new Set(),
  lastSeen: {},
  healthyMs: undefined,
  trends: new Map(),
};

/** What is known of a cluster at this time when nothing is remembered but this. */
export function observeAt(
  nowMs: number,
  cluster: Observation,
  memory: Partial<Memory> = {},
  configured: Partial<Thresholds> = {},
): Evidence {
  const thresholds = { ...DEFAULT_THRESHOLDS, ...configured };
  return observe(cluster, { ...NOTHING, nowMs, thresholds, ...memory });
}

/** Of one range without a problem, read from all nodes. */
export const RANGES: RangesStatus = {
  nodes: { scanned: 3, failed: 0, skipped: 0 },
  failedNodes: [],
  downSinceScan: [],
  scanCheck: undefined,
  problems: {},
  tables: [],
  withoutQuorum: { tables: [], otherRanges: 0, unnamedRanges: 0, unreportedRanges: 0 },
  dependent: undefined,
  verification: undefined,
  oldest: [],
  hottest: [],
};

/** Of a scan that proves everything. */
export const VERIFIED: NonNullable<RangesStatus['verification']> = {
  unverified: 0,
  reason: undefined,
  due: 0,
  perMinute: 12_000,
  descriptors: 'read',
  keySpace: 'complete',
  servingNothing: 0,
  stuck: 0,
  leftOver: [],
  overlapping: [],
  lost: 0,
};

/** Nothing is known of dead nodes. */
export const UNREAD: DeadEvidence = {
  replicas: undefined,
  mostVoters: 0,
  trends: new Map(),
  doubt: 'there is no current range scan',
  damage: undefined,
};

/** A range of each of two tables, and one elsewhere. */
export const WITHOUT_QUORUM: RangesStatus['withoutQuorum'] = {
  tables: [
    { id: '106', name: 'movr.public.rides', ranges: 1 },
    { id: '107', name: undefined, ranges: 1 },
  ],
  otherRanges: 1,
  unnamedRanges: 0,
  unreportedRanges: 0,
};

/** A scan with this many nodes that were read, and the reasons of the others; whether it shows counts. */
export function unreadScan(
  read: number,
  reasons: Readonly<Record<number, FailureReason>>,
  hasCounts = true,
): RangesResult {
  const failed = Object.entries(reasons).map(([id, reason]) => ({
    nodeId: Number(id),
    wasQueried: true,
    failure: new RequestError(reason, 'no ranges'),
  }));
  const scanned = Array.from({ length: read }, (_, at) => scannedNode(100 + at));
  const scan = hasCounts ? scannedRanges({}, scanned) : { ...rangesResult(0), scanned };
  return { ...scan, failed };
}
