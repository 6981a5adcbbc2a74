import type { Quirks } from '../quirks.ts';
import type { WorldState } from '../world/state.ts';
import { sizesOf } from '../world/table-sizes.ts';
import type { Table, Zone } from '../world/tables.ts';
import { createEncoding, type Encoding, timeText } from './encoding.ts';

const DAY_MS = 86_400_000;

/** The body of table details, members in the order of the server. */
export function tableBody(state: WorldState, quirks: Quirks, table: Table): object {
  const encoding = createEncoding(quirks);
  const size = sizesOf(state, state.now()).find((each) => each.table === table);
  const { ranges = 0, dataBytes, liveBytes = 0 } = size ?? {};
  const name = `${table.schema}.${table.name}`;
  return {
    grants: encoding.list(
      table.grants.map(({ user, privileges }) => ({ user, privileges: encoding.list(privileges) })),
    ),
    columns: encoding.list(table.columns.map((column) => columnMember(column, encoding))),
    indexes: encoding.list(table.indexes.flatMap((index) => indexMembers(index, encoding))),
    range_count: encoding.scalar(ranges),
    create_table_statement: createStatement(table, name),
    zone_config: zoneMember(table.zone, encoding),
    zone_config_level: encoding.scalar(table.zoneLevel),
    descriptor_id: encoding.scalar(table.id),
    configure_zone_statement: zoneStatement(table),
    ...(quirks.statsMembers === 7 &&
      dataBytes !== undefined && {
        data_total_bytes: dataBytes,
        data_live_bytes: liveBytes,
        data_live_percentage: liveBytes / dataBytes,
        // Statistics are made again after many changes: here those of a day ago.
        stats_last_created_at: timeText(state.startMs - DAY_MS),
      }),
  };
}

function createStatement(table: Table, name: string): string {
  const columns = table.columns.map((column) => `\t${column.name} ${column.type} NOT NULL`);
  return `CREATE TABLE ${name} (\n${columns.join(',\n')}\n)`;
}

function zoneStatement(table: Table): string {
  const target = ['RANGE default', `DATABASE ${table.database}`, `TABLE ${table.name}`];
  const name = target[table.zoneLevel - 1] ?? 'RANGE default';
  return `ALTER ${name} CONFIGURE ZONE USING num_replicas = ${table.zone.replicas ?? 3}`;
}

function columnMember(column: Table['columns'][number], encoding: Encoding): object {
  return {
    name: column.name,
    type: column.type,
    nullable: encoding.scalar(false),
    default_value: encoding.scalar(column.name === 'id' ? 'gen_random_uuid()' : ''),
    generation_expression: encoding.scalar(''),
    hidden: encoding.scalar(false),
  };
}

function indexMembers(index: Table['indexes'][number], encoding: Encoding): object[] {
  return index.columns.map((column, at) => ({
    name: index.name,
    unique: encoding.scalar(index.name.endsWith('_pkey')),
    seq: at + 1,
    column,
    direction: 'ASC',
    storing: encoding.scalar(false),
    implicit: encoding.scalar(false),
  }));
}

function zoneMember(zone: Zone, encoding: Encoding): object {
  const region = zone.region === undefined ? [] : [{ type: 1, key: 'region', value: zone.region }];
  const constraints = region.map((constraint) => ({ num_replicas: 0, constraints: [constraint] }));
  return {
    range_min_bytes: zone.rangeMinBytes,
    range_max_bytes: zone.rangeMaxBytes,
    gc: zone.gcTtlSeconds === undefined ? undefined : { ttl_seconds: zone.gcTtlSeconds },
    num_replicas: zone.replicas,
    num_voters: zone.voters,
    constraints: encoding.list(constraints),
    null_voter_constraints_is_empty: false,
    voter_constraints: encoding.list([]),
    inherited_constraints: constraints.length === 0,
    lease_preferences: encoding.list(region.length === 0 ? [] : [{ constraints: region }]),
    inherited_lease_preferences: region.length === 0,
    subzones: encoding.list([]),
    subzone_spans: encoding.list([]),
  };
}
