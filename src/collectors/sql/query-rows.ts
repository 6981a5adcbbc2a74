import { cleanText, type Query } from '#base';
import { type SqlRows, StatementError } from '#cockroach';
import { labelText, MAX_LABEL_LENGTH } from '#metrics';

/** A row as it becomes samples: by column, in the order of the configuration. */
export interface QueryRow {
  readonly labels: Readonly<Record<string, string>>;
  /** NULL is undefined. */
  readonly values: Readonly<Record<string, number | undefined>>;
}

/** In place of such a statement servers run `SELECT 1`, without an error, where a setting of theirs is off. */
const SHOW_RANGES = /SHOW RANGES FROM (?:DATABASE|TABLE)/;
const SHOW_RANGES_IS_OFF =
  'SHOW RANGES is switched off, as it is expensive in large clusters: SET CLUSTER SETTING ui.database_locality_metadata.enabled = true, or leave it out';

/**
 * The rows of a query. Throws a StatementError when one of them is no sample: nothing of a result is shown unless all of it is
 * right. Example: of 20 rows one has the text `NaN` as its value, so none of them is published.
 */
export function readRows(query: Query, { columns, rows }: SqlRows): readonly QueryRow[] {
  const { labels, max_rows } = query;
  const values = Object.keys(query.values);
  if (SHOW_RANGES.test(query.sql) && columns.every(({ name }) => name === '?column?')) {
    throw fault(query, 'the server ran SELECT 1 in its place', SHOW_RANGES_IS_OFF);
  }
  for (const wanted of [...labels, ...values]) {
    const count = columns.filter(({ name }) => name === wanted).length;
    if (count === 1) continue;
    throw fault(
      query,
      count === 0
        ? `the result has no column ${wanted}`
        : `the result has the column ${wanted} ${count} times`,
      'name the columns of the statement with AS as in labels and values',
    );
  }
  if (rows.length > max_rows) {
    const text = `query ${query.name}: ${rows.length} rows, more than max_rows (${max_rows})`;
    const remedy = 'add a LIMIT with ORDER BY to the statement, or raise its max_rows';
    throw new StatementError('limit', text, { remedy, limit: 'items' });
  }
  const typeOf = new Map(columns.map(({ name, type }) => [name, type]));
  const read = rows.map((row): QueryRow => ({
    labels: Object.fromEntries(labels.map((name) => [name, readLabel(query, name, row.get(name))])),
    values: Object.fromEntries(
      values.map((name) => [name, readValue(query, name, row.get(name), typeOf.get(name) ?? '')]),
    ),
  }));
  const texts = new Set(read.map((row) => labelText(row.labels)));
  if (texts.size === read.length) return read;
  throw fault(
    query,
    'two rows have the same labels',
    labels.length === 0
      ? 'a query without labels has one row: list the column that tells the rows apart in labels'
      : 'add a column that tells them apart to labels, or use GROUP BY',
  );
}

const INEXACT =
  'integers above 2^53 arrive inexact: cast the column to FLOAT, or label by its text';

function readLabel(query: Query, column: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!isExact(value)) throw fault(query, `the label ${column} is a large integer`, INEXACT);
    return String(value);
  }
  if (typeof value !== 'string') {
    const remedy = 'cast the column to STRING';
    throw fault(query, `the label ${column} is an array or an object`, remedy);
  }
  if (value.length <= MAX_LABEL_LENGTH) return cleanText(value);
  // Labels are measured in UTF-16 code units: 65 emoji are 130, and left() in SQL counts 65.
  const hasPairs = /[\u{10000}-\u{10FFFF}]/u.test(value);
  const fitting = hasPairs ? MAX_LABEL_LENGTH / 2 : MAX_LABEL_LENGTH;
  throw fault(
    query,
    `the label ${column} has more than ${MAX_LABEL_LENGTH} characters${hasPairs ? ', where an emoji counts as two' : ''}`,
    `shorten it in SQL, as with left(${column}, ${fitting})`,
  );
}

function readValue(query: Query, column: string, value: unknown, type: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') {
    throw fault(
      query,
      `the value ${column} is no number`,
      'cast the column to INT or FLOAT; times as extract(epoch FROM …); leave out NaN',
    );
  }
  if (!Number.isFinite(value)) {
    throw fault(query, `the value ${column} is no number`, 'it is beyond what a FLOAT can hold');
  }
  const isFloat = /^FLOAT/i.test(type);
  if (!isFloat && !isExact(value)) {
    throw fault(query, `the value ${column} is a large integer`, INEXACT);
  }
  if (value < 0 && query.values[column] === 'counter') {
    throw fault(query, `the counter ${column} is below 0`, 'make it a gauge');
  }
  return value;
}

/** Whether a number is a fraction, or an integer that a double holds exactly. */
function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}

function fault({ name }: Query, what: string, remedy: string): StatementError {
  return new StatementError('decode', `query ${name}: ${what}`, { remedy });
}
