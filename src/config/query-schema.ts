import * as v from 'valibot';
import {
  anyText,
  choice,
  duration,
  integer,
  invalid,
  key,
  list,
  MIN_TIMEOUT_SECONDS,
  NOT_TEXT,
  rejectIf,
  section,
  text,
  textLike,
} from './values.ts';

// A query of the user. What its parts must not have in common is checked by check-queries.ts.

/** Queries that one collector runs in turn. */
const MAX_QUERIES = 50;
const MAX_LABELS = 10;
const MAX_VALUES = 20;
const MAX_SQL_LENGTH = 20_000;
const MAX_HELP_LENGTH = 200;
/** More rows than this are no metrics. */
const MAX_ROWS = 1000;
const MIN_INTERVAL_SECONDS = 1;

/** The form of a part of a metric's name, and of a label. SQL folds names without quotes to lower case. */
export const COLUMN = /^[a-z][a-z0-9_]{0,62}$/;
const NAME = 'a name of lower case letters, digits and _, as schedules_paused';

const READS = /^[\s(]*(?:SELECT|SHOW|WITH|VALUES|TABLE)\b/i;
const READING = 'the statement must begin with SELECT, SHOW, WITH, VALUES or TABLE';

/** A statement. Messages and `/config` never show it. */
const statement = v.pipe(
  v.string(invalid(NOT_TEXT, 'the statement')),
  v.check((sql) => READS.test(sql), READING),
  v.maxLength(MAX_SQL_LENGTH, `the statement is too long: at most ${MAX_SQL_LENGTH} characters`),
  v.metadata({ valueType: 'sql', format: () => '<sql>' }),
);

const help = v.pipe(
  text('text'),
  v.regex(/^[^\p{C}\p{Zl}\p{Zp}]*$/u, invalid('has line breaks or characters without a shape')),
  v.maxLength(MAX_HELP_LENGTH, invalid(`is too long: at most ${MAX_HELP_LENGTH} characters`)),
);

const NOT_VALUES = 'not a map of columns: write it as { schedules: gauge }';

const values = v.pipe(
  v.record(anyText, choice(['gauge', 'counter']), NOT_VALUES),
  rejectIf<Record<string, 'gauge' | 'counter'>>((columns) => {
    const count = Object.keys(columns).length;
    if (count === 0) return 'the map is empty: name a column with numbers';
    return count > MAX_VALUES ? `more than ${MAX_VALUES} columns: use several queries` : undefined;
  }),
  v.metadata({ minProperties: 1, maxProperties: MAX_VALUES }),
);

const query = section({
  name: key(textLike(COLUMN, NAME, 'name'), {
    help: 'Part of the names of its metrics: crdb_sql_NAME_COLUMN.',
  }),
  help: key(help, { help: 'HELP of its metrics.' }),
  sql: key(statement, {
    help: 'One statement that begins with SELECT, SHOW, WITH, VALUES or TABLE.',
  }),
  database: key(v.optional(text('name'), 'system'), {
    help: 'Database in which names without one are looked up.',
  }),
  labels: key(
    v.optional(
      v.pipe(
        list(textLike(COLUMN, NAME)),
        v.maxLength(MAX_LABELS, `more than ${MAX_LABELS} labels`),
      ),
      [],
    ),
    {
      help: 'Columns that become labels; NULL is an empty label.',
    },
  ),
  values: key(values, {
    help: 'Columns that become metrics, as { schedules: gauge }: gauge, or counter, whose name gets _total. NULL is no sample.',
  }),
  interval: key(v.optional(duration(MIN_INTERVAL_SECONDS)), {
    help: 'Interval between two runs; by default the interval of the collector.',
  }),
  timeout: key(v.optional(duration(MIN_TIMEOUT_SECONDS), '5s'), {
    help: 'Maximum duration of one run, within the timeout of the poll.',
  }),
  max_rows: key(v.optional(integer(1, MAX_ROWS), 100), {
    help: 'Maximum number of rows; a result with more is not published.',
  }),
});

/** The queries of a collector. */
export const queryList = v.pipe(
  list(query, 'is not a list of queries: begin each with "- name:"'),
  v.maxLength(MAX_QUERIES, `more than ${MAX_QUERIES} queries`),
);
