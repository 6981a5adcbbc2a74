import type { FailureReason } from '../cluster/api.ts';
import { clusterCollector, type CollectFailure } from './collector.ts';
import { detailsShape, publishTable } from './tables/details.ts';
import * as families from './tables/families.ts';
import { readTableNames, TABLE_NAME, writeTableName } from './tables/table-name.ts';

/** GET /databases/{database}/tables/{table}/ of the listed tables: size, schema, grants and zone configuration. */
export const tables = clusterCollector({
  name: 'tables',
  help: 'Ranges, schema, grants and zone configuration of the listed tables.',
  intervalSeconds: 600,
  timeoutSeconds: 120,
  maxDuty: 0.25,
  enabledByDefault: true,
  families: Object.values(families),
  options: {
    tables: {
      kind: 'strings',
      default: [],
      pattern: TABLE_NAME,
      expects:
        'database.schema.table, or database.table of the schema public, as movr.public.rides',
      help: 'Tables to read. The server runs several SQL statements for each, costly ones for large tables; nothing is asked when the list is empty.',
    },
  },
  isIdle: ({ tables: names }) => names.length === 0,
  createMemory: () => undefined,

  async collect(api, sheet, context) {
    const names = readTableNames(context.options.tables);
    const faults: Fault[] = [];
    // One after the other: each is a load on the server.
    for (const name of names) {
      const { database, schema, table } = name;
      const question = { database, table: `${schema}.${table}`, shape: detailsShape };
      const read = await api.table(context, question).catch((error: unknown): Fault => {
        return { table: writeTableName(name), error, reason: context.reasonOf(error) };
      });
      if ('error' in read) {
        faults.push(read);
        context.notice(`table ${read.table} is left out: ${describe(read.error)}`);
      } else publishTable(sheet, name, read);
    }
    return judge(faults, names.length);
  },
});

/** A table that could not be read. */
interface Fault {
  readonly table: string;
  readonly error: unknown;
  readonly reason: FailureReason;
}

/**
 * A table that cannot be read costs its own rows; when that is most of them, the poll has failed for the reason
 * that most have. Throws that error when none could be read.
 */
function judge(faults: readonly Fault[], asked: number): CollectFailure | undefined {
  const byReason = Map.groupBy(faults, ({ reason }) => reason);
  const [most = []] = [...byReason.values()].toSorted((a, b) => b.length - a.length);
  const [first] = most;
  const read = asked - faults.length;
  if (first === undefined || 2 * read >= asked) return undefined;
  if (read === 0) throw first.error;
  const { reason, table, error } = first;
  const message = `tables: only ${read} of ${asked} could be read; ${table}: ${describe(error)}`;
  return { reason, message };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
