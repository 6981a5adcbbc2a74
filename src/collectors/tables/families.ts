import { gauge } from '../../metrics/family.ts';

const TABLE = ['database', 'schema', 'table'] as const;
const TABLES = { name: 'tables', entry: TABLE } as const;

export const INFO = gauge({
  name: 'crdb_table_info',
  help: 'Descriptor id of the table, and the level at which its zone configuration is defined: cluster, database, table or unknown (GET /databases/{database}/tables/{table}/, descriptor_id and zone_config_level). Always 1; absent for a listed table that could not be read.',
  labels: [...TABLE, 'table_id', 'zone_config_level'],
  list: TABLES,
});

function ofTable(name: string, what: string, field: string) {
  const help = `${what} (GET /databases/{database}/tables/{table}/, ${field}).`;
  return gauge({ name, help, labels: TABLE, list: TABLES });
}

export const RANGES = ofTable('crdb_table_ranges', 'Ranges of the table', 'range_count');
export const COLUMNS = ofTable('crdb_table_columns', 'Columns of the table', 'columns');
export const INDEXES = ofTable('crdb_table_indexes', 'Indexes of the table', 'indexes');

export const ZONE_REPLICAS = ofTable(
  'crdb_table_zone_replicas',
  'Replicas that each range of the table shall have',
  'zone_config.num_replicas',
);

export const ZONE_VOTERS = ofTable(
  'crdb_table_zone_voters',
  'Voting replicas that each range of the table shall have',
  'zone_config.num_voters',
);

export const ZONE_RANGE_MIN = ofTable(
  'crdb_table_zone_range_min_bytes',
  'Size below which ranges of the table are merged in bytes',
  'zone_config.range_min_bytes',
);

export const ZONE_RANGE_MAX = ofTable(
  'crdb_table_zone_range_max_bytes',
  'Size above which ranges of the table are split in bytes',
  'zone_config.range_max_bytes',
);

export const ZONE_GC_TTL = ofTable(
  'crdb_table_zone_gc_ttl_seconds',
  'How long old versions of rows of the table are kept in seconds',
  'zone_config.gc.ttl_seconds',
);

export const GRANTS = gauge({
  name: 'crdb_table_grants',
  help: 'Users and roles that have the privilege on the table (GET /databases/{database}/tables/{table}/, grants).',
  labels: [...TABLE, 'privilege'],
  list: TABLES,
});

export const SCHEMA_HASH = ofTable(
  'crdb_table_schema_hash',
  'CRC-32 of the statement that would create the table: only its changes mean something',
  'create_table_statement',
);
