/** Stands in every SQL text of the world, so that a test can look for it where SQL must not be. */
export const SQL_MARKER = 'sqlmarker';

/** A statement with its constants, and the same with `_` in their places. */
export interface Statement {
  readonly sql: string;
  readonly withoutConstants: string;
  readonly summary: string;
}

export const STATEMENTS: readonly Statement[] = [
  {
    sql: `SELECT city, revenue FROM movr.public.rides WHERE rider = '${SQL_MARKER}-constant' AND ${SQL_MARKER} > 7`,
    withoutConstants: `SELECT city, revenue FROM movr.public.rides WHERE (rider = _) AND (${SQL_MARKER} > _)`,
    summary: 'SELECT city, revenue FROM movr.public.rides',
  },
  {
    sql: `UPDATE bank.public.accounts SET ${SQL_MARKER} = 'a<b & "c"' WHERE id = 41`,
    withoutConstants: `UPDATE bank.public.accounts SET ${SQL_MARKER} = _ WHERE id = _`,
    summary: 'UPDATE bank.public.accounts SET ...',
  },
  {
    sql: `INSERT INTO movr.public.vehicles VALUES ('${SQL_MARKER}-constant', 'two\nlines')`,
    withoutConstants: `INSERT INTO movr.public.vehicles VALUES (_, __more1_10__) -- ${SQL_MARKER}`,
    summary: 'INSERT INTO movr.public.vehicles',
  },
];

/** Names that a demo shows. */
export const PLAIN_APPLICATIONS: readonly string[] = [
  'movr-api',
  'movr-dispatch',
  'reporting',
  'payments',
  'nightly-batch',
];

/** Names that break careless programs: empty, quotes, line feeds, separators, emoji, backslashes, 10 kB. */
export const ODD_APPLICATIONS: readonly string[] = [
  '',
  'reporting "daily"',
  'two\nlines',
  'a,b={c}',
  '🚕 dispatch',
  'C:\\Program Files\\psql',
  '<script>&amp;',
  'long-'.padEnd(10_240, 'x'),
];

export const INTERNAL_PREFIX = '$ internal';
