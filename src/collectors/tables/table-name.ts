/** A table as it is asked for; the names are also the labels. */
export interface TableName {
  readonly database: string;
  readonly schema: string;
  readonly table: string;
}

/** What the server's route accepts: names that need no quotes, in two or three parts. */
export const TABLE_NAME = /^[A-Za-z0-9_]+\.([A-Za-z0-9_]+\.)?[A-Za-z0-9_]+$/;

/** Reads `database.table` or `database.schema.table`; each table once, however often it is listed. */
export function readTableNames(texts: readonly string[]): readonly TableName[] {
  // Servers fold names without quotes to lower case.
  const names = texts.map((text) => readTableName(text.toLowerCase()));
  return [...new Map(names.map((name) => [writeTableName(name), name])).values()];
}

function readTableName(text: string): TableName {
  const [database = '', second = '', third] = text.split('.');
  return third === undefined
    ? { database, schema: 'public', table: second }
    : { database, schema: second, table: third };
}

export function writeTableName({ database, schema, table }: TableName): string {
  return `${database}.${schema}.${table}`;
}
