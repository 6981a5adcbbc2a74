import { describe, expect, test } from 'vitest';
import { startSimulator, type Truth } from '../../simulator/index.ts';
import { nodes } from '../../src/collectors/nodes/collector.ts';
import { sessions } from '../../src/collectors/sessions/collector.ts';
import { tables } from '../../src/collectors/tables/collector.ts';
import { users } from '../../src/collectors/users.ts';
import { cleanLabelValue } from '../../src/metrics/label-text.ts';
import { simulatedApi } from './ranges/simulated.ts';
import { poll, type Polled } from './support.ts';

/** A Date header has whole seconds. */
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
/** Fewer metrics and ranges of a node than usual, which nothing here reads. */
const SMALL = { metricKeys: 'useful', ranges: 60 } as const;
const NODES = { page_limit: 4, metrics: [] };
const SESSIONS = {
  page_limit: 50,
  max_applications: 1000,
  max_users: 20,
  include_internal: false,
  application_rewrite: [],
};
const DIALECTS = ['real', 'documented'] as const;

/** Sample values of a family by label text without braces. */
function valuesOf({ of }: Polled, family: string): ReadonlyMap<string, number> {
  return new Map(
    of(family).map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(1, space - 1), Number(line.slice(space + 1))];
    }),
  );
}

function byNode<T extends { readonly nodeId: number }>(
  truths: readonly T[],
  value: (truth: T) => number,
): ReadonlyMap<string, number> {
  return new Map(truths.map((truth) => [`node_id="${truth.nodeId}"`, value(truth)]));
}

function ageSeconds(truth: Truth, sinceMs: number | undefined): number {
  return sinceMs === undefined ? 0 : (truth.nowMs - sinceMs) / 1000;
}

function expectNodes(polled: Polled, truth: Truth): void {
  const counts = valuesOf(polled, 'crdb_nodes');
  for (const [status, count] of Object.entries(truth.nodesByStatus)) {
    expect([status, counts.get(`status="${status}"`)]).toEqual([status, count]);
  }
  const states = valuesOf(polled, 'crdb_node_liveness');
  expect(states.size).toBe(8 * truth.nodes.length);
  for (const { nodeId, status } of truth.nodes) {
    expect(states.get(`node_id="${nodeId}",status="${status}"`)).toBe(1);
  }
  const started = byNode(truth.nodes, (node) => node.startedAtMs / 1000);
  const updated = byNode(truth.nodes, (node) => node.updatedAtMs / 1000);
  expect(valuesOf(polled, 'crdb_node_started_timestamp_seconds')).toEqual(started);
  expect(valuesOf(polled, 'crdb_node_updated_timestamp_seconds')).toEqual(updated);
  const newestMs = Math.max(...truth.nodes.map((node) => node.updatedAtMs));
  const fresh = truth.nodes.filter(
    ({ status, updatedAtMs }) => status !== 'dead' && newestMs - updatedAtMs <= 60_000,
  );
  expect([...valuesOf(polled, 'crdb_node_resident_memory_bytes').keys()]).toEqual([
    ...byNode(fresh, () => 0).keys(),
  ]);
}

function expectSessions(polled: Polled, truth: Truth): void {
  const { sessions: expected } = truth;
  const byAge = valuesOf(polled, 'crdb_sessions_by_age_seconds_bucket');
  for (const upper of [60, 600, 3600, 86_400, Infinity]) {
    const young = expected.startsMs.filter((start) => truth.nowMs - start <= upper * 1000);
    const label = upper === Infinity ? '+Inf' : upper;
    expect([upper, byAge.get(`le="${label}"`)]).toEqual([upper, young.length]);
  }
  const queriesByAge = valuesOf(polled, 'crdb_active_queries_by_age_seconds_bucket');
  for (const upper of [1, 10, 60, 600, 3600, Infinity]) {
    const young = expected.queryStartsMs.filter((start) => truth.nowMs - start <= upper * 1000);
    const label = upper === Infinity ? '+Inf' : upper;
    expect([upper, queriesByAge.get(`le="${label}"`)]).toEqual([upper, young.length]);
  }
  const byUser = Map.groupBy(expected.byApplication, ({ user }) => user);
  const counted = valuesOf(polled, 'crdb_user_sessions');
  for (const [user, pairs] of byUser) {
    const idle = pairs.reduce((sum, pair) => sum + pair.idle, 0);
    expect([user, counted.get(`user="${user}",state="idle"`)]).toEqual([user, idle]);
  }
  const rows = expected.byNode.toSorted((a, b) => a.nodeId - b.nodeId);
  for (const [family, value] of [
    ['crdb_session_alloc_bytes', (row) => row.allocBytes],
    ['crdb_session_max_alloc_bytes', (row) => row.maxAllocBytes],
    ['crdb_session_largest_alloc_bytes', (row) => row.largestAllocBytes],
    ['crdb_session_client_addresses', (row) => row.clientHosts],
    ['crdb_oldest_transaction_age_seconds', (row) => ageSeconds(truth, row.oldestTransactionMs)],
    ['crdb_oldest_query_age_seconds', (row) => ageSeconds(truth, row.oldestQueryMs)],
  ] satisfies [string, (row: (typeof rows)[number]) => number][]) {
    expect([family, valuesOf(polled, family)]).toEqual([family, byNode(rows, value)]);
  }
  const states = valuesOf(polled, 'crdb_sessions');
  const phases = valuesOf(polled, 'crdb_active_queries');
  const kinds = valuesOf(polled, 'crdb_open_transactions');
  for (const row of rows) {
    const node = `node_id="${row.nodeId}"`;
    expect({
      active: states.get(`${node},state="active"`),
      idleInTransaction: states.get(`${node},state="idle_in_transaction"`),
      idle: states.get(`${node},state="idle"`),
      preparing: phases.get(`${node},phase="preparing"`),
      executing: phases.get(`${node},phase="executing"`),
      explicitTransactions: kinds.get(`${node},kind="explicit"`),
      implicitTransactions: kinds.get(`${node},kind="implicit"`),
    }).toEqual({
      active: row.active,
      idleInTransaction: row.idleInTransaction,
      idle: row.idle,
      preparing: row.preparing,
      executing: row.executing,
      explicitTransactions: row.explicitTransactions,
      implicitTransactions: row.implicitTransactions,
    });
  }
  const failed = valuesOf(polled, 'crdb_session_fanout_errors');
  const failedIds = [...failed].filter(([, value]) => value === 1).map(([labels]) => labels);
  expect(failedIds).toEqual(expected.failedNodeIds.map((id) => `node_id="${id}"`));
}

/** Sums by pair, as in the labels. */
function expectApplications(polled: Polled, { sessions: expected }: Truth): void {
  const names = ['other', ...expected.byApplication.map(({ user }) => user)];
  const pairs = new Map(names.map((user) => [`application="other",user="${user}"`, 0]));
  for (const { application, user, allocBytes } of expected.byApplication) {
    const name = cleanLabelValue(application).replaceAll(/[\\"]/g, String.raw`\$&`) || 'unset';
    const pair = `application="${name}",user="${user}"`;
    pairs.set(pair, (pairs.get(pair) ?? 0) + allocBytes);
  }
  expect(valuesOf(polled, 'crdb_application_session_alloc_bytes')).toEqual(pairs);
  expect(polled.samples.duplicates.size).toBe(0);
}

function labelsOf({ database, schema, table }: Truth['tables'][number]): string {
  return `database="${database}",schema="${schema}",table="${table}"`;
}

function pollSessions(api: Parameters<typeof sessions.collect>[0], truth: Truth): Promise<Polled> {
  const state = sessions.createState();
  return poll(sessions, api, { options: SESSIONS, state, nowMs: truth.nowMs });
}

describe.each(DIALECTS)('counts match the simulator, in the %s dialect', (dialect) => {
  test('of nodes and sessions, with dead, draining and unusual nodes', async () => {
    await using simulator = await startSimulator({
      ...SMALL,
      frozen: true,
      now: () => NOW_MS,
      dialect,
      sessions: 300,
    });
    await using cluster = simulatedApi(simulator);
    expectNodes(
      await poll(nodes, cluster.api, { options: NODES, state: nodes.createState() }),
      simulator.truth(),
    );
    const polled = await pollSessions(cluster.api, simulator.truth());
    expectSessions(polled, simulator.truth());
    expectApplications(polled, simulator.truth());
    expect([...cluster.decodeErrors.values()].filter((count) => count > 0)).toEqual([]);
  });

  test('of users and tables', async () => {
    await using simulator = await startSimulator({
      ...SMALL,
      frozen: true,
      dialect,
      quirks: { tableCacheAgeMs: 0 },
    });
    await using cluster = simulatedApi(simulator);
    const truth = simulator.truth();
    const counted = await poll(users, cluster.api, { options: {}, state: undefined });
    expect(counted.lines).toEqual([`crdb_users ${truth.users.length}`]);
    const listed = truth.tables.map((each) => `${each.database}.${each.schema}.${each.table}`);
    const polled = await poll(tables, cluster.api, {
      options: { tables: listed, discover: 'auto', max_tables: 50 },
      state: undefined,
    });
    const sizes = valuesOf(polled, 'crdb_table_size_bytes');
    for (const table of dialect === 'real' ? truth.tables : []) {
      expect(sizes.get(labelsOf(table))).toBe(table.replicatedBytes);
    }
    for (const [family, value] of [
      ['crdb_table_ranges', (table) => table.ranges],
      ['crdb_table_columns', (table) => table.columns],
      ['crdb_table_indexes', (table) => table.indexes],
    ] satisfies [string, (table: Truth['tables'][number]) => number][]) {
      const expected = truth.tables.map((table): [string, number] => [
        labelsOf(table),
        value(table),
      ]);
      expect([family, valuesOf(polled, family)]).toEqual([family, new Map(expected)]);
    }
    expect([...cluster.decodeErrors.values()].filter((count) => count > 0)).toEqual([]);
  });
});

describe('other server versions', () => {
  test('closed and internal sessions of a server that lists them are excluded', async () => {
    await using simulator = await startSimulator({
      ...SMALL,
      frozen: true,
      now: () => NOW_MS,
      quirks: { excludeClosed: false, internalSessions: true },
    });
    await using cluster = simulatedApi(simulator);
    expect(simulator.truth().sessions.closed).toBeGreaterThan(0);
    expectSessions(await pollSessions(cluster.api, simulator.truth()), simulator.truth());
  });

  test('unknown enum values count as other and decode', async () => {
    await using simulator = await startSimulator({
      ...SMALL,
      frozen: true,
      quirks: { unknownValues: true },
    });
    await using cluster = simulatedApi(simulator);
    const polled = await poll(nodes, cluster.api, { options: NODES, state: nodes.createState() });
    expect(valuesOf(polled, 'crdb_nodes').get('status="other"')).toBe(1);
    const listed = await pollSessions(cluster.api, simulator.truth());
    const phases = valuesOf(listed, 'crdb_active_queries');
    const others = [...phases].filter(([labels]) => labels.endsWith('phase="other"'));
    expect(others.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(0);
  });
});
