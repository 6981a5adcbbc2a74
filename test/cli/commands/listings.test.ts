import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, SQL_MARKER, startSimulator } from '../../../simulator/index.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { configFlag, runHere } from '../run.ts';

let simulator: Simulator;
let config: string;

beforeAll(async () => {
  simulator = await startSimulator({ nodes: 5, ranges: 60, sessions: 40, frozen: true });
  config = await configFlag(simulator);
});

afterAll(() => simulator.close());

async function good(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runHere([...args, config]);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  // Some nodes of this cluster are down, which is reported and no failure.
  expect(err).toMatch(
    /^(?:crdb-exporter: (?:skipped, because not live: nodes?|the sessions of node|ranges may be missing) .*\n)*$/,
  );
  return out;
}

type Json = Record<string, unknown>;

function lines(text: string): Json[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line): Json => JSON.parse(line));
}

/** The cells of a table: columns stand two spaces apart at least, and no cell is empty. */
function rows(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
}

function askable(): number[] {
  return simulator
    .truth()
    .nodes.filter((node) => node.scannable)
    .map((node) => node.nodeId);
}

describe('nodes', () => {
  test('lists every node with its status and version', async () => {
    const [header, ...nodes] = rows(await good('nodes'));
    expect(header?.slice(0, 5)).toEqual(['ID', 'STATUS', 'UPDATED', 'ADDRESS', 'VERSION']);
    const seen = nodes.map(([id, status, , , version]) => [Number(id), status, version]);
    const { nodes: truth } = simulator.truth();
    // Nodes that are down come first, live ones last.
    expect(seen.map(([, status]) => status)).toEqual(['dead', 'draining', 'live', 'live', 'live']);
    const listed = seen.toSorted(([a], [b]) => Number(a) - Number(b));
    expect(listed).toEqual(truth.map((node) => [node.nodeId, node.status, node.buildTag]));
  });
});

describe('ranges', () => {
  test('lists every replica on every live node', async () => {
    const replicas = lines(await good('ranges', '--output', 'ndjson'));
    const { stores, ranges } = simulator.truth();
    const total = stores.reduce((sum, store) => sum + store.replicas, 0);
    expect(replicas).toHaveLength(total);
    expect(new Set(replicas.map((replica) => replica['range_id'])).size).toBe(ranges.distinct);
    expect(new Set(replicas.map((replica) => replica['node_id']))).toEqual(new Set(askable()));
  });

  test('with --problems are those that report one', async () => {
    const found = lines(await good('ranges', '--problems', '--output', 'ndjson'));
    const { problemRangeIds } = simulator.truth().ranges;
    const expected = new Set(Object.values(problemRangeIds).flat());
    expect(expected.size).toBeGreaterThan(0);
    expect(new Set(found.map((replica) => replica['range_id']))).toEqual(expected);
    const { err } = await runHere(['ranges', '--problems', config]);
    expect(err).toContain('ranges may be missing that no node reports');
  });

  test('with --problems has the worst first, of equal ones those of the system, by name', async () => {
    await using lost = await startSimulator({
      nodes: 3,
      ranges: 60,
      faultyNodes: false,
      quirks: { systemRangesLost: 'works' },
    });
    for (const id of [2, 3]) lost.world.killNode(id);
    const flag = await configFlag(lost);
    const { out } = await runHere(['ranges', '--problems', '--wide', flag]);
    const [header = [], ...replicas] = rows(out);
    const columns = ['RANGE', 'TABLE'].map((title) => header.indexOf(title));
    expect(replicas.slice(0, 2).map((row) => columns.map((at) => row[at]))).toEqual([
      ['1', 'system: meta ranges'],
      ['2', 'system: node liveness'],
    ]);
  });

  test('with --hot are those with most queries, hottest first', async () => {
    const [, ...found] = rows(await good('ranges', '--hot', '7'));
    const { hot } = simulator.truth().ranges;
    expect(found.map(([id]) => Number(id))).toEqual(hot.slice(0, 7).map(({ rangeId }) => rangeId));
  });

  test('show no keys', async () => {
    expect(await good('ranges', '--output', 'json')).not.toMatch(/_key|\/Table\//);
  });
});

describe('sessions', () => {
  test('lists every open session', async () => {
    const found = lines(await good('sessions', '--output', 'ndjson'));
    const { sessions } = simulator.truth();
    expect(found).toHaveLength(sessions.open);
    const states = Object.groupBy(found, ({ state }) => String(state));
    const total = (name: 'active' | 'idle' | 'idleInTransaction'): number =>
      sessions.byNode.reduce((sum, node) => sum + node[name], 0);
    expect(states['active'] ?? []).toHaveLength(total('active'));
    expect(states['idle_in_transaction'] ?? []).toHaveLength(total('idleInTransaction'));
  });

  test('as JSON are a document, even if there are none', async () => {
    // Not all nodes answered, so that none found is a failure.
    const args = ['sessions', '--user', 'nobody', '--output', 'json', config];
    const { out: text } = await runHere(args);
    expect(text).toMatch(/^\{"sessions": \[\n\]/);
    expect(JSON.parse(text)).toMatchObject({ sessions: [] });
    expect(await good('users', '--output', 'json')).toMatch(/^\{"users": \[\n\{.+\}\n\]/s);
  });

  test('shows SQL only with --show-sql, and addresses never', async () => {
    expect(await good('sessions', '--output', 'json')).not.toContain(SQL_MARKER);
    const shown = await good('sessions', '--show-sql', '--output', 'json');
    expect(shown).toContain(SQL_MARKER);
    expect(shown).not.toMatch(/client_address|\b10\.\d+\.\d+\.\d+:\d+/);
  });

  test('keeps hostile application names in their place', async () => {
    const text = await good('sessions');
    const [header = '', ...found] = text.trimEnd().split('\n');
    expect(found).toHaveLength(simulator.truth().sessions.open);
    const column = header.indexOf('STATE');
    for (const line of found) expect(line.slice(column - 2)).toMatch(/^ {2}(?:active|idle)/);
    expect(text).toContain(String.raw`two\nlines`);
    expect(Math.max(...found.map((line) => line.length))).toBeLessThan(250);
  });
});

test('no session at all is a failure while a node does not answer', async () => {
  await using quiet = await startSimulator({ nodes: 5, ranges: 10, sessions: 0, frozen: true });
  const { code, err } = await runHere(['sessions', await configFlag(quiet)]);
  expect(err).toMatch(
    /the sessions of node \d+ are missing: the responding node could not read them/,
  );
  expect(code).toBe(1);
});

test('a list without the sessions of some nodes names them, and says that it is only that of the user', async () => {
  await using hurt = await startSimulator({
    nodes: 5,
    ranges: 10,
    sessions: 30,
    faultyNodes: false,
    frozen: true,
    users: [{ name: 'watcher', password: 'watcher-demo', privileges: ['VIEWCLUSTERMETADATA'] }],
  });
  for (const id of [2, 4]) hurt.world.killNode(id);
  const clusterApi = 'username: watcher, password: watcher-demo';
  const { err } = await runHere(['sessions', await configFlag(hurt, { clusterApi })]);
  expect(err).toContain(
    'the sessions of nodes 2 and 4 are missing: the responding node could not read them; see `nodes`\n',
  );
  expect(err).toContain('the list has only sessions of the user watcher: to see those of others');
});

test('a list that the server cut is a failure', async () => {
  await using calm = await startSimulator({ nodes: 3, ranges: 10, frozen: true });
  const { origin } = new URL(calm.clusterUrl);
  await using proxy = await openProxy(origin, (url, text) => {
    if (!url.includes('/sessions/')) return text;
    return JSON.stringify({ ...JSON.parse(text), errors: [{ message: 'no gossip' }] });
  });
  const { code, out, err } = await runHere([
    'sessions',
    await configFlag({ ...calm, clusterUrls: [`${proxy.url}/api/v2`] }),
  ]);
  expect(err).toContain('sessions are missing: the responding node could not ask all nodes');
  expect({ code, rows: out.split('\n').length > 5 }).toEqual({ code: 1, rows: true });
});

test.each(['nodes', 'ranges'])('%s says that a listed node could not be read', async (command) => {
  await using calm = await startSimulator({ nodes: 3, ranges: 10, frozen: true });
  await using proxy = await openProxy(new URL(calm.clusterUrl).origin, (url, text) =>
    url.includes('/nodes/') ? text.replaceAll(/"node_id":\s*2\b/g, '"node_id": "two"') : text,
  );
  const { err } = await runHere([
    command,
    await configFlag({ ...calm, clusterUrls: [`${proxy.url}/api/v2`] }),
  ]);
  expect(err).toContain('list of nodes: 1 of 3 cannot be read');
});
