import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildBoard, type Row } from './lib/board.ts';
import { graph } from './lib/graph.ts';
import { stat } from './lib/panels.ts';
import { table } from './lib/table.ts';
import { choice, many, S } from './lib/variables.ts';
import { tableLoad } from './table-load.ts';

const CHOSEN = `${S}, database=~"$database"`;
const OF_TABLE = 'database, schema, table';
const DAY = 86_400;

function byTable(family: string): string {
  return `max by (${OF_TABLE}) (${family}{${CHOSEN}})`;
}

function byDatabase(family: string): string {
  return `max by (database) (${family}{${CHOSEN}})`;
}

/** The server computes sizes now and then: a trend needs some hours. */
function growthPerDay(family: string, labels: string): string {
  return `${DAY} * max by (${labels}) (deriv(${family}{${CHOSEN}}[1d]))`;
}

/** While the size of one database is not known, a total would lack it. */
function sumOfDatabases(sizes: string): string {
  const known = `count(${byDatabase('crdb_database_size_bytes')})`;
  return `sum(${sizes}) and ${known} == count(${byDatabase('crdb_tables')})`;
}

const SIZE = byTable('crdb_table_size_bytes');
const LARGEST = `topk($top, ${SIZE})`;

const sizes: Row = {
  title: 'Size',
  panels: [
    stat('Size of all tables', {
      about:
        'On disk over all replicas (crdb_database_size_bytes). No data while that of one table is not known.',
      queries: sumOfDatabases(byDatabase('crdb_database_size_bytes')),
      unit: 'bytes',
      width: 6,
    }),
    stat('Growth per day', {
      about: 'By the trend of the last day (crdb_database_size_bytes).',
      queries: sumOfDatabases(growthPerDay('crdb_database_size_bytes', 'database')),
      unit: 'bytes',
      width: 6,
    }),
    stat('Tables', {
      about: 'Tables that the user of the exporter may see (crdb_tables).',
      queries: `sum(${byDatabase('crdb_tables')})`,
      unit: 'short',
      width: 6,
    }),
    stat('Age of the sizes', {
      about:
        'Time since the server computed the oldest size shown (crdb_table_metadata_oldest_update_timestamp_seconds). After a day they are old: the cluster setting obs.tablemetadata.automatic_updates.enabled keeps them young.',
      queries: `time() - min(crdb_table_metadata_oldest_update_timestamp_seconds{${S}})`,
      unit: 's',
      width: 6,
    }),
    table('Largest tables', {
      about:
        'Size on disk over all replicas, its growth by the trend of the last day, data of one replica and its live share (crdb_table_size_bytes, crdb_table_data_bytes, crdb_table_live_data_bytes). A low live share: deleted rows wait for garbage collection.',
      labels: { database: 'database', schema: 'schema', table: 'table' },
      values: [
        { title: 'size', unit: 'bytes', expr: LARGEST },
        {
          title: 'growth per day',
          unit: 'bytes',
          expr: `${growthPerDay('crdb_table_size_bytes', OF_TABLE)} and on (${OF_TABLE}) ${LARGEST}`,
        },
        {
          title: 'data',
          unit: 'bytes',
          expr: `${byTable('crdb_table_data_bytes')} and on (${OF_TABLE}) ${LARGEST}`,
        },
        {
          title: 'live',
          unit: 'percentunit',
          expr: `${byTable('crdb_table_live_data_bytes')} / (${byTable('crdb_table_data_bytes')} > 0) and on (${OF_TABLE}) ${LARGEST}`,
        },
        {
          title: 'ranges',
          unit: 'short',
          expr: `${byTable('crdb_table_ranges')} and on (${OF_TABLE}) ${LARGEST}`,
        },
      ],
      sortBy: 'size',
      width: 24,
      height: 10,
    }),
  ],
};

const overTime: Row = {
  title: 'Over time',
  panels: [
    graph('Size by database', {
      about: 'On disk over all replicas (crdb_database_size_bytes).',
      queries: byDatabase('crdb_database_size_bytes'),
      unit: 'bytes',
      legend: '{{database}}',
      stacked: true,
      width: 12,
    }),
    graph('Growth per day by database', {
      about: 'By the trend of the last day (crdb_database_size_bytes).',
      queries: growthPerDay('crdb_database_size_bytes', 'database'),
      unit: 'bytes',
      legend: '{{database}}',
      width: 12,
    }),
    graph('Size by table', {
      about: 'The largest tables and the rest, on disk over all replicas (crdb_table_size_bytes).',
      queries: SIZE,
      unit: 'bytes',
      legend: '{{database}}.{{schema}}.{{table}}',
      width: 12,
    }),
    graph('Growth per day by table', {
      about:
        'The largest tables and the rest, by the trend of the last day (crdb_table_size_bytes). 0 for all: the server does not update sizes (obs.tablemetadata.automatic_updates.enabled).',
      queries: growthPerDay('crdb_table_size_bytes', OF_TABLE),
      unit: 'bytes',
      legend: '{{database}}.{{schema}}.{{table}}',
      width: 12,
    }),
  ],
};

export function tables(): Dashboard {
  const databases = `label_values(crdb_tables{${S}}, database)`;
  return buildBoard({
    uid: 'crdb-tables',
    title: 'Tables',
    question: 'Which tables carry the load, which are large, and how fast do they grow?',
    variables: [many('database', 'Database', databases), choice('top', 'Top', ['10', '5', '20'])],
    rows: [tableLoad, sizes, overTime],
  });
}
