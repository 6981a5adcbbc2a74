import type { FailureReason } from '../cluster/api.ts';
import { clusterCollector } from './collector.ts';
import { detailsShape, publishTable } from './tables/details.ts';
import * as families from './tables/families.ts';
import { readTableNames, TABLE_NAME, writeTableName } from './tables/table-name.ts';

/** GET /databases/{database}/tables/{table}/ of the listed tables: size, schema, grants and zone configuration. */
export const tables = clusterCollector({
  name: 'tables',
  help: 'Ranges, schema, grants and zone configuration of the listed tables.',
  privilege: 'GRANT SELECT on the listed tables',
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
        return { error, reason: context.reasonOf(error) };
      });
      if ('error' in read) {
        faults.push(read);
        context.notice(`table ${writeTableName(name)} is left out: ${describe(read.error)}`);
      } else publishTable(sheet, name, read);
    }
    judge(faults, names.length);
    return undefined;
  },
});

/** Why a table could not be read. */
interface Fault {
  readonly error: unknown;
  readonly reason: FailureReason;
}

/** A table that cannot be read costs its own rows; throws the error of most of them when none could be read. */
function judge(faults: readonly Fault[], asked: number): void {
  if (faults.length === 0 || faults.length < asked) return;
  const byReason = Map.groupBy(faults, ({ reason }) => reason);
  const [most = []] = [...byReason.values()].toSorted((a, b) => b.length - a.length);
  throw most[0]?.error;
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
