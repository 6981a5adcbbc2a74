import { S } from './variables.ts';

/**
 * The last name that each table had in the time range, one for each id and the same at all times: else a graph would have a
 * line for each name, and one for the times at which none was known. After a rename two exporters may export two names.
 */
const NAMES = `group by (table_id, database, schema, table) (topk by (table_id) (1, max by (table_id, database, schema, table) (max_over_time(timestamp(crdb_table_info{${S}})[$__range:1m] @ end()))))`;

/** Adds database, schema and table to the rows of known tables, and keeps the others; `labels` are those of the rows. */
export function withTable(rows: string, labels: string): string {
  return `${rows} * on (table_id) group_left (database, schema, table) ${NAMES} or on (${labels}) ${rows}`;
}
