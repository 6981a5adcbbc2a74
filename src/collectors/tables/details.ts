import { crc32 } from 'node:zlib';
import { array, type Infer, integer, object, optional, string } from '../../json/shape.ts';
import type { Sheet } from '../../metrics/sheet.ts';
import * as families from './families.ts';
import type { TableName } from './table-name.ts';

export const detailsShape = object({
  descriptor_id: integer(),
  range_count: integer(),
  zone_config_level: integer(),
  create_table_statement: string(),
  columns: array(object({})),
  indexes: array(object({ name: string() })),
  grants: array(object({ user: string(), privileges: array(string()) })),
  zone_config: object({
    num_replicas: optional(integer()),
    num_voters: optional(integer()),
    range_min_bytes: optional(integer()),
    range_max_bytes: optional(integer()),
    gc: object({ ttl_seconds: optional(integer()) }),
  }),
});

type Details = Infer<typeof detailsShape>;

/** Indexed by zone_config_level. */
const LEVELS = ['unknown', 'cluster', 'database', 'table'] as const;

/** Writes all that is said of one table. */
export function publishTable(
  sheet: Sheet,
  { database, schema, table }: TableName,
  details: Details,
): void {
  const labels = { database, schema, table };
  sheet.info(families.INFO, {
    ...labels,
    table_id: idOf(details),
    zone_config_level: LEVELS[details.zone_config_level ?? 0] ?? 'unknown',
  });
  sheet.set(families.RANGES, labels, details.range_count);
  sheet.set(families.COLUMNS, labels, details.columns.length);
  // One entry for each column of an index.
  const indexes = new Set(details.indexes.map(({ name }) => name));
  sheet.set(families.INDEXES, labels, indexes.size);
  for (const [privilege, grantees] of granteesByPrivilege(details)) {
    sheet.set(families.GRANTS, { ...labels, privilege }, grantees.size);
  }
  const statement = details.create_table_statement ?? '';
  sheet.set(families.SCHEMA_HASH, labels, statement === '' ? undefined : crc32(statement));
  publishZone(sheet, labels, details.zone_config);
}

/** Ids begin at 1: a server that leaves the id out does not mean table 0. */
function idOf({ descriptor_id: id = 0 }: Details): string {
  return id > 0 ? String(id) : '';
}

function granteesByPrivilege({ grants }: Details): ReadonlyMap<string, ReadonlySet<string>> {
  const grantees = new Map<string, Set<string>>();
  for (const { user = '', privileges } of grants) {
    for (const privilege of privileges) {
      const users = grantees.get(privilege) ?? new Set();
      grantees.set(privilege, users.add(user));
    }
  }
  return grantees;
}

/** Settings that the server leaves out are inherited, and not known here. */
function publishZone(sheet: Sheet, labels: TableName, zone: Details['zone_config']): void {
  sheet.set(families.ZONE_REPLICAS, labels, zone.num_replicas);
  sheet.set(families.ZONE_VOTERS, labels, zone.num_voters);
  sheet.set(families.ZONE_RANGE_MIN, labels, zone.range_min_bytes);
  sheet.set(families.ZONE_RANGE_MAX, labels, zone.range_max_bytes);
  sheet.set(families.ZONE_GC_TTL, labels, zone.gc.ttl_seconds);
}
