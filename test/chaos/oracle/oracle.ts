import { TABLES } from '../variants.ts';
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
  for (const { database, schema, table, ranges, columns, indexes } of truth.tables.slice(
    0,
    TABLES,
  )) {
    const labels = { database, schema, table };
    expected.set(keyOf('crdb_table_ranges', labels), ranges);
    expected.set(keyOf('crdb_table_columns', labels), columns);
    expected.set(keyOf('crdb_table_indexes', labels), indexes);
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
