import { type Family, type FamilyDefinition, gauge } from '../metrics/family.ts';
import type { FailureReason } from '../vocabulary.ts';
import { clusterCollector, type CollectorResult, mostFrequent } from './collector.ts';
import {
  formatTableName,
  parseTableNames,
  TABLE_NAME,
  type TableDetails,
  tableShape,
  toTableDetails,
} from './tables/table.ts';

type TableLabel = 'database' | 'schema' | 'table';

const LABELS = ['database', 'schema', 'table'] as const;
const LIST = { name: 'tables', entry: LABELS } as const;

const INFO = gauge({
  name: 'crdb_table_info',
  help: 'Descriptor id of the table and the level that defines its zone configuration. Always 1.',
  labels: [...LABELS, 'table_id', 'zone_config_level'],
  unit: 'always 1',
  field: 'descriptor_id and zone_config_level',
  series: ['tables'],
  notes:
    'The level is cluster, database, table or unknown. Absent for tables that could not be read.',
  list: LIST,
});

const GRANTS = gauge({
  name: 'crdb_table_grants',
  help: 'Users and roles that have the privilege on the table.',
  labels: [...LABELS, 'privilege'],
  unit: 'count',
  field: 'grants',
  series: ['tables', 'privileges'],
  list: LIST,
});

/** A family with one series for each table. */
interface TableFamily {
  readonly family: Family<TableLabel>;
  readonly value: (table: TableDetails) => number | undefined;
}

function ofTable(
  value: TableFamily['value'],
  definition: Pick<FamilyDefinition<never>, 'name' | 'help' | 'unit' | 'field' | 'notes'>,
): TableFamily {
  return {
    value,
    family: gauge({ ...definition, labels: LABELS, series: ['tables'], list: LIST }),
  };
}

const TABLE_FAMILIES = [
  ofTable(({ ranges }) => ranges, {
    name: 'crdb_table_ranges',
    help: 'Ranges of the table.',
    unit: 'count',
    field: 'range_count',
  }),
  ofTable(({ columns }) => columns, {
    name: 'crdb_table_columns',
    help: 'Columns of the table.',
    unit: 'count',
    field: 'columns',
  }),
  ofTable(({ indexes }) => indexes, {
    name: 'crdb_table_indexes',
    help: 'Indexes of the table.',
    unit: 'count',
    field: 'indexes',
  }),
  ofTable(({ schemaHash }) => schemaHash, {
    name: 'crdb_table_schema_hash',
    help: 'CRC-32 of the CREATE statement of the table; changes with the schema.',
    unit: 'number',
    field: 'create_table_statement',
    notes: 'Only changes have a meaning, not the value.',
  }),
  ofTable(({ zone }) => zone.num_replicas, {
    name: 'crdb_table_zone_replicas',
    help: 'Replicas configured for each range of the table.',
    unit: 'count',
    field: 'zone_config.num_replicas',
  }),
  ofTable(({ zone }) => zone.num_voters, {
    name: 'crdb_table_zone_voters',
    help: 'Voting replicas configured for each range of the table.',
    unit: 'count',
    field: 'zone_config.num_voters',
  }),
  ofTable(({ zone }) => zone.range_min_bytes, {
    name: 'crdb_table_zone_range_min_bytes',
    help: 'Size below which ranges of the table are merged, in bytes.',
    unit: 'bytes',
    field: 'zone_config.range_min_bytes',
  }),
  ofTable(({ zone }) => zone.range_max_bytes, {
    name: 'crdb_table_zone_range_max_bytes',
    help: 'Size above which ranges of the table are split, in bytes.',
    unit: 'bytes',
    field: 'zone_config.range_max_bytes',
  }),
  ofTable(({ zone }) => zone.gc.ttl_seconds, {
    name: 'crdb_table_zone_gc_ttl_seconds',
    help: 'Time that old row versions of the table are kept, in seconds.',
    unit: 'seconds',
    field: 'zone_config.gc.ttl_seconds',
  }),
];

/** GET /databases/{database}/tables/{table}/ of the listed tables: size, schema, grants and zone configuration. */
export const tables = clusterCollector({
  name: 'tables',
  help: 'Ranges, schema, grants and zone configuration of the listed tables.',
  privilege: 'GRANT SELECT ON TABLE …',
  request: 'GET /databases/{database}/tables/{table}/',
  intervalSeconds: 600,
  timeoutSeconds: 120,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: [INFO, GRANTS, ...TABLE_FAMILIES.map(({ family }) => family)],
  options: {
    tables: {
      kind: 'strings',
      default: [],
      pattern: TABLE_NAME,
      expects:
        'database.schema.table, or database.table in the schema public, as movr.public.rides',
      help: 'Tables to read. The server runs several SQL statements for each, which are expensive for large tables.',
    },
  },
  isIdle: ({ tables: names }) => names.length === 0,
  scope: 'cluster',
  inProbe: false,
  createState: () => undefined,

  async collect(api, context): Promise<TablesResult> {
    const names = parseTableNames(context.options.tables);
    const read: TableDetails[] = [];
    const failures: TableFailure[] = [];
    // One at a time: each request is a load on the server.
    for (const name of names) {
      const { database, schema, table } = name;
      const request = { database, table: `${schema}.${table}`, shape: tableShape };
      try {
        read.push(toTableDetails(name, await api.table(context, request)));
      } catch (error) {
        failures.push({ error, reason: context.reasonOf(error) });
        const message = error instanceof Error ? error.message : String(error);
        context.warn(`table ${formatTableName(name)} is missing: ${message}`);
      }
    }
    if (failures.length > 0 && read.length === 0) throw mostFrequent(failures)?.error;
    return { tables: read };
  },

  samples({ tables: all }, set) {
    for (const details of all) {
      const { database, schema, table, tableId: table_id, zoneConfigLevel } = details;
      const labels = { database, schema, table };
      set.info(INFO, { ...labels, table_id, zone_config_level: zoneConfigLevel });
      for (const { family, value } of TABLE_FAMILIES) set.set(family, labels, value(details));
      for (const [privilege, grantees] of details.grants) {
        set.set(GRANTS, { ...labels, privilege }, grantees);
      }
    }
  },
});

export interface TablesResult extends CollectorResult {
  /** In the configured order; tables that could not be read are missing. */
  readonly tables: readonly TableDetails[];
}

interface TableFailure {
  readonly error: unknown;
  readonly reason: FailureReason;
}
