import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { clusterCollector } from '../../../src/collectors/collector.ts';
import { COLLECTORS } from '../../../src/collectors/index.ts';
import { object } from '../../../src/json/shape.ts';
import { OUTCOME_FAMILIES } from '../../../src/metrics/outcome-families.ts';
import { ASSISTANT_PASSWORD, SQL_MARKER } from '../../../src/simulator/index.ts';
import type { Status } from '../../../src/web/status/status.ts';
import { openScene, type Scene } from '../../browser/scenes.ts';
import { serve } from '../../support/http-server.ts';
import { ask } from '../ask.ts';
import { startPolledOrchard } from '../orchard.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
/** One poll, then rest: what is compared with the truth must not move. */
const RESTING = { intervalSeconds: 600 };
const SMALL = { nodes: 3, ranges: 30, sessions: 20 };

const ajv = new Ajv2020({ allErrors: true });
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const validate = ajv.compile(
  JSON.parse(readFileSync(path.join(ROOT, 'docs/api-status.schema.json'), 'utf8')),
);

async function readStatus({ exporter }: Scene): Promise<Status> {
  const status: Status = JSON.parse((await exporter.get('/api/status')).text);
  validate(status);
  expect(validate.errors ?? []).toEqual([]);
  return status;
}

async function readCluster(scene: Scene): Promise<Status['clusters'][number]> {
  const [cluster] = (await readStatus(scene)).clusters;
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

describe('/api/status', () => {
  test('says of a calm cluster that it is well, as its schema describes', async () => {
    await using scene = await openScene(RESTING);
    const status = await readStatus(scene);
    expect(status.collectors).toEqual({ good: 6, failing: 0, waiting: 0 });
    expect(status.clusters).toMatchObject([{ name: 'demo', state: 'well', isPolled: true }]);
    expect(status.clusters[0]?.apis).toEqual([
      { api: 'cluster', isUp: true },
      { api: 'cloud', isUp: true },
    ]);
    const names = status.clusters[0]?.trends.map(({ name }) => name).toSorted();
    expect(names).toEqual([
      'cpuRatio',
      'liveNodes',
      'oldestTransactionSeconds',
      'openSessions',
      'problemRanges',
      'queriesPerSecond',
    ]);
  });

  test('agrees with the truth of a troubled cluster', async () => {
    await using scene = await openScene({
      ...RESTING,
      clusters: { demo: { troubledNodes: true, frozen: true } },
    });
    const truth = scene.simulators.get('demo')?.truth();
    const { nodes, ranges, sessions, state, findings } = await readCluster(scene);
    expect(state).toBe('trouble');
    const byStatus = Object.entries(nodes?.byStatus ?? {}).filter(([, count]) => count > 0);
    expect(Object.fromEntries(byStatus)).toEqual(truth?.nodesByStatus);
    const problems = Object.entries(truth?.ranges.problems ?? {}).filter(([, count]) => count > 0);
    expect(ranges?.problems).toEqual(Object.fromEntries(problems));
    expect(nodes?.list.find(({ status }) => status === 'dead')).not.toHaveProperty('cpuRatio');
    expect(sessions?.applications.length).toBeGreaterThan(5);
    const keys = findings.map(({ key }) => key);
    expect(keys).toEqual(
      expect.arrayContaining(['nodes dead', 'nodes draining', 'builds', 'ranges unavailable']),
    );
    expect(findings.map(({ level }) => level)).toEqual(
      findings.map(({ level }) => level).toSorted((a, b) => LEVELS.indexOf(a) - LEVELS.indexOf(b)),
    );
  });

  test('is the same to who asks for its tag until a poll begins or ends', async () => {
    await using scene = await openScene(RESTING);
    const { exporter } = scene;
    const first = await exporter.get('/api/status');
    const etag = first.headers.get('etag') ?? '';
    expect((await exporter.get('/api/status', { 'if-none-match': etag })).status).toBe(304);
    expect((await exporter.get('/api/status', { 'if-none-match': 'W/"0"' })).status).toBe(200);
    const head = await fetch(`${exporter.url}/api/status`, { method: 'HEAD' });
    expect(head.headers.get('etag')).toBe(etag);
    expect(await head.text()).toBe('');
  });

  test('tells how long the cluster has been down, and what to do', async () => {
    await using scene = await openScene({ intervalSeconds: 0.3 });
    await scene.simulators.get('demo')?.close();
    await scene.exporter.until((scrape) => scrape.value('crdb_up', { api: 'cluster' }) === 0);
    const { state, since, findings, apis, collectors } = await readCluster(scene);
    expect(state).toBe('trouble');
    expect(Date.parse(since)).toBeLessThanOrEqual(Date.now());
    expect(apis[0]).toEqual({ api: 'cluster', isUp: false });
    expect(findings.some(({ key }) => key === 'api cluster')).toBe(true);
    const failing = collectors.filter((one) => one.state === 'failing');
    expect(failing.length).toBeGreaterThan(0);
    for (const { error } of failing) expect(error?.advice).toMatch(/\.$/);
    const later = await readCluster(scene);
    expect(later.findings.find(({ key }) => key === 'api cluster')?.since).toBe(
      findings.find(({ key }) => key === 'api cluster')?.since,
    );
  });
});

describe('a forbidden poll', () => {
  test('names the privilege that the collector declares, also one that is new', async () => {
    await using server = await serve((_request, response) => response.writeHead(403).end());
    const orders = clusterCollector({
      name: 'orders',
      help: 'Orders.',
      privilege: 'GRANT SELECT ON TABLE orders',
      intervalSeconds: 60,
      timeoutSeconds: 10,
      maxDuty: 1,
      enabledByDefault: true,
      families: [],
      options: {},
      createMemory: () => undefined,
      async collect(api, _sheet, context) {
        await api.users(context, { shape: object({}), onUser: () => undefined });
        return undefined;
      },
    });
    const flags = { 'cluster.url': [server.url], 'cluster.name': 'shop' };
    const { url } = await startPolledOrchard({ collectors: [orders], flags });
    const status: Status = JSON.parse((await ask(url, '/api/status')).text);
    expect(status.clusters[0]?.collectors[0]?.error).toMatchObject({
      reason: 'forbidden',
      advice: 'The user lacks a privilege. It needs GRANT SELECT ON TABLE orders.',
    });
  });

  test.each(COLLECTORS.map((collector) => [collector.name, collector]))(
    'of %s has a privilege to name',
    (_name, { privilege, api }) => {
      expect(privilege).toMatch(api === 'cluster' ? /^GRANT / : /^the role /);
    },
  );
});

describe('a node that is not live', () => {
  test('has the colour of its state on the page', async () => {
    await using scene = await openScene({
      ...RESTING,
      clusters: { demo: { ...SMALL, nodes: 5, troubledNodes: true, frozen: true } },
    });
    const { text } = await scene.exporter.get('/');
    const classes = text.matchAll(/<li class="card (\w+)">\s*<b>n(\d+)<\/b>/g);
    const levels = new Map(Array.from(classes, ([, level, id]) => [Number(id), level]));
    const expected: Readonly<Record<string, string>> = { dead: 'trouble', live: 'live' };
    const nodes = scene.simulators.get('demo')?.truth().nodes ?? [];
    expect(nodes.map(({ status }) => status)).toContain('dead');
    for (const { nodeId, status } of nodes) {
      expect([nodeId, levels.get(nodeId)]).toEqual([nodeId, expected[status] ?? 'notice']);
    }
  });
});

const LEVELS = ['trouble', 'warning', 'notice'];

const FAULTS = [
  { kind: 'status', status: 500, body: `pq: ${SQL_MARKER}` },
  { kind: 'status', status: 401, body: `no session for ${SQL_MARKER}` },
  { kind: 'status', status: 403, body: SQL_MARKER },
  { kind: 'status', status: 400, body: SQL_MARKER },
  { kind: 'text' },
  { kind: 'html' },
  { kind: 'bad-json' },
  { kind: 'cut', bytes: 3_000 },
  { kind: 'redirect', location: `http://${SQL_MARKER}.example/` },
] as const;

describe('/', () => {
  test('shows the cluster that is named, and knows which there are', async () => {
    await using scene = await openScene({ ...RESTING, clusters: { east: SMALL, west: SMALL } });
    const { text } = await scene.exporter.get('/?cluster=west');
    expect(text).toContain('<title>west ');
    expect(await scene.exporter.get('/?cluster=north')).toMatchObject({
      status: 404,
      text: 'no such cluster; there are east, west\n',
    });
  });
});

describe('what is shown', () => {
  test.each(FAULTS)('leaks nothing when the servers answer with %o', async (fault) => {
    await using scene = await openScene({ clusters: { demo: SMALL }, intervalSeconds: 0.3 });
    scene.simulators.get('demo')?.fault(fault);
    const nodes = { collector: 'nodes' };
    await scene.exporter.until(
      (scrape) => scrape.value('crdb_exporter_collector_success', nodes) === 0,
    );
    expect(await findLeaks(scene)).toEqual([]);
  });

  test('leaks nothing when all is well', async () => {
    await using scene = await openScene({ clusters: { demo: { troubledNodes: true } } });
    expect(await findLeaks(scene)).toEqual([]);
  });

  test('reads only families that there are', () => {
    const folder = path.join(ROOT, 'src/web');
    const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.startsWith('status/') || name === 'discovery.ts')
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(path.join(folder, name), 'utf8'));
    const named = new Set(texts.flatMap((text) => text.match(/(?<=['`])crdb_[a-z0-9_]+/g) ?? []));
    const known = new Set(
      [...OUTCOME_FAMILIES, ...COLLECTORS.flatMap(({ families }) => families)].map(
        ({ name }) => name,
      ),
    );
    expect(named.size).toBeGreaterThan(25);
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
  });
});

/** What must not be shown and is. */
async function findLeaks({ exporter, simulators }: Scene): Promise<readonly string[]> {
  const simulator = simulators.get('demo');
  if (simulator === undefined) throw new Error('the scene has no cluster demo');
  const secrets = [SQL_MARKER, ASSISTANT_PASSWORD, simulator.password, simulator.cloudToken];
  const leaks: string[] = [];
  for (const target of ['/', '/api/status', '/config']) {
    const { text } = await exporter.get(target);
    // Clients of the simulated cluster come from 10.x addresses.
    const addresses = text.match(/\b10\.\d+\.\d+\.\d+:\d+/g) ?? [];
    leaks.push(...secrets.filter((secret) => text.includes(secret)), ...addresses);
  }
  return leaks;
}
