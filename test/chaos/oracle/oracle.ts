import { type Expected, keyOf, type Moment } from './expected.ts';
import { expectNodes } from './nodes.ts';
import { expectRanges } from './ranges.ts';
import { expectSessions } from './sessions.ts';

/** The correct samples of this moment by collector, as far as the simulator knows them. */
export type Expectations = Readonly<Record<string, Expected>>;

export function expectAll(moment: Moment): Expectations {
  return {
    nodes: expectNodes(moment),
    ranges: expectRanges(moment),
    sessions: expectSessions(moment),
    users: new Map([[keyOf('crdb_users', {}), moment.truth.users.length]]),
    tables: expectTables(moment),
    cloud: expectCloud(moment),
  };
}

function expectTables({ truth }: Moment): Expected {
  const expected: Expected = new Map();
  for (const { database, schema, table, ...values } of truth.tables) {
    const labels = { database, schema, table };
    expected.set(keyOf('crdb_table_ranges', labels), values.ranges);
    expected.set(keyOf('crdb_table_columns', labels), values.columns);
    expected.set(keyOf('crdb_table_indexes', labels), values.indexes);
    expected.set(keyOf('crdb_table_size_bytes', labels), values.replicatedBytes);
    expected.set(keyOf('crdb_table_data_bytes', labels), values.dataBytes);
    expected.set(keyOf('crdb_table_live_data_bytes', labels), values.liveBytes);
  }
  const rest = { database: 'other', schema: 'other', table: 'other' };
  expected.set(keyOf('crdb_table_size_bytes', rest), 0);
  expected.set(keyOf('crdb_table_data_bytes', rest), 0);
  expected.set(keyOf('crdb_table_live_data_bytes', rest), 0);
  expected.set(keyOf('crdb_tables', { database: 'other' }), 0);
  const byDatabase = Map.groupBy(truth.tables, ({ database }) => database);
  for (const [database, { length }] of byDatabase) {
    expected.set(keyOf('crdb_tables', { database }), length);
  }
  return expected;
}

const STATUSES = ['pending', 'running', 'deleting', 'failed', 'other'] as const;

function expectCloud({ truth: { assistant } }: Moment): Expected {
  const expected: Expected = new Map();
  expected.set(keyOf('crdb_cloud_migration_assistant_exists', {}), assistant === undefined ? 0 : 1);
  for (const status of STATUSES) {
    const isSo = assistant?.status.toLowerCase() === status ? 1 : 0;
    expected.set(keyOf('crdb_cloud_migration_assistant_status', { status }), isSo);
  }
  return expected;
}
