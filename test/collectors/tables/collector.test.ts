import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RequestError } from '../../../src/cockroach/http/errors.ts';
import { tables } from '../../../src/collectors/tables/collector.ts';
import { TABLE_NAME } from '../../../src/collectors/tables/table-details.ts';
import { type Answer, answering, poll, type Polled } from '../support.ts';

const STATEMENT = 'CREATE TABLE public.rides (id UUID NOT NULL, naïve STRING)';

function detailsOf(more: object = {}): object {
  return {
    descriptor_id: 106,
    range_count: 12,
    zone_config_level: 3,
    create_table_statement: STATEMENT,
    columns: [{ name: 'id', type: 'UUID' }, { name: 'naïve' }],
    indexes: [
      { name: 'rides_pkey', column: 'id', seq: 1 },
      { name: 'rides_pkey', column: 'naïve', seq: 2, storing: true },
      { name: 'by_name', column: 'naïve', seq: 1 },
    ],
    grants: [
      { user: 'admin', privileges: ['ALL'] },
      { user: 'movr', privileges: ['SELECT', 'INSERT'] },
      { user: 'movr', privileges: ['SELECT'] },
      { user: 'watcher', privileges: ['SELECT'] },
    ],
    zone_config: {
      range_min_bytes: 134217728,
      range_max_bytes: 536870912,
      gc: { ttl_seconds: 14400 },
      num_replicas: 5,
      num_voters: 3,
      constraints: null,
    },
    ...more,
  };
}

interface Listed extends Polled {
  readonly requests: readonly string[];
}

async function pollTables(answer: Answer, listed: readonly string[]): Promise<Listed> {
  const { api, requests } = answering(answer);
  const options = { tables: listed, discover: false, max_tables: 50 };
  const polled = await poll(tables, api, { options, state: undefined });
  return { ...polled, requests };
}

/** Tables called `absent` or `forbidden` fail. */
function answerSome(path: string): object {
  if (path.includes('absent')) throw new RequestError('not_available', `${path}: HTTP 404`);
  if (path.includes('forbidden')) throw new RequestError('forbidden', `${path}: HTTP 403`);
  return detailsOf();
}

test('a table has its size, schema, grants and effective zone configuration', async () => {
  const { lines, requests } = await pollTables(() => detailsOf(), ['movr.public.rides']);
  const labels = 'database="movr",schema="public",table="rides"';
  expect(requests).toEqual(['/databases/movr/tables/public.rides/']);
  expect(lines).toEqual([
    `crdb_table_info{${labels},table_id="106",zone_config_level="table"} 1`,
    `crdb_table_ranges{${labels}} 12`,
    `crdb_table_columns{${labels}} 2`,
    `crdb_table_indexes{${labels}} 2`,
    `crdb_table_schema_hash{${labels}} ${crc32(STATEMENT)}`,
    `crdb_table_zone_replicas{${labels}} 5`,
    `crdb_table_zone_voters{${labels}} 3`,
    `crdb_table_zone_range_min_bytes{${labels}} 134217728`,
    `crdb_table_zone_range_max_bytes{${labels}} 536870912`,
    `crdb_table_zone_gc_ttl_seconds{${labels}} 14400`,
    `crdb_table_grants{${labels},privilege="ALL"} 1`,
    `crdb_table_grants{${labels},privilege="SELECT"} 2`,
    `crdb_table_grants{${labels},privilege="INSERT"} 1`,
  ]);
});

test('a missing field has no series, or 0 where that is its meaning', async () => {
  const answer = { zone_config: {}, indexes: null, columns: [{}] };
  const { lines } = await pollTables(() => answer, ['movr.rides']);
  const labels = 'database="movr",schema="public",table="rides"';
  expect(lines).toEqual([
    `crdb_table_info{${labels},table_id="",zone_config_level="unknown"} 1`,
    `crdb_table_ranges{${labels}} 0`,
    `crdb_table_columns{${labels}} 1`,
    `crdb_table_indexes{${labels}} 0`,
  ]);
});

test.each([{}, [], { zone_config: {}, columns: [] }])('%j describes no table', async (answer) => {
  await expect(pollTables(() => answer, ['movr.rides'])).rejects.toMatchObject({
    reason: 'decode',
  });
});

test.each([
  [undefined, 'unknown'],
  [0, 'unknown'],
  [1, 'cluster'],
  [2, 'database'],
  [3, 'table'],
  [4, 'unknown'],
  ['x', 'unknown'],
])('zone_config_level %s is %s', async (level, name) => {
  const { of } = await pollTables(() => detailsOf({ zone_config_level: level }), ['movr.rides']);
  expect(of('crdb_table_info')[0]).toContain(`zone_config_level="${name}"`);
});

describe('the list of tables', () => {
  test('may omit the schema public; a table that is listed twice is read once', async () => {
    const { requests } = await pollTables(
      () => detailsOf(),
      ['movr.rides', 'movr.public.rides', 'MovR.Rides', 'movr.archive.rides'],
    );
    expect(requests).toEqual([
      '/databases/movr/tables/public.rides/',
      '/databases/movr/tables/archive.rides/',
    ]);
  });

  test('may be empty, which is no failure and sends no request', async () => {
    const { requests, lines, failure } = await pollTables(() => detailsOf(), []);
    expect([requests, lines, failure]).toEqual([[], [], undefined]);
    const options = { discover: false, max_tables: 50 };
    expect(tables.isIdle?.({ ...options, tables: [] })).toBe(true);
    expect(tables.isIdle?.({ ...options, tables: ['movr.rides'] })).toBe(false);
    expect(tables.isIdle?.({ ...options, tables: [], discover: 'auto' })).toBe(false);
  });

  test.each([
    ['movr.rides', true],
    ['movr.public.rides', true],
    ['rides', false],
    ['a.b.c.d', false],
    ['movr."Rides"', false],
    ['movr..rides', false],
    ['mo-vr.rides', false],
  ])('%s is a valid table name: %s', (text, isGood) => {
    expect(TABLE_NAME.test(text)).toBe(isGood);
  });
});

describe('a table that cannot be read', () => {
  test('does not fail the poll while another one can', async () => {
    const listed = ['movr.absent', 'movr.rides', 'movr.forbidden1', 'movr.forbidden2'];
    const { of, failure } = await pollTables(answerSome, listed);
    expect(failure).toBeUndefined();
    expect(of('crdb_table_ranges')).toHaveLength(1);
  });

  test('fails the poll when no other one can', async () => {
    await expect(pollTables(answerSome, ['movr.absent'])).rejects.toMatchObject({
      reason: 'not_available',
    });
    for (const listed of [
      ['movr.absent', 'movr.forbidden1', 'movr.forbidden2'],
      ['movr.forbidden1', 'movr.forbidden2', 'movr.absent'],
    ]) {
      await expect(pollTables(answerSome, listed)).rejects.toMatchObject({ reason: 'forbidden' });
    }
  });

  test('fails the poll when it is the end of its time, and the tables read before are published', async () => {
    const deadline = new AbortController();
    const { api } = answering((path) => {
      if (!path.includes('slow')) return answerSome(path);
      deadline.abort();
      throw new RequestError('timeout', `${path}: no time left`);
    });
    const listed = ['movr.forbidden', 'movr.rides', 'movr.slow'];
    const options = { tables: listed, discover: false, max_tables: 50 };
    const given = { options, state: undefined, signal: deadline.signal };
    const { of, failure } = await poll(tables, api, given);
    expect(failure).toMatchObject({ reason: 'timeout' });
    expect(of('crdb_table_ranges')).toHaveLength(1);
  });
});

test.each([
  ['2026-01-02T03:04:05Z', ['{database="movr",schema="public",table="rides"} 1767323045']],
  ['0001-01-01T00:00:00Z', []],
  [null, []],
  [undefined, []],
])('statistics of %s have their age', async (stats_last_created_at, expected) => {
  const { of } = await pollTables(() => detailsOf({ stats_last_created_at }), ['movr.rides']);
  expect(of('crdb_table_statistics_updated_timestamp_seconds')).toEqual(expected);
});
