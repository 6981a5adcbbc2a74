import { describe, expect, test } from 'vitest';
import type { ClusterStatus, NodeStatus, Status } from '../../../src/findings/status.ts';
import { html } from '../../../src/web/status/page/html.ts';
import { renderPage } from '../../../src/web/status/page/page.ts';

const AT = '2026-11-21T14:00:00.000Z';
const NASTY = `<img src=x onerror='a("b")'>&amp;`;
const LINKS = {
  style: '/-/a.css',
  script: '/-/a.js',
  icon: '/-/a.svg',
  telemetryPath: '/metrics',
};

const FINDING: ClusterStatus['findings'][number] = {
  key: 'nodes dead',
  about: 'nodes',
  alert: 'CrdbNodeDead',
  level: 'critical',
  text: 'Node 9 is dead.',
  next: 'Restart it.',
  since: AT,
  mayBeOlder: false,
};

function node(id: number, more: Partial<NodeStatus> = {}): NodeStatus {
  return {
    id,
    status: 'live',
    locality: `region=r${id % 10},zone=z${id % 30}`,
    build: 'v25.4.3',
    recordAt: AT,
    isStale: false,
    ...more,
  };
}

function cluster(more: Partial<ClusterStatus> = {}, nodes: NodeStatus[] = []): ClusterStatus {
  return {
    name: 'prod',
    isPolled: true,
    apis: [{ api: 'cluster', isUp: true }],
    nodes: { byStatus: { live: nodes.length }, builds: ['v25.4.3'], list: nodes },
    ranges: undefined,
    safeToStop: { answer: 'unknown', nodes: [], reason: 'no scan', decisions: [] },
    sessions: undefined,
    assistant: undefined,
    collectors: [
      {
        name: 'nodes',
        api: 'cluster',
        state: 'ok',
        isPolling: false,
        hasData: true,
        lastSuccessAt: AT,
        nextPollAt: AT,
        intervalSeconds: 30,
        configuredIntervalSeconds: 30,
        durationSeconds: 0.1,
        items: nodes.length,
        bytes: 1,
        series: 1,
        limits: [],
        error: undefined,
      },
    ],
    state: 'healthy',
    since: AT,
    mayBeOlder: false,
    findings: [],
    ...more,
  };
}

function page(clusters: ClusterStatus[]): string {
  const collectors = { ok: clusters.length, failing: 0, waiting: 0 };
  const status: Status = { at: AT, version: '1.2.3', startedAt: AT, collectors, clusters };
  return renderPage(status, LINKS, undefined);
}

describe('the page', () => {
  test.each([1, 40, 41, 300, 400, 5_000])('of %d nodes stays below 100 kB', (count) => {
    const nodes = Array.from({ length: count }, (_, index) => node(index + 1));
    expect(Buffer.byteLength(page([cluster({}, nodes)]))).toBeLessThan(100_000);
  });

  test('shows one of many clusters in full: the worst by default', () => {
    const clusters = Array.from({ length: 50 }, (_, index) =>
      cluster({ name: `c${index}`, state: index === 30 ? 'problems' : 'healthy' }),
    );
    const text = page(clusters);
    expect(text).toContain('<title>c30 has problems');
    expect(text.match(/<h2/g)).toHaveLength(1);
    expect(text.match(/href="\/\?cluster=c\d+"/g)).toHaveLength(50);
    expect(Buffer.byteLength(text)).toBeLessThan(100_000);
  });

  test('names its panels, and escapes text from clusters, clients and errors', () => {
    const hostile = node(1, { locality: `${NASTY},${NASTY}`, status: NASTY, build: NASTY });
    const place = { rangeId: 1, nodeId: 1, storeId: 1, table: NASTY, index: NASTY };
    const states = { active: 1, idleInTransaction: 1, idle: 1 };
    const ages = { oldestTransactionSeconds: 1, oldestIdleTransactionSeconds: 1 };
    const [collector] = cluster().collectors;
    const text = page([
      cluster({
        name: NASTY,
        nodes: { byStatus: {}, builds: [NASTY], list: [hostile] },
        safeToStop: { answer: 'no', nodes: [], reason: NASTY, decisions: [] },
        findings: [{ ...FINDING, text: NASTY, next: `\`${NASTY}\`` }],
        ranges: {
          nodes: { scanned: 1, failed: 0, skipped: 0 },
          failedNodes: [],
          scanCheck: undefined,
          downSinceScan: [],
          problems: { [NASTY]: 1 },
          withoutQuorum: {
            tables: [{ id: '1', name: NASTY, ranges: 1 }],
            otherRanges: 0,
          },
          tables: [
            {
              id: '104',
              name: NASTY,
              ranges: 1,
              queriesPerSecond: 1,
              writesPerSecond: 1,
              cpuSecondsPerSecond: 1,
              sizeBytes: 1,
            },
          ],
          dependent: [{ name: NASTY, quorum: 1, lastReplica: 1, withoutQuorum: 1 }],
          unknownVoters: { node: 1, locality: 1 },
          oldest: [{ ...place, problem: NASTY, firstSeenAt: AT }],
          hottest: [
            { ...place, queriesPerSecond: 1, writesPerSecond: 1, cpuSecondsPerSecond: undefined },
          ],
        },
        sessions: {
          ...states,
          missingNodes: [],
          applications: [
            { application: NASTY, user: NASTY, ...states, ...ages, openTransactions: 1 },
          ],
        },
        assistant: {
          exists: true,
          status: NASTY,
          health: NASTY,
          region: NASTY,
          statusSince: AT,
        },
        collectors: collector
          ? ['nodes', 'ranges', 'sessions', 'cloud'].map((name) => ({
              ...collector,
              name,
              error: { reason: 'other', message: NASTY, advice: NASTY },
            }))
          : [],
      }),
      cluster(),
    ]);
    expect(text.match(/<th scope="col"/g)?.length).toBeGreaterThan(20);
    expect(text).not.toMatch(/<th scope="col"[^>]*>\s*<\/th>/);
    const titles = text.matchAll(/<h3[^>]*>([^<]*)/g);
    expect(Array.from(titles, ([, title = '']) => title.trim())).toEqual([
      'Findings',
      'Nodes',
      'Problem ranges',
      'Safe to stop',
      'Tables',
      'Hottest ranges',
      'Sessions',
      'Migration assistant',
      'Collectors',
    ]);
    expect(text).not.toContain('<img');
    expect(text.match(/&#60;img/g)?.length).toBeGreaterThan(15);
  });
});

test('markup escapes values everywhere, and inserts markup as it is', () => {
  const list = ['<', undefined, false, html`<b>${'"'}</b>`, 7] as const;
  expect(html`<a title="${"'"}">${list}</a>`.text).toBe('<a title="&#39;">&#60;<b>&#34;</b>7</a>');
});
