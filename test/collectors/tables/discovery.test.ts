import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../../simulator/index.ts';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { onlyCollectors } from '../../support/collectors.ts';
import { clusterYaml, startTestExporter } from '../../support/exporter.ts';
import type { Answer } from '../support.ts';
import { discover, failing, pageOf, rowOf, UPDATED_MS } from './listing.ts';

test('every table has its sizes, and the rest none', async () => {
  const { lines, requests, warnings } = await discover(() => pageOf([rowOf(106)]));
  const labels = 'database="movr",schema="public",table="t106"';
  const rest = 'database="other",schema="other",table="other"';
  expect(requests).toEqual([
    '/table_metadata/?pageNum=1&pageSize=10000&sortBy=replicationSize&sortOrder=desc',
  ]);
  expect(lines.toSorted()).toEqual(
    [
      `crdb_table_info{${labels},table_id="106",zone_config_level="unknown"} 1`,
      `crdb_table_ranges{${labels}} 106`,
      `crdb_table_columns{${labels}} 3`,
      `crdb_table_indexes{${labels}} 2`,
      `crdb_table_size_bytes{${labels}} 3180`,
      `crdb_table_size_bytes{${rest}} 0`,
      `crdb_table_data_bytes{${labels}} 1060`,
      `crdb_table_data_bytes{${rest}} 0`,
      `crdb_table_live_data_bytes{${labels}} 530`,
      `crdb_table_live_data_bytes{${rest}} 0`,
      'crdb_tables{database="movr"} 1',
      'crdb_tables{database="other"} 0',
      'crdb_database_size_bytes{database="movr"} 3180',
      'crdb_database_size_bytes{database="other"} 0',
      `crdb_table_metadata_oldest_update_timestamp_seconds ${UPDATED_MS / 1000 - 106}`,
    ].toSorted(),
  );
  expect(warnings).toEqual([]);
});

test('a size that the server could not compute is unknown; an old one beside an error is kept', async () => {
  const zeros = { replication_size_bytes: 0, total_data_bytes: 0, total_live_data_bytes: 0 };
  const error = { last_update_error: 'could not connect to n3' };
  const { of, result } = await discover(() =>
    pageOf([
      rowOf(1, { ...zeros, range_count: 0, ...error }),
      rowOf(2, error),
      rowOf(3, { ...zeros, last_update_error: '' }),
    ]),
  );
  const other = '{database="other",schema="other",table="other"} 0';
  expect(of('crdb_table_size_bytes').toSorted()).toEqual([
    '{database="movr",schema="public",table="t2"} 60',
    '{database="movr",schema="public",table="t3"} 0',
    other,
  ]);
  expect(of('crdb_table_ranges').toSorted()).toEqual([
    '{database="movr",schema="public",table="t2"} 2',
    '{database="movr",schema="public",table="t3"} 3',
  ]);
  expect(of('crdb_table_columns')).toHaveLength(3);
  expect(JSON.stringify(result)).not.toContain('connect');
});

test('no sum is known over a size that the server could not compute', async () => {
  const unknown = {
    replication_size_bytes: 0,
    total_data_bytes: 0,
    total_live_data_bytes: 0,
    last_update_error: 'An error has occurred while fetching span stats.',
  };
  const rows = [
    rowOf(5),
    rowOf(4, unknown),
    rowOf(3, { db_name: 'a' }),
    rowOf(2, { ...unknown, db_name: 'b' }),
    rowOf(1, { ...unknown, db_name: 'c' }),
  ];
  const { of } = await discover(() => pageOf(rows), { max_tables: 2 });
  expect(of('crdb_database_size_bytes')).toEqual(['{database="a"} 90']);
  expect(of('crdb_tables')).toEqual([
    '{database="movr"} 2',
    '{database="a"} 1',
    '{database="other"} 2',
  ]);
  for (const family of ['size', 'data', 'live_data']) {
    const lines = of(`crdb_table_${family}_bytes`);
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain('"other"');
  }
});

test('the age of the sizes is that of the oldest, also of one that is only in a sum', async () => {
  const old = { last_updated: '2025-12-01T00:00:00Z' };
  const failed = { replication_size_bytes: 0, total_data_bytes: 0, last_update_error: 'x' };
  const rows = [
    rowOf(3),
    rowOf(2, old),
    rowOf(1, { ...failed, last_updated: '2025-11-01T00:00:00Z' }),
  ];
  const { of } = await discover(() => pageOf(rows), { max_tables: 1 });
  expect(of('crdb_table_metadata_oldest_update_timestamp_seconds')).toEqual([
    String(Date.UTC(2025, 11, 1) / 1000),
  ]);
});

describe('the tables with series of their own', () => {
  const rows = [1, 2, 3, 4].map((id) => rowOf(id));

  test('are the largest; the others are summed', async () => {
    const { of } = await discover(() => pageOf(rows), { max_tables: 2 });
    expect(of('crdb_table_size_bytes')).toEqual([
      '{database="movr",schema="public",table="t4"} 120',
      '{database="movr",schema="public",table="t3"} 90',
      '{database="other",schema="other",table="other"} 90',
    ]);
    expect(of('crdb_table_metadata_oldest_update_timestamp_seconds')).toEqual([
      String(UPDATED_MS / 1000 - 4),
    ]);
  });

  test('are also the listed ones and those that other collectors name', async () => {
    const details = {
      descriptor_id: 2,
      range_count: 77,
      zone_config_level: 3,
      zone_config: {},
      columns: [{}],
    };
    const answer: Answer = (path) => (path.startsWith('/table_') ? pageOf(rows) : details);
    const { of } = await discover(answer, { max_tables: 1, tables: ['movr.t2'] }, ['1']);
    expect(of('crdb_table_size_bytes')).toEqual([
      '{database="movr",schema="public",table="t2"} 60',
      '{database="movr",schema="public",table="t4"} 120',
      '{database="movr",schema="public",table="t1"} 30',
      '{database="other",schema="other",table="other"} 90',
    ]);
    // The details of a listed table are newer than the list.
    expect(of('crdb_table_ranges')).toEqual([
      '{database="movr",schema="public",table="t2"} 77',
      '{database="movr",schema="public",table="t4"} 4',
      '{database="movr",schema="public",table="t1"} 1',
    ]);
    expect(of('crdb_table_info')[0]).toContain('zone_config_level="table"');
  });

  test('called other.other.other are added to the rest, as is a database of that name', async () => {
    const names = { db_name: 'other', schema_name: 'other', table_name: 'other' };
    const { of } = await discover(() => pageOf([rowOf(7, names), rowOf(1)]), { max_tables: 1 });
    expect(of('crdb_table_size_bytes')).toEqual([
      '{database="other",schema="other",table="other"} 240',
    ]);
    expect(of('crdb_tables')).toEqual(['{database="other"} 2']);
  });

  test('have clean names', async () => {
    const { of, result } = await discover(() =>
      pageOf([rowOf(7, { db_name: 'a\nb', table_name: 'x'.repeat(500) })]),
    );
    expect(of('crdb_tables')[0]).toBe('{database="a\uFFFDb"} 1');
    expect(result.names.get('7')).toBe(`a\uFFFDb.public.${'x'.repeat(128)}`);
  });
});

test('the largest databases have series of their own', async () => {
  const { of } = await discover(
    () =>
      pageOf([rowOf(1, { db_name: 'a' }), rowOf(2, { db_name: 'a' }), rowOf(4, { db_name: 'b' })]),
    { max_tables: 1 },
  );
  expect(of('crdb_database_size_bytes')).toEqual(['{database="b"} 120', '{database="other"} 90']);
  expect(of('crdb_tables')).toEqual(['{database="b"} 1', '{database="other"} 2']);
});

test('the names of all tables are known by id, also of those without series', async () => {
  const { result } = await discover(() => pageOf([rowOf(1), rowOf(2)]), { max_tables: 0 });
  expect([...result.names]).toEqual([
    ['1', 'movr.public.t1'],
    ['2', 'movr.public.t2'],
  ]);
});

describe('a server without the list', () => {
  test('leaves the listed tables, without a failure', async () => {
    const { of, failure, result, warnings } = await discover(failing('not_available'), {
      tables: ['movr.rides'],
    });
    expect(of('crdb_table_ranges')).toEqual(['{database="movr",schema="public",table="rides"} 7']);
    expect(of('crdb_tables')).toEqual([]);
    expect([failure, warnings]).toEqual([undefined, []]);
    expect([...result.names]).toEqual([['1', 'movr.public.rides']]);
  });

  test('is a failure when the list is demanded', async () => {
    await expect(discover(failing('not_available'), { discover: true })).rejects.toMatchObject({
      reason: 'not_available',
    });
    const { failure, of } = await discover(failing('not_available'), {
      discover: true,
      tables: ['movr.rides'],
    });
    expect(failure).toMatchObject({ reason: 'not_available' });
    expect(of('crdb_table_ranges')).toHaveLength(1);
  });
});

test.each([403, 404, 501])(
  'a login that answers %i is no server without the list',
  async (status) => {
    await using simulator = await startSimulator({ nodes: 1, faultyNodes: false });
    await using exporter = await startTestExporter({
      yaml: `${onlyCollectors({ tables: {} })}clusters:\n${clusterYaml(simulator)}`,
      intervalSeconds: 0.1,
    });
    await exporter.until((scrape) => (scrape.value('crdb_tables', { database: 'movr' }) ?? 0) > 0);
    simulator.world.revokeTokens();
    simulator.fault({ endpoint: 'login', kind: 'status', status });
    const seen = await exporter.until(
      (scrape) => scrape.value('crdb_exporter_collector_success', { collector: 'tables' }) === 0,
    );
    expect(seen.value('crdb_tables', { database: 'movr' })).toBeGreaterThan(0);
  },
);

test('a refused list is logged and leaves the listed tables', async () => {
  const { warnings, failure } = await discover(failing('forbidden'), { tables: ['movr.rides'] });
  expect([failure, warnings]).toEqual([undefined, ['tables: forbidden at x']]);
});

test('a list that fails otherwise is a failure, and the listed tables are published', async () => {
  const { failure, of } = await discover(failing('http'), { tables: ['movr.rides'] });
  expect(failure).toMatchObject({ reason: 'http', message: 'http at x' });
  expect(of('crdb_table_ranges')).toHaveLength(1);
  await expect(discover(failing('http'))).rejects.toMatchObject({ reason: 'http' });
});

test('listed tables that all fail are a failure, and the list is published', async () => {
  const gone = new RequestError('not_available', 'table at x: HTTP 404');
  const answer: Answer = (path) => {
    if (path.startsWith('/table_metadata/')) return pageOf([rowOf(1)]);
    throw gone;
  };
  const { failure, of } = await discover(answer, { tables: ['movr.gone'] });
  expect(failure).toMatchObject({ reason: 'not_available' });
  expect(of('crdb_tables')).toContain('{database="movr"} 1');
});

test('an empty list shows that the server has made none yet, or a missing privilege', async () => {
  const { warnings, failure, lines } = await discover(() => pageOf(null));
  expect([failure, lines]).toEqual([undefined, []]);
  expect(warnings.join()).toMatch(
    /the server lists no table: open the databases in DB Console, .*automatic_updates\.enabled = true: .*; if DB Console shows tables, GRANT CONNECT ON DATABASE … to the user/,
  );
});

test.each([0, 1.5, '107'])('a list with the table %j is not one of the others', async (id) => {
  const unread = rowOf(107, { table_id: id });
  await expect(discover(() => pageOf([rowOf(106), unread]))).rejects.toMatchObject({
    reason: 'decode',
    message: 'list of tables: 1 of 2 cannot be read',
  });
});
