import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../../simulator/index.ts';
import { openProxy } from '../../support/changing-proxy.ts';
import { configFlag, runHere } from '../run.ts';

let simulator: Simulator;
let config: string;

beforeAll(async () => {
  simulator = await startSimulator({
    nodes: 3,
    ranges: 60,
    sessions: 0,
    frozen: true,
    faultyNodes: false,
    extraTables: 600,
    quirks: { tableCacheAgeMs: 0 },
  });
  config = await configFlag(simulator);
});

afterAll(() => simulator.close());

type Json = Record<string, unknown>;

async function list(...args: readonly string[]): Promise<readonly Json[]> {
  const { code, out, err } = await runHere(['tables', ...args, '--output', 'ndjson', config]);
  const notes = err.replace(/^crdb-exporter: reads all ranges of 3 nodes: .*\n/, '');
  expect({ code, notes }).toEqual({ code: 0, notes: '' });
  return out
    .trimEnd()
    .split('\n')
    .map((line): Json => JSON.parse(line));
}

describe('tables', () => {
  test('lists all tables with their sizes, the largest first', async () => {
    const found = await list();
    const truth = simulator
      .truth()
      .tables.toSorted((a, b) => b.replicatedBytes - a.replicatedBytes || a.tableId - b.tableId);
    expect(found.map((table) => [table['table_id'], table['replication_size_bytes']])).toEqual(
      truth.map((table) => [table.tableId, table.replicatedBytes]),
    );
    expect(found[0]).toEqual({
      database: truth[0]?.database,
      schema: truth[0]?.schema,
      table: truth[0]?.table,
      table_id: truth[0]?.tableId,
      replication_size_bytes: truth[0]?.replicatedBytes,
      total_data_bytes: truth[0]?.dataBytes,
      total_live_data_bytes: truth[0]?.liveBytes,
      range_count: truth[0]?.ranges,
      column_count: truth[0]?.columns,
      index_count: truth[0]?.indexes,
      last_updated: new Date(simulator.truth().nowMs).toISOString(),
    });
  });

  test.each([
    ['23 hours', 23, false],
    ['9 days', 9 * 24, true],
  ])('of %s ago are noted where they are too old', async (_age, hours, isNoted) => {
    const { origin } = new URL(simulator.clusterUrl);
    const updated = new Date(Date.now() - hours * 3_600_000).toISOString();
    await using proxy = await openProxy(origin, (_url, text) =>
      text.replaceAll(/"last_updated":\s*"[^"]*"/g, `"last_updated": "${updated}"`),
    );
    const file = await configFlag({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] });
    const { code, err } = await runHere(['tables', file]);
    expect(code).toBe(0);
    expect(err.includes('obs.tablemetadata.automatic_updates.enabled')).toBe(isNoted);
  });

  test('with the load of all their ranges', async () => {
    const found = await list('--database', 'movr', '--load');
    const { hot } = simulator.truth().ranges;
    for (const table of found) {
      const ranges = hot.filter(({ tableId }) => tableId === String(table['table_id']));
      const queries = ranges.reduce((sum, range) => sum + range.queriesPerSecond, 0);
      expect(table['queries_per_second']).toBeCloseTo(queries, 6);
      expect(table['cpu_seconds_per_second']).toBeGreaterThan(0);
    }
  });

  test('with the remedy where no node is live', async () => {
    const { origin } = new URL(simulator.clusterUrl);
    await using proxy = await openProxy(origin, (url, text) =>
      url.includes('/nodes/?')
        ? text.replaceAll(/"liveness_status":\s*3/g, '"liveness_status":1')
        : text,
    );
    const file = await configFlag({ ...simulator, clusterUrls: [`${proxy.url}/api/v2`] });
    const { code, err } = await runHere(['tables', '--load', file]);
    expect(code).toBe(1);
    expect(err).toContain('no node is live, draining or decommissioning; start the nodes');
  });

  test.each([
    [
      0,
      { node: 2 },
      'the loads are too low: they lack those nodes\n',
      /"failed_nodes": \[\{"node_id":2,"reason":"forbidden",/,
    ],
    [1, {}, 'ranges: 3 of 3 nodes were not read; ', /^$/],
  ])(
    'with the remedy of ranges that cannot be read: exit code %i',
    async (code, where, told, json) => {
      const forbidden = { kind: 'status', status: 403, endpoint: 'node_ranges' } as const;
      const fault = simulator.fault({ ...forbidden, ...where });
      const run = await runHere(['tables', '--load', config]);
      const { out } = await runHere(['tables', '--load', '--output', 'json', config]);
      fault.remove();
      expect(out).toMatch(json);
      expect(run.code).toBe(code);
      expect(run.err).toContain('are missing: run GRANT SYSTEM VIEWCLUSTERMETADATA TO exporter;');
      expect(run.err).toContain(told);
      expect(run.err).toMatch(
        /reads all ranges of 3 nodes: about \d+ replicas, .*; Ctrl-C cancels$/m,
      );
    },
  );

  test.each([
    ['nothing', 'check the name'],
    ['mover', 'did you mean movr?'],
  ])('are none of a database that the user may not see: %s', async (database, hint) => {
    const { code, err } = await runHere(['tables', '--load', '--database', database, config]);
    expect(code).toBe(1);
    expect(err).not.toContain('reads all ranges');
    expect(err).toContain(`but none of the database ${database}: ${hint}; if it is new, open it`);
    expect(err).toContain('GRANT CONNECT ON DATABASE');
  });

  test('have names in the list of ranges, where the server lists them', async () => {
    const named = await runHere(['ranges', '1', '--output', 'ndjson', config]);
    expect(named.out).toContain('"table_id":107,"table":"movr.public.rides"');
    simulator.setQuirk('tableMetadata', false);
    const bare = await runHere(['ranges', '1', '--output', 'ndjson', config]);
    const { code, err } = await runHere(['tables', config]);
    simulator.setQuirk('tableMetadata', true);
    expect(bare.code).toBe(0);
    expect(bare.out).toContain('"table_id":107,"table":null');
    expect(code).toBe(1);
    expect(err).toContain('servers list their tables from version 24.3 on');
  });
});
