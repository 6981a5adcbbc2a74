import { type OptionSpecs, type OptionValues, smallest } from '#base';
import { addWarning, failureOf, RequestError } from '#cockroach';
import type { SampleSet } from '#metrics';
import {
  defineCollector,
  type CollectorPoll,
  type CollectorResult,
  mostFrequent,
} from '../collector.ts';
import {
  discoverTables,
  formatTableName,
  type KnownTable,
  parseTableNames,
  readDetails,
  summarizeTables,
  TABLE_NAME,
  type TableFigures,
  type TableName,
  type TableSummary,
} from './table-details.ts';
import { DATABASE_GAUGES, families, TABLE_FAMILIES, TABLE_GAUGES } from './table-families.ts';

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

/** What to do where every table is missing: also an administrator sees none before the server has made its list. */
export const LIST_TABLES =
  'open the databases in DB Console, or SET CLUSTER SETTING obs.tablemetadata.automatic_updates.enabled = true: the server has no list before; if DB Console shows tables, GRANT CONNECT ON DATABASE … to the user';

/** What warnings of the list of all tables are about. */
const ALL_TABLES = { about: 'tables', endpoint: 'table_metadata' } as const;

type Context = CollectorPoll<OptionValues<typeof OPTIONS>, undefined>;

/** GET /table_metadata/: names and sizes of all tables; GET /databases/{database}/tables/{table}/: details of the listed ones. */
export const tables = defineCollector({
  name: 'tables',
  api: 'cluster',
  help: 'Names and sizes of all tables; schema, grants and zone configuration of the listed ones.',
  privilege: 'GRANT SELECT ON TABLE …',
  load: {
    requests: '`/table_metadata/`, at most 10,000 tables; one request per listed table',
    cost: 'One SQL query on a cached list. Per listed table several SQL statements, expensive on large tables.',
  },
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
    const missing: MissingTable[] = [];
    /** Reads the list of all tables, which has no name, or one table. A failure leaves the others. */
    async function attempt<T>(name: string | undefined, read: () => Promise<T>) {
      try {
        return await read();
      } catch (cause) {
        const failure = failureOf(cause);
        // A login that fails says nothing of list or table, and the other tables need it, too.
        if (failure.endpoint === 'login') throw failure;
        const { reason, message } = failure;
        missing.push({ name, failure });
        if (name !== undefined) {
          const about = `table ${name}`;
          const error = new RequestError(reason, `${about} is missing: ${message}`, { cause });
          addWarning(context, { about, endpoint: 'table', error });
        } else if (reason === 'forbidden') addWarning(context, { ...ALL_TABLES, error: failure });
        return undefined;
      }
    }
    const all =
      options.discover === false
        ? undefined
        : await attempt(undefined, () => discoverTables(api, context));
    const names = parseTableNames(options.tables);
    const read: KnownTable[] = [];
    // One at a time: each request is a load on the server.
    for (const name of names) {
      const details = await attempt(formatTableName(name), () => readDetails(api, context, name));
      if (details !== undefined) read.push(details);
    }
    if (all?.length === 0) {
      const error = new RequestError('not_available', 'the server lists no table', {
        remedy: LIST_TABLES,
      });
      addWarning(context, { ...ALL_TABLES, error });
    }
    const failure = chooseFailure(context, missing, read.length > 0);
    const known = [...(all ?? []), ...read];
    // A poll that found nothing has nothing to publish.
    if (failure !== undefined && known.length === 0) throw failure;
    return {
      tables: read,
      names: new Map(known.map((table) => [table.tableId, formatTableName(table)])),
      failure,
      missing,
      // Every cluster has tables: an empty list does not show their number and sizes.
      discovery: all?.length
        ? summarizeTables(all, names, context.namedTables(), options.max_tables)
        : undefined,
    };
  },

  samples({ tables: listed, discovery }, set) {
    const discovered = discovery?.shown ?? [];
    const isListed = new Set(listed.map(formatTableName));
    const byName = new Map(discovered.map((row) => [formatTableName(row), row]));
    const shown = [
      // The details of a listed table are newer than the list of all tables.
      ...listed.map((table) => ({ ...byName.get(formatTableName(table)), ...table })),
      ...discovered.filter((row) => !isListed.has(formatTableName(row))),
    ];
    for (const table of shown) {
      const { tableId: table_id, zoneConfigLevel: zone_config_level = 'unknown' } = table;
      set.info(families.info, { ...table, table_id, zone_config_level });
      writeFigures(set, table);
      for (const [privilege, grantees] of table.grants ?? []) {
        set.set(families.grants, { ...table, privilege }, grantees);
      }
    }
    if (discovery === undefined) return;
    writeFigures(set, discovery.others);
    for (const sums of discovery.databases) {
      for (const { family, value } of DATABASE_GAUGES) set.set(family, sums, value(sums));
    }
    // Of the tables without series of their own, too: their sizes are in the sums.
    const updates = discovery.all.flatMap(({ sizeBytes, updatedSeconds }) =>
      sizeBytes === undefined ? [] : (updatedSeconds ?? []),
    );
    set.set(families.oldestUpdate, {}, smallest(updates));
  },
});

export interface TablesResult extends CollectorResult {
  /** The listed tables in the configured order; those that could not be read are missing. */
  readonly tables: readonly KnownTable[];
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
  readonly failure: RequestError;
}

function writeFigures(set: SampleSet, table: TableName & TableFigures): void {
  for (const { family, value } of TABLE_GAUGES) set.set(family, table, value(table));
}

/**
 * Why the poll failed in spite of what it read: it has no list of all tables, its time was over, or no listed table could
 * be read. Example: of 20 listed tables 12 were read when the time was over. They are published, and the poll failed.
 */
function chooseFailure(
  { options, signal }: Context,
  missing: readonly MissingTable[],
  hasRead: boolean,
): RequestError | undefined {
  const list = missing.find(({ name }) => name === undefined)?.failure;
  const isRefused = list?.reason === 'not_available' || list?.reason === 'forbidden';
  if (list !== undefined && !(options.discover === 'auto' && isRefused)) return list;
  const failures = missing.flatMap(({ name, failure }) => (name === undefined ? [] : failure));
  if (signal.aborted) return failures.at(-1);
  return hasRead ? undefined : mostFrequent(failures);
}
