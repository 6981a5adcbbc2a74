import type { Command } from 'commander';
import {
  findNearest,
  formatAge,
  formatBytes,
  formatCount,
  formatNumber,
  formatPercent,
  smallest,
  toTime,
} from '#base';
import {
  discoverTables,
  type KnownTable,
  LIST_TABLES,
  readTable,
  type TableLoad,
  tables,
  toSeconds,
  ZONE_LEVELS,
} from '#collectors';
import { addClusterAction, type ClusterTarget } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT } from '../command.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, writeJson, writeLines, withProgress } from '../output/standard-output.ts';
import { type Column, numberColumn, printTable, textColumns } from '../output/table.ts';
import { announceScan, scanAllNodes } from '../read-replicas.ts';

type Table = ReturnType<typeof toTable>;

const COLUMNS: readonly Column<Table>[] = [
  { title: 'DATABASE', value: (table) => table.database, shrinks: true },
  { title: 'SCHEMA', value: (table) => table.schema, shrinks: true },
  { title: 'TABLE', value: (table) => table.table },
  { title: 'ID', value: (table) => table.table_id, format: String },
  numberColumn('SIZE', formatBytes, (table) => table.replication_size_bytes),
  numberColumn('DATA', formatBytes, (table) => table.total_data_bytes),
  numberColumn('LIVE', formatPercent, (table) =>
    table.total_data_bytes ? (table.total_live_data_bytes ?? 0) / table.total_data_bytes : null,
  ),
  numberColumn('RANGES', formatCount, (table) => table.range_count),
  numberColumn('COLUMNS', formatCount, (table) => table.column_count),
  numberColumn('INDEXES', formatCount, (table) => table.index_count),
  numberColumn('UPDATED', formatAge, (table) =>
    table.last_updated === null ? null : (Date.now() - Date.parse(table.last_updated)) / 1000,
  ),
];
/** They need a scan. */
const LOAD_COLUMNS: readonly Column<Table>[] = [
  numberColumn('QPS', formatNumber, (table) => table.queries_per_second),
  numberColumn('WRITES/S', formatNumber, (table) => table.writes_per_second),
  numberColumn('CPU', formatPercent, (table) => table.cpu_seconds_per_second),
];

/** `tables`: GET /table_metadata/, and with `--load` the ranges of all nodes. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--database <name>', 'Only tables of this database.')
    .option(
      '--load',
      'Add the load of each table: reads all ranges of the cluster. Implied by --sort qps, writes/s or cpu.',
    );
  addListingOptions(command, [...COLUMNS, ...LOAD_COLUMNS]);
  addClusterAction(command, context, tables, printTables);
  addExamples(
    command,
    'tables --config.file=exporter.yml',
    'tables --database movr --sort ranges --config.file=exporter.yml',
    'tables --load --sort qps --config.file=exporter.yml',
  );
}

async function printTables(
  target: ClusterTarget,
  options: ListingOptions & { readonly database?: string; readonly load?: true },
): Promise<number> {
  const { database, output, sort = '' } = options;
  const loadTitles = LOAD_COLUMNS.map(({ title }) => title);
  const load = options.load || loadTitles.includes(sort.toUpperCase());
  const listing = openListing<Table>(options, {
    member: 'tables',
    columns: load ? [...COLUMNS, ...LOAD_COLUMNS] : COLUMNS,
    required: ['TABLE', ...loadTitles],
  });
  const found = await withProgress('tables', output, () =>
    discoverTables(target.api, target.stats),
  );
  const wanted = found.filter((table) => database === undefined || table.database === database);
  const scan = load && wanted.length > 0 ? await readLoads(target, output) : undefined;
  for (const table of wanted) listing.add(toTable(table, scan?.loads));
  await listing.close(scan && { failed_nodes: scan.failedNodes });
  if (target.stats.limits.has('items')) note('the server has more tables: the largest are shown');
  noteOldSizes(wanted);
  if (wanted.length > 0) return EXIT.ok;
  if (database === undefined || found.length === 0) {
    note(`the server lists no table: ${LIST_TABLES}`);
  } else {
    const nearest = findNearest(
      database,
      found.map((table) => table.database),
    );
    const hint = nearest === undefined ? 'check the name' : `did you mean ${nearest}?`;
    note(
      `the server lists tables, but none of the database ${database}: ${hint}; if it is new, open it in DB Console; else GRANT CONNECT ON DATABASE … to the user`,
    );
  }
  return EXIT.failed;
}

/** A server whose automatic updates are on computes sizes every 20 minutes. */
const OLD_SIZES_SECONDS = 86_400;

/** Without its setting the server updates sizes only when somebody opens DB Console: they may be a week old. */
function noteOldSizes(listed: readonly KnownTable[]): void {
  const oldest = smallest(listed.flatMap(({ updatedSeconds }) => updatedSeconds || []));
  const age = oldest === undefined ? 0 : Date.now() / 1000 - oldest;
  if (age < OLD_SIZES_SECONDS) return;
  note(
    `sizes are up to ${formatAge(age)} old: the server updates them while DB Console shows its databases, and by itself after SET CLUSTER SETTING obs.tablemetadata.automatic_updates.enabled = true`,
  );
}

/** Reads the ranges of all nodes; the loads by table id are those of crdb_range_table_*, and lack those of the failed nodes. */
async function readLoads(target: ClusterTarget, output: string) {
  await announceScan(target);
  const { summary, skipped, failedNodes, failure } = await scanAllNodes(target, output, {
    top_tables: Infinity,
  });
  if (summary === undefined) {
    // The remedies of nodes that were not read are printed by now.
    const told = [failure?.message ?? 'no ranges were read', failure?.remedy];
    throw new CommandError(told.filter(Boolean).join('; '));
  }
  if (failedNodes.length > 0) note('the loads are too low: they lack those nodes');
  if (skipped > 0) note(`nodes that are not live were skipped: ${skipped}; see \`nodes\``);
  return { loads: summary.tables.loads, failedNodes };
}

/** A table as JSON, with the names of the API where it has one. */
function toTable(table: KnownTable, loads?: ReadonlyMap<string, TableLoad>) {
  const load = loads?.get(table.tableId);
  return {
    database: table.database,
    schema: table.schema,
    table: table.table,
    table_id: Number(table.tableId),
    replication_size_bytes: table.sizeBytes,
    total_data_bytes: table.dataBytes,
    total_live_data_bytes: table.liveDataBytes,
    range_count: table.ranges,
    column_count: table.columns,
    index_count: table.indexes,
    last_updated: toTime((table.updatedSeconds ?? 0) * 1000) ?? null,
    ...(loads !== undefined && {
      queries_per_second: load?.queries ?? 0,
      writes_per_second: load?.writes ?? 0,
      // Servers that send no CPU look like idle ones.
      cpu_seconds_per_second: load?.cpuNanos ? load.cpuNanos / 1e9 : undefined,
    }),
  };
}

/** `table DB TABLE`: GET /databases/{database}/tables/{table}/. */
export function defineTable(command: Command, context: CommandContext): void {
  command
    .argument('<database>', 'name of the database')
    .argument('<table>', 'name of the table, or schema.table if the schema is not public');
  addListingOptions(command);
  addClusterAction(command, context, tables, printDetails);
  addExamples(
    command,
    'table movr rides --config.file=exporter.yml',
    'table movr analytics.daily_rides --output json --config.file=exporter.yml',
  );
}

/** Prints its properties, grants and CREATE TABLE statement; JSON has the names of the API after those of the table. */
async function printDetails(
  { api, stats }: ClusterTarget,
  database: string,
  table: string,
  { output }: ListingOptions,
): Promise<void> {
  const found = await readTable(api, stats, database, table);
  const { zone_config_level: level = 0, ...details } = found;
  const zone_config_level = ZONE_LEVELS[level] ?? `unknown(${level})`;
  if (output !== 'table') {
    return writeJson({ database, table, ...details, zone_config_level }, output);
  }
  const { zone_config: zone, grants } = details;
  // Settings that the server omits are inherited, and unknown here.
  await printTable(textColumns('TABLE', `${database}.${table}`), [
    ['id', String(details.descriptor_id ?? '')],
    ['ranges', formatCount(details.range_count ?? 0)],
    ['data', details.data_total_bytes === undefined ? '' : formatBytes(details.data_total_bytes)],
    ['zone defined by', zone_config_level],
    ['replicas', orInherited(zone.num_replicas, formatCount)],
    ['range size', orInherited(zone.range_max_bytes, (bytes) => `up to ${formatBytes(bytes)}`)],
    ['garbage collected after', orInherited(zone.gc.ttl_seconds, formatAge)],
    ['statistics', describeAge(toSeconds(details.stats_last_created_at))],
  ]);
  await writeLines('');
  await printTable(
    textColumns('USER', 'PRIVILEGES'),
    grants.map(({ user = '', privileges }) => [user, privileges.join(', ')]),
  );
  await writeLines('', ...(details.create_table_statement ?? '').split('\n'));
}

/** `26h old`, of the statistics of the optimizer. */
function describeAge(madeSeconds: number | undefined): string {
  if (madeSeconds === undefined) return 'none, or not known';
  return `${formatAge(Math.max(0, Date.now() / 1000 - madeSeconds))} old`;
}

function orInherited(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? 'inherited' : format(value);
}
