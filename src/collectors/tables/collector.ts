import type { ClusterApi } from '../../cockroach/cluster-api.ts';
import type { OptionSpecs, OptionValues } from '../../collector-options.ts';
import { messageOf } from '../../format.ts';
import {
  defineCollector,
  type CollectorPoll,
  type CollectorResult,
  mostFrequent,
  type PollFailure,
} from '../collector.ts';
import {
  DATABASE_FAMILIES,
  LISTED_FAMILIES,
  SHOWN_FAMILIES,
  SIZE_FAMILIES,
  TABLE_FAMILIES,
  families,
} from './families.ts';
import {
  type DiscoveredTable,
  discoverTables,
  formatTableName,
  OTHER,
  parseTableNames,
  summarizeTables,
  TABLE_NAME,
  type TableDetails,
  type TableName,
  readTable,
  type TableSummary,
  toTableDetails,
} from './table.ts';

const OPTIONS = {
  tables: {
    kind: 'strings',
    default: [],
    pattern: TABLE_NAME,
    expects: 'database.schema.table, or database.table in the schema public, as movr.public.rides',
    help: 'Tables whose schema, grants and zone configuration are read. The server runs several SQL statements for each, which are expensive for large tables.',
  },
  discover: {
    kind: 'auto',
    default: 'auto',
    help: 'Read the names and sizes of all tables that the user may see; auto: where the server lists them (from 24.3 on).',
  },
  max_tables: {
    kind: 'integer',
    default: 50,
    min: 0,
    max: 1000,
    help: 'Largest tables and databases with their own series; the others are summed as "other".',
  },
} as const satisfies OptionSpecs;

type Context = CollectorPoll<OptionValues<typeof OPTIONS>, undefined>;

/** GET /table_metadata/: names and sizes of all tables; GET /databases/{database}/tables/{table}/: details of the listed ones. */
export const tables = defineCollector({
  name: 'tables',
  api: 'cluster',
  help: 'Names and sizes of all tables; schema, grants and zone configuration of the listed ones.',
  privilege: 'GRANT SELECT ON TABLE …',
  request: 'GET /databases/{database}/tables/{table}/',
  intervalSeconds: 600,
  timeoutSeconds: 120,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: TABLE_FAMILIES,
  options: OPTIONS,
  isIdle: (options) => options.tables.length === 0 && options.discover === false,
  scope: 'cluster',
  inProbe: false,
  createState: () => undefined,

  async collect(api, context): Promise<TablesResult> {
    const { options } = context;
    const names = parseTableNames(options.tables);
    const { all, failure: listFailure } = await discover(api, context);
    const { read, missing } = await readListed(api, context, names);
    const isOptional = options.discover === 'auto' && isRefused(listFailure);
    const tableFailure =
      read.length > 0 ? undefined : mostFrequent(missing.map((table) => table.failure));
    const failure = isOptional ? tableFailure : (listFailure ?? tableFailure);
    // A poll that found nothing has nothing to publish.
    if (failure !== undefined && all === undefined && read.length === 0) throw failure.cause;
    const known = [...(all ?? []), ...read];
    return {
      tables: read,
      names: new Map(known.map((table) => [table.tableId, formatTableName(table)])),
      failure,
      missing: listFailure ? [{ name: undefined, failure: listFailure }, ...missing] : missing,
      discovery: all && summarizeTables(all, names, context.namedTables(), options.max_tables),
    };
  },

  samples({ tables: listed, discovery }, set) {
    for (const details of listed) {
      const { database, schema, table, tableId: table_id, zoneConfigLevel } = details;
      const labels = { database, schema, table };
      set.info(families.info, { ...labels, table_id, zone_config_level: zoneConfigLevel });
      for (const { family, value } of SHOWN_FAMILIES) set.set(family, labels, value(details));
      for (const { family, value } of LISTED_FAMILIES) set.set(family, labels, value(details));
      for (const [privilege, grantees] of details.grants) {
        set.set(families.grants, { ...labels, privilege }, grantees);
      }
    }
    if (discovery === undefined) return;
    const isListed = new Set(listed.map(formatTableName));
    for (const row of discovery.shown) {
      const { database, schema, table, tableId: table_id } = row;
      const labels = { database, schema, table };
      for (const { family, value } of SIZE_FAMILIES) set.set(family, labels, value(row));
      if (isListed.has(formatTableName(row))) continue;
      set.info(families.info, { ...labels, table_id, zone_config_level: 'unknown' });
      for (const { family, value } of SHOWN_FAMILIES) set.set(family, labels, value(row));
    }
    const others = { database: OTHER, schema: OTHER, table: OTHER };
    for (const { family, value } of SIZE_FAMILIES) set.set(family, others, value(discovery.others));
    for (const sums of discovery.databases) {
      const labels = { database: sums.database };
      for (const { family, value } of DATABASE_FAMILIES) set.set(family, labels, value(sums));
    }
    const updates = discovery.shown.flatMap(({ updatedSeconds }) => updatedSeconds ?? []);
    if (updates.length > 0) set.set(families.oldestUpdate, {}, Math.min(...updates));
  },
});

export interface TablesResult extends CollectorResult {
  /** The listed tables in the configured order; those that could not be read are missing. */
  readonly tables: readonly TableDetails[];
  /** Undefined where the server lists no tables. */
  readonly discovery: TableSummary | undefined;
  /** `movr.public.rides` by table id, of every table that is known. */
  readonly names: ReadonlyMap<string, string>;
  /** The tables that could not be read. */
  readonly missing?: readonly MissingTable[];
}

/** A listed table that could not be read, or the list of all tables. */
interface MissingTable {
  /** `movr.public.rides`; undefined for the list of all. */
  readonly name: string | undefined;
  readonly failure: PollFailure;
}

/** All tables that the server lists, or why it lists none. */
async function discover(api: ClusterApi, context: Context): Promise<Discovered> {
  if (context.options.discover === false) return {};
  try {
    const all = await discoverTables(api, context);
    // Every cluster has tables: an empty list does not show their number and sizes.
    if (all.length > 0) return { all };
    context.warn(
      'tables: the user sees no table: GRANT CONNECT ON DATABASE … to it for the names and sizes of tables',
    );
    return {};
  } catch (error) {
    const failure = toFailure(error, context);
    if (failure.reason === 'forbidden') context.warn(`tables: ${failure.message}`);
    return { failure };
  }
}

interface Discovered {
  readonly all?: readonly DiscoveredTable[];
  readonly failure?: PollFailure;
}

/** Whether the server has no list, or none for this user. */
function isRefused(failure: PollFailure | undefined): boolean {
  return failure?.reason === 'not_available' || failure?.reason === 'forbidden';
}

/** The details of the listed tables, and why those of others are missing. */
async function readListed(api: ClusterApi, context: Context, names: readonly TableName[]) {
  const read: TableDetails[] = [];
  const missing: MissingTable[] = [];
  // One at a time: each request is a load on the server.
  for (const tableName of names) {
    const { database, schema, table } = tableName;
    try {
      const response = await readTable(api, context, database, `${schema}.${table}`);
      read.push(toTableDetails(tableName, response));
    } catch (error) {
      const failure = toFailure(error, context);
      const name = formatTableName(tableName);
      missing.push({ name, failure });
      context.warn(`table ${name} is missing: ${failure.message}`);
    }
  }
  return { read, missing };
}

function toFailure(error: unknown, { reasonOf }: Context): PollFailure {
  return { reason: reasonOf(error), message: messageOf(error), cause: error };
}
