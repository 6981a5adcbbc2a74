import type { Command } from 'commander';
import { tables } from '../../collectors/tables/collector.ts';
import { tableDetails, ZONE_LEVELS } from '../../collectors/tables/table.ts';
import { formatAge, formatBytes, formatCount, formatLine } from '../../format.ts';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext } from '../command.ts';
import { addListingOptions, type ListingOptions } from '../output/listing.ts';
import { writeJson, writeOut } from '../output/standard-output.ts';
import { printTable } from '../output/table.ts';

type Table = Awaited<ReturnType<typeof readTable>>;

/** `table DB TABLE`: GET /databases/{database}/tables/{table}/. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<database>', 'name of the database')
    .argument('<table>', 'name of the table, or schema.table if the schema is not public');
  addListingOptions(command);
  addClusterAction(command, context, tables, printTableDetails);
  addExamples(
    command,
    'table movr rides --config.file=exporter.yml',
    'table movr analytics.daily_rides --output json --config.file=exporter.yml',
  );
}

async function printTableDetails(
  target: ClusterTarget,
  database: string,
  table: string,
  { output }: ListingOptions,
): Promise<void> {
  const found = await readTable(target, database, table);
  await (output === 'table' ? printSections(found) : writeJson(found, output));
}

/** The details as JSON, with the names of the API after those of the table. */
async function readTable(target: ClusterTarget, database: string, table: string) {
  const api = target.api;
  const found = await api.table(target.stats, { database, table, shape: tableDetails });
  const { zone_config_level: level = 0, ...details } = found;
  const zone_config_level = ZONE_LEVELS[level] ?? `unknown(${level})`;
  return { database, table, ...details, zone_config_level };
}

/** Its properties, columns, indexes, grants and its CREATE TABLE statement. */
async function printSections(table: Table): Promise<void> {
  await printSection(['TABLE', `${table.database}.${table.table}`], listProperties(table));
  await printSection(
    ['COLUMN', 'TYPE', 'NULL', 'DEFAULT'],
    table.columns.map(({ name = '', type = '', nullable, default_value = '' }) => {
      return [name, type, nullable === true ? 'yes' : 'no', default_value];
    }),
  );
  await printSection(['INDEX', 'UNIQUE', 'COLUMNS', 'STORING'], listIndexes(table));
  await printSection(
    ['USER', 'PRIVILEGES'],
    table.grants.map(({ user = '', privileges }) => [user, privileges.join(', ')]),
  );
  const statement = (table.create_table_statement ?? '').split('\n').map(formatLine);
  await writeOut(`${statement.join('\n')}\n`);
}

async function printSection(titles: readonly string[], rows: readonly (readonly string[])[]) {
  await printTable(
    titles.map((title) => ({ title, shrinks: true })),
    rows,
  );
  await writeOut('\n');
}

/** Settings that the server omits are inherited, and unknown here. */
function listProperties(table: Table): string[][] {
  const { zone_config: zone } = table;
  return [
    ['id', String(table.descriptor_id ?? '')],
    ['ranges', formatCount(table.range_count ?? 0)],
    ...(table.data_total_bytes === undefined
      ? []
      : [['data', formatBytes(table.data_total_bytes)]]),
    ['zone defined by', table.zone_config_level],
    ['replicas', orInherited(zone.num_replicas, formatCount)],
    ['range size', orInherited(zone.range_max_bytes, (bytes) => `up to ${formatBytes(bytes)}`)],
    ['garbage collected after', orInherited(zone.gc.ttl_seconds, formatAge)],
  ];
}

function orInherited(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'inherited' : format(value);
}

/** One row per index; the server sends one entry for each of its columns. */
function listIndexes({ indexes }: Table): string[][] {
  return [...Map.groupBy(indexes, ({ name = '' }) => name)].map(([name, entries]) => {
    const sorted = entries.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    const isUnique = sorted.some(({ unique }) => unique === true);
    const columnsOf = (stored: boolean): string =>
      sorted
        .filter(({ storing }) => (storing === true) === stored)
        .map(({ column = '', direction }) => (direction === 'DESC' ? `${column} desc` : column))
        .join(', ');
    return [name, isUnique ? 'yes' : 'no', columnsOf(false), columnsOf(true)];
  });
}
