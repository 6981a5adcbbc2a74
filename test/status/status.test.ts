import { describe, expect, test } from 'vitest';
import { ASSISTANT_PASSWORD, SQL_MARKER } from '../../simulator/index.ts';
import { COLLECTORS } from '../../src/collectors/all-collectors.ts';
import type { Status } from '../../src/status/findings/status.ts';
import { openScene, type Scene } from '../browser/scenes.ts';
import { fetchPath } from '../exporter/routes/fetch-path.ts';
import { startPolledOrchard } from '../exporter/routes/orchard.ts';
import { orders } from '../support/collectors.ts';
import { serve } from '../support/http-server.ts';
import { readCluster, readStatus } from './read-status.ts';

/** A single poll: the state must not change while it is compared. */
const SINGLE_POLL = { intervalSeconds: 600 };
const SMALL = { nodes: 3, ranges: 30, sessions: 20 };

describe('/api/status', () => {
  test('reports a calm cluster as healthy, and matches its schema', async () => {
    await using scene = await openScene(SINGLE_POLL);
    const status = await readStatus(scene);
    expect(status.collectors).toEqual({ ok: COLLECTORS.length, failing: 0, waiting: 0 });
    expect(status.clusters).toMatchObject([{ name: 'demo', state: 'healthy', isPolled: true }]);
    expect(status.clusters[0]?.apis).toEqual([
      { api: 'cluster', isUp: true },
      { api: 'cloud', isUp: true },
    ]);
  });

  test('agrees with the simulated state of an unhealthy cluster', async () => {
    await using scene = await openScene({
      ...SINGLE_POLL,
      clusters: { demo: { faultyNodes: true, frozen: true } },
    });
    const truth = scene.simulators.get('demo')?.truth();
    const { nodes, ranges, sessions, state, findings } = await readCluster(scene);
    expect(state).toBe('problems');
    const byStatus = Object.entries(nodes?.byStatus ?? {}).filter(([, count]) => count > 0);
    expect(Object.fromEntries(byStatus)).toEqual(truth?.nodesByStatus);
    const problems = Object.entries(truth?.ranges.problems ?? {}).filter(([, count]) => count > 0);
    expect(ranges?.problems).toEqual(Object.fromEntries(problems));
    const [first] = ranges?.tables ?? [];
    const loaded = truth?.ranges.tables[first?.id ?? ''];
    expect(first?.queriesPerSecond).toBeCloseTo(loaded?.queriesPerSecond ?? NaN, 3);
    expect(first?.ranges).toBe(loaded?.leases);
    const known = truth?.tables.find(({ tableId }) => String(tableId) === first?.id);
    expect(first?.name).toBe(`${known?.database}.${known?.schema}.${known?.table}`);
    expect(first?.sizeBytes).toBeGreaterThan(0);
    expect(sessions?.applications.length).toBeGreaterThan(5);
    const keys = findings.map(({ key }) => key);
    expect(keys).toEqual(
      expect.arrayContaining(['nodes dead', 'nodes draining', 'builds', 'ranges unavailable']),
    );
    expect(findings.map(({ level }) => level)).toEqual(
      findings.map(({ level }) => level).toSorted((a, b) => LEVELS.indexOf(a) - LEVELS.indexOf(b)),
    );
  });
});

describe('a forbidden poll', () => {
  test('of a new collector is on the page, with the privilege that it declares', async () => {
    await using server = await serve((_request, response) => response.writeHead(403).end());
    const flags = { 'cluster.url': [server.url], 'cluster.name': 'shop' };
    const { url } = await startPolledOrchard({ collectors: [orders], flags });
    const status: Status = JSON.parse((await fetchPath(url, '/api/status')).text);
    expect(status.clusters[0]?.collectors[0]?.error).toMatchObject({
      reason: 'forbidden',
      advice:
        'Run GRANT SELECT ON TABLE orders TO USER. `crdb-exporter diagnose --cluster shop` checks every step.',
    });
    const page = (await fetchPath(url, '/')).text;
    expect(page).toMatch(/<th[^>]*>orders<\/th>/);
    expect(page).toContain('Run GRANT SELECT ON TABLE orders TO USER.');
  });
});

const LEVELS = ['critical', 'warning', 'info'];

const FAULTS = [
  { kind: 'status', status: 500, body: `pq: ${SQL_MARKER}` },
  { kind: 'status', status: 403, body: SQL_MARKER },
  { kind: 'text' },
  { kind: 'bad-json' },
  { kind: 'redirect', location: `http://${SQL_MARKER}.example/` },
] as const;

describe('/', () => {
  test('shows the named cluster, and 404 for an unknown one', async () => {
    await using scene = await openScene({ ...SINGLE_POLL, clusters: { east: SMALL, west: SMALL } });
    const { text } = await scene.exporter.get('/?cluster=west');
    expect(text).toContain('<title>west: ');
    expect(await scene.exporter.get('/?cluster=north')).toMatchObject({
      status: 404,
      text: 'unknown cluster; configured clusters: east, west\n',
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

  test('leaks nothing without a fault', async () => {
    await using scene = await openScene({ clusters: { demo: { faultyNodes: true } } });
    expect(await findLeaks(scene)).toEqual([]);
  });
});

/** Secrets, SQL texts and client addresses that the pages show. */
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
