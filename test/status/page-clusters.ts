import type { ClusterStatus } from '../../src/status/findings/status.ts';
import { VERIFIED, WITHOUT_QUORUM } from './results.ts';

// Clusters as the status page shows them.

export const DAY = '2026-11-21T';

function collector(
  name: string,
  more: Partial<ClusterStatus['collectors'][number]> = {},
): ClusterStatus['collectors'][number] {
  return {
    name,
    api: name === 'cloud' ? 'cloud' : 'cluster',
    state: 'ok',
    isPolling: false,
    hasData: true,
    lastSuccessAt: `${DAY}13:59:41.500Z`,
    nextPollAt: `${DAY}14:00:11.000Z`,
    intervalSeconds: 30,
    configuredIntervalSeconds: 30,
    durationSeconds: 0.123,
    items: 1_234,
    bytes: 5_678_901,
    series: 4_321,
    limits: [],
    error: undefined,
    ...more,
  };
}

const NODES = ['live', 'live', 'draining', 'dead'].map((status, at) => ({
  id: at + 1,
  status,
  locality: `region=us-east1,zone=${'abc'[at] ?? 'a'}`,
  build: at === 1 ? 'v25.4.2' : 'v25.4.3',
  recordAt: `${DAY}13:59:5${at}.000Z`,
  isStale: at === 1,
}));

export const HURT: ClusterStatus = {
  name: 'prod',
  isPolled: true,
  apis: [
    { api: 'cluster', isUp: true },
    { api: 'cloud', isUp: false },
  ],
  nodes: {
    byStatus: { live: 2, draining: 1, dead: 1 },
    builds: ['v25.4.2', 'v25.4.3'],
    list: NODES,
  },
  network: {
    answer: 'unreachable',
    reason: 'nodes 1 and 2 do not reach each other',
    failed: [
      { nodeId: 1, peerId: 2 },
      { nodeId: 2, peerId: 1 },
    ],
    failedCount: 2,
    unaskedNodes: [],
    slowest: { nodeId: 1, peerId: 3, seconds: 0.0821 },
  },
  ranges: {
    nodes: { scanned: 3, failed: 1, skipped: 1 },
    failedNodes: [2],
    downSinceScan: [4],
    scanCheck: {
      replicas: { read: 1_800, counted: 2_036 },
      leases: { read: 601, counted: 600 },
      uncountedNodes: 0,
    },
    problems: { unavailable: 2, underreplicated: 4_567 },
    withoutQuorum: WITHOUT_QUORUM,
    tables: ['rides', 'users'].map((name, at) => ({
      id: String(104 + at),
      name: `movr.public.${name}`,
      ranges: 90 - at,
      queriesPerSecond: 700.25 - 300 * at,
      writesPerSecond: 31 + at,
      cpuSecondsPerSecond: at === 0 ? 1.25 : undefined,
      sizeBytes: at === 0 ? 7.5e9 : undefined,
    })),
    dependent: [
      { name: 'n2', quorum: 17, lastReplica: 3, withoutQuorum: 2 },
      { name: 'region=us-east1,zone=b', quorum: 5, lastReplica: 0 },
    ],
    verification: {
      ...VERIFIED,
      unverified: 186,
      reason: '186 ranges are not verified: 180 descriptors are to be read, in about 1 s',
      due: 180,
      keySpace: 'incomplete',
      servingNothing: 1,
      stuck: 1,
      leftOver: [],
      overlapping: [],
      lost: undefined,
    },
    oldest: ['unavailable', 'underreplicated'].map((problem, at) => ({
      rangeId: 77 + at,
      nodeId: 1 + at,
      storeId: at === 0 ? undefined : 2,
      table: at === 0 ? 'movr.public.rides' : '',
      index: at === 0 ? '1' : '',
      problem,
      firstSeenAt: `${DAY}1${at}:05:00.000Z`,
    })),
    hottest: [0, 1].map((at) => ({
      rangeId: 501 + at,
      nodeId: 3 - at,
      storeId: 3 - at,
      table: 'movr.public.rides',
      index: '2',
      queriesPerSecond: 2_600 - 1_000 * at,
      writesPerSecond: 12,
      cpuSecondsPerSecond: at === 0 ? 0.87 : undefined,
    })),
  },
  sessions: {
    active: 12,
    idleInTransaction: 3,
    idle: 45,
    missingNodes: [4],
    applications: [0, 1].map((at) => ({
      application: at === 0 ? 'billing' : 'other',
      user: at === 0 ? 'app' : '',
      active: 7 - at,
      idleInTransaction: 2,
      idle: 20,
      oldestTransactionSeconds: 4_000 / (at + 1),
      oldestIdleTransactionSeconds: at === 0 ? 3_700 : 0,
      openTransactions: 9,
    })),
  },
  safeToStop: { answer: 'no', nodes: [], reason: 'node 4 is draining', decisions: [] },
  assistant: {
    exists: true,
    status: 'RUNNING',
    health: 'UNAVAILABLE',
    region: 'us-east1',
    statusSince: `${DAY}12:00:00.000Z`,
  },
  queries: [
    {
      name: 'orders',
      state: 'ok',
      lastSuccessAt: `${DAY}13:59:30.000Z`,
      durationSeconds: 0.031,
      rowCount: 21,
      rows: ['open', ''].map((state, at) => ({
        labels: { state },
        values: {
          orders: 12_345.6789 + at,
          share: 0.000_123_45,
          oldest_seconds: at === 0 ? 7 : undefined,
        },
      })),
      error: undefined,
    },
    {
      name: 'jobs',
      state: 'failing',
      lastSuccessAt: `${DAY}13:50:00.000Z`,
      durationSeconds: 5.1,
      rowCount: undefined,
      rows: undefined,
      error: { reason: 'timeout', message: 'query jobs: too slow', advice: 'Use an index.' },
    },
    {
      name: 'schedules',
      state: 'waiting',
      lastSuccessAt: undefined,
      durationSeconds: undefined,
      rowCount: undefined,
      rows: undefined,
      error: undefined,
    },
  ],
  collectors: [
    collector('nodes'),
    collector('sql'),
    collector('ranges', { intervalSeconds: 90, isPolling: true, limits: ['bytes'] }),
    collector('sessions', { state: 'waiting', hasData: false, lastSuccessAt: undefined }),
    collector('cloud', {
      state: 'failing',
      error: { reason: 'auth', message: '401 Unauthorized', advice: 'Check the token.' },
    }),
  ],
  state: 'problems',
  since: `${DAY}13:20:00.000Z`,
  notRead: [],
  mayBeOlder: true,
  findings: (['critical', 'warning'] as const).map((level, at) => ({
    key: `finding ${at}`,
    about: at === 0 ? 'nodes' : 'ranges',
    alert: at === 0 ? 'CrdbNodeDead' : 'CrdbRangesUnderreplicated',
    level,
    text: at === 0 ? 'Node 4 is dead.' : '4,567 ranges are under-replicated.',
    next: at === 0 ? 'Restart it.' : 'Look at `crdb-exporter range 78`.',
    since: `${DAY}13:4${at}:00.000Z`,
    mayBeOlder: at === 1,
  })),
};

export const BLIND: ClusterStatus = {
  ...HURT,
  name: 'staging',
  isPolled: false,
  nodes: undefined,
  ranges: undefined,
  sessions: undefined,
  assistant: undefined,
  state: 'unknown',
  findings: [],
  collectors: [],
};

/** More of everything than a page shows. */
export const LARGE: ClusterStatus = {
  ...HURT,
  name: 'large',
  apis: [{ api: 'cluster', isUp: true }],
  nodes: { byStatus: { live: 4 }, builds: ['v25.4.2'], list: NODES },
  ranges: HURT.ranges && {
    ...HURT.ranges,
    nodes: { scanned: 4, failed: 0, skipped: 0 },
    failedNodes: [],
    downSinceScan: [],
    tables: repeat(HURT.ranges.tables),
    oldest: repeat(HURT.ranges.oldest),
    hottest: repeat(HURT.ranges.hottest),
    dependent: repeat(HURT.ranges.dependent ?? []),
    verification: VERIFIED,
  },
  sessions: HURT.sessions && {
    ...HURT.sessions,
    missingNodes: [],
    applications: repeat(HURT.sessions.applications),
  },
  assistant: HURT.assistant && { ...HURT.assistant, status: 'failed', region: undefined },
  collectors: ['nodes', 'ranges', 'sessions', 'cloud'].map((name) =>
    collector(name, {
      state: 'failing',
      isPolling: name === 'nodes',
      nextPollAt: undefined,
      error: { reason: 'timeout', message: 'no answer', advice: 'Raise `timeout`.' },
    }),
  ),
  findings: Array.from({ length: 9 }, (_, at): ClusterStatus['findings'][number] => ({
    key: `finding ${at}`,
    about: at % 2 === 0 ? 'exporter' : 'ranges',
    alert: at === 0 ? undefined : 'CrdbDataStale',
    level: at < 2 ? 'critical' : at < 7 ? 'warning' : 'info',
    text: `Finding ${at}.`,
    next: 'Wait.',
    since: `${DAY}13:4${at}:00.000Z`,
    mayBeOlder: false,
  })),
};

/** An idle cluster without problems. */
export const CALM: ClusterStatus = {
  ...HURT,
  name: 'calm',
  apis: [{ api: 'cluster', isUp: true }],
  nodes: { byStatus: { live: 1 }, builds: ['v25.4.2'], list: NODES.slice(0, 1) },
  network: { answer: 'reached', slowest: { nodeId: 1, peerId: 3, seconds: 0.0821 } },
  ranges: HURT.ranges && {
    ...HURT.ranges,
    nodes: { scanned: 1, failed: 0, skipped: 0 },
    failedNodes: [],
    downSinceScan: [],
    problems: {},
    tables: [],
    oldest: [],
    hottest: [],
    dependent: [],
    verification: VERIFIED,
  },
  safeToStop: { answer: 'yes', nodes: [1, 3], decisions: [] },
  sessions: HURT.sessions && { ...HURT.sessions, missingNodes: [], applications: [] },
  assistant: HURT.assistant && { ...HURT.assistant, exists: false },
  collectors: [collector('nodes'), collector('ranges'), collector('sessions'), collector('cloud')],
  state: 'healthy',
  mayBeOlder: false,
  findings: [],
};

/** Seen in part: nobody knows what is safe. */
export const PARTIAL: ClusterStatus = {
  ...CALM,
  name: 'partial',
  network: { answer: 'unknown', reason: 'node 2 did not tell which nodes it reaches' },
  ranges: CALM.ranges && {
    ...CALM.ranges,
    nodes: { scanned: 1, failed: 2, skipped: 0 },
    dependent: undefined,
    verification: undefined,
  },
  safeToStop: { answer: 'unknown', nodes: [], reason: 'there is no scan', decisions: [] },
  assistant: undefined,
  state: 'unknown',
  collectors: [
    collector('nodes'),
    collector('ranges', { isPartial: true }),
    collector('sessions', { state: 'waiting', lastSuccessAt: undefined, nextPollAt: undefined }),
  ],
};

/** Items until there are eleven, one more than a table has rows. */
function repeat<Item>(items: readonly Item[]): Item[] {
  return Array.from({ length: 11 }, () => items)
    .flat()
    .slice(0, 11);
}
