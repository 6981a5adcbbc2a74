import { writeAge, writeBytes, writeCount } from '../human.ts';
import type { Table } from './table.ts';

export interface Section {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What a person sees of a table: what it is, its columns, its indexes, who may do what. */
export function summarize(table: Table): readonly Section[] {
  return [
    { titles: ['TABLE', `${table.database}.${table.table}`], rows: properties(table) },
    {
      titles: ['COLUMN', 'TYPE', 'NULL', 'DEFAULT'],
      rows: table.columns.map(({ name = '', type = '', nullable, default_value = '' }) => {
        return [name, type, nullable === true ? 'yes' : 'no', default_value];
      }),
    },
    { titles: ['INDEX', 'UNIQUE', 'COLUMNS', 'STORING'], rows: indexes(table) },
    {
      titles: ['USER', 'PRIVILEGES'],
      rows: table.grants.map(({ user = '', privileges }) => [user, privileges.join(', ')]),
    },
  ];
}

/** Settings that the server leaves out are inherited, and not known here. */
function properties(table: Table): string[][] {
  const { zone_config: zone } = table;
  return [
    ['id', String(table.descriptor_id ?? '')],
    ['ranges', writeCount(table.range_count ?? 0)],
    ...(table.data_total_bytes === undefined ? [] : [['data', writeBytes(table.data_total_bytes)]]),
    ['zone defined by', table.zone_config_level],
    ['replicas', orInherited(zone.num_replicas, writeCount)],
    ['range size', orInherited(zone.range_max_bytes, (bytes) => `up to ${writeBytes(bytes)}`)],
    ['garbage collected after', orInherited(zone.gc.ttl_seconds, writeAge)],
  ];
}

function orInherited(value: number | undefined, write: (value: number) => string): string {
  return value === undefined ? 'inherited' : write(value);
}

/** One row an index; the server sends one entry for each of its columns. */
function indexes({ indexes: entries }: Table): string[][] {
  return [...Map.groupBy(entries, ({ name = '' }) => name)].map(([name, members]) => {
    const sorted = members.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    const isUnique = sorted.some(({ unique }) => unique === true);
    const columnsOf = (wanted: boolean): string =>
      sorted
        .filter(({ storing }) => (storing === true) === wanted)
        .map(({ column = '', direction }) => (direction === 'DESC' ? `${column} desc` : column))
        .join(', ');
    return [name, isUnique ? 'yes' : 'no', columnsOf(false), columnsOf(true)];
  });
}
