import { describe, expect, test } from 'vitest';
import type { ClusterStatus, Status } from '../../../src/findings/status.ts';
import { html } from '../../../src/web/status/page/html.ts';
import { renderPage } from '../../../src/web/status/page/page.ts';
import { expectGolden } from '../../support/golden.ts';
import { RIGHT_SCAN, WITHOUT_QUORUM, WRONG_SCAN } from './results.ts';

const DAY = '2026-11-21T';
const UPDATE = 'npx vitest run -u test/web/status/page-golden.test.ts';
const LINKS = { style: '/a.css', script: '/a.js', icon: '/a.svg', telemetryPath: '/metrics' };

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

const HURT: ClusterStatus = {
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
  ranges: {
    nodes: { scanned: 3, failed: 1, skipped: 1 },
    failedNodes: [2],
    scanCheck: WRONG_SCAN,
    downSinceScan: [4],
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
    unknownVoters: { node: 1, locality: 3 },
    oldest: ['unavailable', 'underreplicated'].map((problem, at) => ({
      rangeId: 77 + at,
      nodeId: 1 + at,
      storeId: at * 2,
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
  collectors: [
    collector('nodes'),
    collector('ranges', { intervalSeconds: 90, isPolling: true, limits: ['bytes'] }),
    collector('sessions', { state: 'waiting', hasData: false, lastSuccessAt: undefined }),
    collector('cloud', {
      state: 'failing',
      error: { reason: 'auth', message: '401 Unauthorized', advice: 'Check the token.' },
    }),
  ],
  state: 'problems',
  since: `${DAY}13:20:00.000Z`,
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

const BLIND: ClusterStatus = {
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
const LARGE: ClusterStatus = {
  ...HURT,
  name: 'large',
  apis: [{ api: 'cluster', isUp: true }],
  nodes: { byStatus: { live: 4 }, builds: ['v25.4.2'], list: NODES },
  ranges: HURT.ranges && {
    ...HURT.ranges,
    nodes: { scanned: 4, failed: 0, skipped: 0 },
    failedNodes: [],
    scanCheck: RIGHT_SCAN,
    downSinceScan: [],
    tables: repeat(HURT.ranges.tables),
    oldest: repeat(HURT.ranges.oldest),
    hottest: repeat(HURT.ranges.hottest),
    dependent: repeat(HURT.ranges.dependent ?? []),
    unknownVoters: { node: 0, locality: 0 },
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
const CALM: ClusterStatus = {
  ...HURT,
  name: 'calm',
  apis: [{ api: 'cluster', isUp: true }],
  nodes: { byStatus: { live: 1 }, builds: ['v25.4.2'], list: NODES.slice(0, 1) },
  ranges: HURT.ranges && {
    ...HURT.ranges,
    nodes: { scanned: 1, failed: 0, skipped: 0 },
    failedNodes: [],
    scanCheck: undefined,
    downSinceScan: [],
    problems: {},
    tables: [],
    oldest: [],
    hottest: [],
    dependent: [],
    unknownVoters: { node: 0, locality: 0 },
  },
  safeToStop: { answer: 'yes', nodes: [1, 3], decisions: [] },
  sessions: HURT.sessions && { ...HURT.sessions, applications: [] },
  assistant: HURT.assistant && { ...HURT.assistant, exists: false },
  collectors: [collector('nodes'), collector('ranges'), collector('sessions'), collector('cloud')],
  state: 'healthy',
  mayBeOlder: false,
  findings: [],
};

/** Seen in part: nobody knows what is safe. */
const PARTIAL: ClusterStatus = {
  ...CALM,
  name: 'partial',
  ranges: CALM.ranges && {
    ...CALM.ranges,
    nodes: { scanned: 1, failed: 2, skipped: 0 },
    dependent: undefined,
    unknownVoters: undefined,
  },
  safeToStop: { answer: 'unknown', nodes: [], reason: 'there is no scan', decisions: [] },
  assistant: undefined,
  state: 'unknown',
  collectors: [
    collector('nodes'),
    collector('ranges'),
    collector('sessions', { state: 'waiting', lastSuccessAt: undefined, nextPollAt: undefined }),
  ],
};

/** Items until there are eleven, one more than a table has rows. */
function repeat<Item>(items: readonly Item[]): Item[] {
  return Array.from({ length: 11 }, () => items)
    .flat()
    .slice(0, 11);
}

function render(clusters: readonly ClusterStatus[], name?: string): string {
  const collectors = { ok: 2, failing: 1, waiting: 1 };
  const [at, startedAt] = [`${DAY}14:00:00.000Z`, `${DAY}09:00:00.000Z`];
  const status: Status = { at, version: '1.2.3', startedAt, collectors, clusters };
  return renderPage(status, LINKS, name);
}

test.each([
  ['status-page-hurt', [HURT, BLIND], undefined],
  ['status-page-large', [LARGE], 'large'],
  ['status-page-calm', [CALM, PARTIAL], 'calm'],
  ['status-page-partial', [CALM, PARTIAL], 'partial'],
  ['status-page-without-clusters', [], undefined],
])('the golden file %s', async (file, clusters, name) => {
  const text = render(clusters, name);
  expect(text).toContain('14:00:00 UTC');
  await expectGolden(text, `test/golden/${file}.html`, UPDATE);
});

describe('the page', () => {
  test.each([1, 400, 5_000])('of %d nodes stays below 100 kB', (count) => {
    const list = Array.from({ length: count }, (_, at) => {
      const locality = `region=r${at % 10},zone=z${at % 30}`;
      return { id: at, status: 'live', locality, build: '', recordAt: undefined, isStale: false };
    });
    const text = render([{ ...CALM, nodes: { byStatus: { live: count }, builds: [], list } }]);
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });

  test('shows one of many clusters in full: the worst by default', () => {
    const clusters = Array.from({ length: 50 }, (_, at) => ({
      ...CALM,
      name: `c${at}`,
      state: at === 30 ? ('problems' as const) : ('healthy' as const),
    }));
    const text = render(clusters);
    expect(text).toContain('<title>c30 has problems');
    expect(text.match(/<h2/g)).toHaveLength(1);
    expect(text.match(/href="\/\?cluster=c\d+"/g)).toHaveLength(50);
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });

  test('escapes text from clusters, clients and errors', () => {
    const nasty = `<img src=x onerror='a("b")'>&amp;`;
    const names =
      /movr\.public\.\w+|billing|us-east1|prod|401 Unauthorized|Restart it|4,567 ranges/g;
    const quoted = JSON.stringify(nasty).slice(1, -1);
    const hostile: ClusterStatus = JSON.parse(JSON.stringify(HURT).replaceAll(names, quoted));
    const text = render([hostile, CALM]);
    expect(text).not.toContain('<img');
    expect(text.match(/&#60;img/g)?.length).toBeGreaterThan(15);
    expect(text).not.toMatch(/<th scope="col"[^>]*>\s*<\/th>/);
  });
});

test('markup escapes values everywhere, and inserts markup as it is', () => {
  const list = ['<', undefined, false, html`<b>${'"'}</b>`, 7] as const;
  expect(html`<a title="${"'"}">${list}</a>`.text).toBe('<a title="&#39;">&#60;<b>&#34;</b>7</a>');
});
