import { S } from './variables.ts';

/**
 * The name of each known table, one for each id: after a rename the two exporters of a pair export different names until both
 * have read the new one, and a join with two names of one table would fail.
 */
const NAMES = `topk by (table_id) (1, max by (table_id, database, schema, table) (crdb_table_info{${S}}))`;

/** Adds database, schema and table to the rows of known tables, and keeps the others; `labels` are those of the rows. */
export function withTable(rows: string, labels: string): string {
  return `${rows} * on (table_id) group_left (database, schema, table) ${NAMES} or on (${labels}) ${rows}`;
}
