import { type Family, gauge } from '#metrics';
import { gaugeOf } from '../collector.ts';
import type { DatabaseSums, TableFigures } from './table-details.ts';

const LABELS = ['database', 'schema', 'table'] as const;
const LIST = { name: 'tables', entry: LABELS } as const;
/** Labels of the tables that the option `tables` lists, and of those that the server lists. */
const TABLE = { labels: LABELS, list: LIST } as const;
const LISTED = 'For the tables named in collectors.tables.tables.';
const SHOWN =
  'For the tables named in collectors.tables.tables, the max_tables largest, and those that ranges name.';
const METADATA = 'GET /table_metadata/';
const CACHED =
  'Of the largest 10,000 tables, and as old as crdb_table_metadata_oldest_update_timestamp_seconds.';

export const families = {
  info: gauge({
    ...TABLE,
    name: 'crdb_table_info',
    help: 'Descriptor id of the table and the level that defines its zone configuration. Always 1.',
    labels: [...LABELS, 'table_id', 'zone_config_level'],
    field: 'descriptor_id and zone_config_level; table_id',
    notes: `${SHOWN} The level is cluster, database, table or unknown; it is known of the listed tables only. Absent for tables that could not be read.`,
  }),
  grants: gauge({
    ...TABLE,
    name: 'crdb_table_grants',
    help: 'Users and roles that have the privilege on the table.',
    labels: [...LABELS, 'privilege'],
    field: 'grants',
    notes: LISTED,
  }),
  oldestUpdate: gauge({
    name: 'crdb_table_metadata_oldest_update_timestamp_seconds',
    help: 'When the server computed the oldest of the table sizes, Unix time in seconds.',
    field: 'last_updated',
    request: METADATA,
    notes:
      'The server updates them while DB Console shows its databases, and every 20 minutes where obs.tablemetadata.automatic_updates.enabled is true; the default is false.',
  }),
};

const shownTableGauge = gaugeOf({ ...TABLE, notes: SHOWN })<TableFigures>;
const listedTableGauge = gaugeOf({ ...TABLE, notes: LISTED })<TableFigures>;
const zoneGauge = gaugeOf({
  ...TABLE,
  notes: `${LISTED} As stored at the level in crdb_table_info (table, else database, else cluster). Absent where it is inherited from above.`,
})<TableFigures>;
const sizeGauge = gaugeOf({
  ...TABLE,
  request: METADATA,
  // Names that become equal as labels share a series.
  merge: 'sum',
  notes: `${SHOWN} The others are summed as other. ${CACHED} Absent for a new table whose size the server could not compute, and for a sum over one.`,
})<TableFigures>;

/** The figures of a table: some of listed tables only, the sizes of discovered ones. */
export const TABLE_GAUGES = [
  shownTableGauge(({ ranges }) => ranges, {
    name: 'crdb_table_ranges',
    help: 'Ranges of the table.',
    field: 'range_count',
  }),
  shownTableGauge(({ columns }) => columns, {
    name: 'crdb_table_columns',
    help: 'Columns of the table.',
    field: 'columns; column_count',
  }),
  shownTableGauge(({ indexes }) => indexes, {
    name: 'crdb_table_indexes',
    help: 'Indexes of the table.',
    field: 'indexes; index_count',
  }),
  listedTableGauge(({ schemaHash }) => schemaHash, {
    name: 'crdb_table_schema_hash',
    help: 'CRC-32 of the CREATE statement of the table; changes with the schema.',
    unit: 'number',
    field: 'create_table_statement',
    notes: 'Only changes have a meaning, not the value.',
  }),
  listedTableGauge(({ statisticsSeconds }) => statisticsSeconds, {
    name: 'crdb_table_statistics_updated_timestamp_seconds',
    help: "When the optimizer's statistics of the table were made, Unix time in seconds.",
    field: 'stats_last_created_at',
    notes: `${LISTED} Absent where the server does not send it, or has none.`,
  }),
  zoneGauge(({ zone }) => zone?.num_replicas, {
    name: 'crdb_table_zone_replicas',
    help: 'Replicas configured for each range of the table.',
    field: 'zone_config.num_replicas',
  }),
  zoneGauge(({ zone }) => zone?.num_voters, {
    name: 'crdb_table_zone_voters',
    help: 'Voting replicas configured for each range of the table.',
    field: 'zone_config.num_voters',
  }),
  zoneGauge(({ zone }) => zone?.range_min_bytes, {
    name: 'crdb_table_zone_range_min_bytes',
    help: 'Size below which ranges of the table are merged, in bytes.',
    field: 'zone_config.range_min_bytes',
  }),
  zoneGauge(({ zone }) => zone?.range_max_bytes, {
    name: 'crdb_table_zone_range_max_bytes',
    help: 'Size above which ranges of the table are split, in bytes.',
    field: 'zone_config.range_max_bytes',
  }),
  zoneGauge(({ zone }) => zone?.gc.ttl_seconds, {
    name: 'crdb_table_zone_gc_ttl_seconds',
    help: 'Time that old row versions of the table are kept, in seconds.',
    field: 'zone_config.gc.ttl_seconds',
  }),
  sizeGauge(({ sizeBytes }) => sizeBytes, {
    name: 'crdb_table_size_bytes',
    help: 'Size of the table on disk over all its replicas, in bytes.',
    field: 'replication_size_bytes',
  }),
  sizeGauge(({ dataBytes }) => dataBytes, {
    name: 'crdb_table_data_bytes',
    help: 'Data of the table, deleted and overwritten rows included, in bytes.',
    field: 'total_data_bytes',
  }),
  sizeGauge(({ liveDataBytes }) => liveDataBytes, {
    name: 'crdb_table_live_data_bytes',
    help: 'Live data of the table in bytes; the rest of its data waits for garbage collection.',
    field: 'total_live_data_bytes',
  }),
];

const databaseGauge = gaugeOf({
  labels: ['database'],
  request: METADATA,
  merge: 'sum',
  notes: `The max_tables largest databases; the others are summed as other. The 10,000 largest tables are read: of more it is a lower bound, and crdb_exporter_collector_limit_hit with limit items is 1. ${CACHED}`,
  list: { name: 'databases', entry: ['database'] },
})<DatabaseSums>;

export const DATABASE_GAUGES = [
  databaseGauge(({ sizeBytes }) => sizeBytes, {
    name: 'crdb_database_size_bytes',
    help: 'Size of the tables of the database on disk over all their replicas, in bytes.',
    field: 'replication_size_bytes',
    notes: 'Absent while the size of one of them is not known.',
  }),
  databaseGauge(({ tables }) => tables, {
    name: 'crdb_tables',
    help: 'Tables of the database that the user may see.',
    field: 'db_name',
  }),
];

export const TABLE_FAMILIES: readonly Family[] = [
  ...Object.values(families),
  ...[...TABLE_GAUGES, ...DATABASE_GAUGES].map(({ family }) => family),
];
