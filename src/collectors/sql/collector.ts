import { isDeepStrictEqual } from 'node:util';
import { type OptionSpecs, type OptionValues, type Query, queryMetric } from '#base';
import { type ClusterApi, failureOf, type RequestError, StatementError } from '#cockroach';
import { counter, type Family, gauge } from '#metrics';
import {
  type CollectorPoll,
  type CollectorResult,
  defaultMaxAgeSeconds,
  defineCollector,
  mostFrequent,
} from '../collector.ts';
import { type QueryRow, readRows } from './query-rows.ts';

const OPTIONS = {
  queries: {
    kind: 'queries',
    default: [],
    help: 'Your own queries: name, help, sql, labels, values, and optionally database, interval, timeout and max_rows; see docs/sql.md.',
  },
} as const satisfies OptionSpecs;

const SUCCESS = gauge({
  name: 'crdb_exporter_sql_query_success',
  help: 'Whether the last run of the query published its rows.',
  labels: ['query', 'shard'],
  unit: '0 or 1',
  notes: '0 also before its first run, and while polls of the collector fail.',
});

/** The last run of a query. */
interface LastRun {
  /** When it began, monotonic ms. */
  readonly startedMs: number;
  readonly durationSeconds: number;
  readonly failure: RequestError | undefined;
  /** The rows of the last run that succeeded, and when it did: `rowsMs` is monotonic, `succeededMs` wall clock, ms. */
  readonly rows: readonly QueryRow[];
  readonly rowsMs: number;
  readonly succeededMs: number | undefined;
}

/** The last runs by the name of the query. */
type State = Map<string, LastRun>;

type Context = CollectorPoll<OptionValues<typeof OPTIONS>, State>;

/** A query with what is known of it. */
interface KnownQuery {
  readonly query: Query;
  /** Undefined where no run has succeeded, or not lately. */
  readonly rows: readonly QueryRow[] | undefined;
  /** Why the last run failed. */
  readonly failure: RequestError | undefined;
  /** The duration of the last run; undefined where none has ended. */
  readonly durationSeconds: number | undefined;
  /** The last run that succeeded, wall clock, ms. */
  readonly succeededMs: number | undefined;
}

export interface SqlResult extends CollectorResult {
  /** In the order of the configuration. */
  readonly queries: readonly KnownQuery[];
}

/** POST /sql/: the queries of the configuration. */
export const sql = defineCollector({
  name: 'sql',
  api: 'cluster',
  help: 'Queries of your own: each row becomes samples of `crdb_sql_NAME_COLUMN` (docs/sql.md).',
  privilege: 'the privileges of its statements',
  load: {
    requests: '`/sql/`, one statement per query, one after the other',
    cost: 'That of your statements: the server ends each after its `timeout`, and at 256 KiB of rows.',
  },
  request: 'POST /sql/',
  intervalSeconds: 60,
  timeoutSeconds: 30,
  maxDuty: 0.1,
  enabledByDefault: false,
  families: [SUCCESS],
  options: OPTIONS,
  isIdle: ({ queries }) => queries.length === 0,
  scope: 'cluster',
  inProbe: true,
  /** A removed query may have shown what nobody should see. */
  keepsFamily: (name, { queries }, before) =>
    queries.some(
      (query) =>
        before.queries.some((old) => isDeepStrictEqual(old, query)) &&
        Object.keys(query.values).some((column) => familyOf(query, column).name === name),
    ),
  createState: (): State => new Map(),

  async collect(api, context): Promise<SqlResult> {
    const { options, state, clock } = context;
    const startMs = clock.monotonicMs();
    const runs: Run[] = [];
    for (const query of listDue(options.queries, state, startMs)) {
      const run = await runQuery(api, context, query);
      runs.push(run);
      // Without a response to the statement the next one would have none either.
      if (run.failure !== undefined && !(run.failure instanceof StatementError)) break;
    }
    const queries = options.queries.map((query) => describe(query, context, startMs));
    const failures = runs.flatMap(({ failure }) => failure ?? []);
    // A refused statement is the failure of its query: the API works.
    const last = failures.find((failure) => !(failure instanceof StatementError));
    const isSilent = runs.length > 0 && runs.every(({ isAnswered }) => !isAnswered);
    const failure = last ?? (isSilent ? mostFrequent(failures) : undefined);
    // Nothing was ever found with these options: what a reload has left stays.
    const hasFound = queries.some(({ succeededMs }) => succeededMs !== undefined);
    if (failure !== undefined && !hasFound) throw failure;
    return { queries, failure, partFailures: failures.filter((each) => each !== failure) };
  },

  samples({ queries }, set) {
    for (const { query, rows = [] } of queries) {
      const metrics = Object.keys(query.values).map(
        (column) => [column, familyOf(query, column)] as const,
      );
      for (const { labels, values } of rows) {
        for (const [column, family] of metrics) set.set(family, labels, values[column]);
      }
    }
  },

  lastingSamples(result, set, { options, shard }) {
    for (const configured of options.queries) {
      const { name } = configured;
      // Right after a reload the result is of the queries before: another one of the same name has not run.
      const status = result?.queries.find(({ query }) => isDeepStrictEqual(query, configured));
      const hasRun = status?.durationSeconds !== undefined;
      const isGood = hasRun && status.failure === undefined;
      set.set(SUCCESS, { query: name, shard }, Number(isGood));
    }
  },
});

/** A run may begin a little early: polls have a jitter. */
const MIN_INTERVAL_SHARE = 0.95;

/** The queries to run now, the one that has waited longest first: when the time is over, it is not always the same that miss. */
function listDue(queries: readonly Query[], state: State, nowMs: number): readonly Query[] {
  const waited = ({ name }: Query): number => nowMs - (state.get(name)?.startedMs ?? -Infinity);
  return queries
    .filter((query) => waited(query) >= (query.interval ?? 0) * 1000 * MIN_INTERVAL_SHARE)
    .toSorted((a, b) => (waited(b) === waited(a) ? 0 : waited(b) - waited(a)));
}

/** A run that has ended. */
interface Run {
  readonly failure: RequestError | undefined;
  /** Whether the server has run or refused the statement. */
  readonly isAnswered: boolean;
}

/** Runs a query and keeps what it found. */
async function runQuery(api: ClusterApi, context: Context, query: Query): Promise<Run> {
  const { state, clock } = context;
  const { name, sql: text, database } = query;
  const startedMs = clock.monotonicMs();
  const sentMs = clock.runningMs();
  const timeoutMs = Math.min(query.timeout * 1000, Math.max(1, context.leftMs()));
  const before = state.get(name) ?? { rows: [], rowsMs: -Infinity, succeededMs: undefined };
  const durationSeconds = (): number => (clock.runningMs() - sentMs) / 1000;
  let isAnswered = false;
  try {
    const request = { name: `query ${name}`, sql: text, database, timeoutMs };
    const result = await api.sql(context, request);
    isAnswered = true;
    const rows = readRows(query, result);
    state.set(name, {
      startedMs,
      durationSeconds: durationSeconds(),
      failure: undefined,
      rows,
      rowsMs: startedMs,
      succeededMs: clock.wallMs(),
    });
    return { failure: undefined, isAnswered };
  } catch (error) {
    const failure = failureOf(error);
    if (failure.limit !== undefined) context.limits.add(failure.limit);
    state.set(name, { ...before, startedMs, durationSeconds: durationSeconds(), failure });
    const isRefused = failure instanceof StatementError && failure.sqlState !== undefined;
    return { failure, isAnswered: isAnswered || isRefused };
  }
}

/**
 * Old rows are left out when they would be too old before the next poll, by the interval of the query, or by `max_age` if that is
 * longer. Example: with 60 s, rows of 12:00 are shown until 12:03, if every run after it fails.
 */
function describe(query: Query, context: Context, pollStartMs: number): KnownQuery {
  const { state, clock, intervalSeconds, maxAgeSeconds = 0 } = context;
  const run = state.get(query.name);
  const interval = query.interval ?? intervalSeconds;
  const maxAgeMs = 1000 * Math.max(maxAgeSeconds, defaultMaxAgeSeconds(interval));
  const rowsMs = run?.rowsMs ?? -Infinity;
  const isNew = rowsMs >= pollStartMs;
  const isCurrent = isNew || clock.monotonicMs() - rowsMs + 1000 * intervalSeconds <= maxAgeMs;
  return {
    query,
    rows: isCurrent ? run?.rows : undefined,
    failure: run?.failure,
    durationSeconds: run?.durationSeconds,
    succeededMs: run?.succeededMs,
  };
}

/** The metric of a column. */
function familyOf(query: Query, column: string): Family {
  const { help, labels, values } = query;
  const name = queryMetric(query, column);
  const isOnly = Object.keys(values).length === 1;
  const shared = {
    help: isOnly ? help : `${help.replace(/\.$/, '')}: ${column}.`,
    labels,
    importance: 'chosen' as const,
  };
  return values[column] === 'counter'
    ? counter({ ...shared, name: `${name}_total` })
    : gauge({ ...shared, name });
}
