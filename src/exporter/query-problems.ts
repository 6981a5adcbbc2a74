import { isDeepStrictEqual } from 'node:util';
import { toTime } from '#base';
import { diagnose } from '#cockroach';
import { sql, type SqlResult } from '#collectors';
import { type ClusterConfig, collectorOptions } from '#config';
import type { QueryState } from './observation.ts';
import { type FoundProblem, formatAdvice } from './poll-problems.ts';

/** Rows of a query that page and JSON show; /metrics has all. */
const MAX_SHOWN_ROWS = 20;

/** The configured queries by their last runs; undefined where there is no current result. */
export function readQueries(
  result: SqlResult | undefined,
  config: ClusterConfig,
): readonly QueryState[] | undefined {
  if (result === undefined) return undefined;
  // Right after a reload the result is of the queries before.
  return collectorOptions(config, sql).queries.map((configured) => {
    const { name } = configured;
    const found = result.queries.find(({ query }) => isDeepStrictEqual(query, configured));
    const { failure: error, durationSeconds, succeededMs } = found ?? {};
    const rows = error === undefined ? found?.rows : undefined;
    const state =
      error === undefined ? (durationSeconds === undefined ? 'waiting' : 'ok') : 'failing';
    return {
      name,
      state,
      lastSuccessAt: toTime(succeededMs),
      durationSeconds,
      rowCount: rows?.length,
      rows: rows?.slice(0, MAX_SHOWN_ROWS),
      failure: error && { error, remedy: diagnose(error, sql, config).remedy },
      hasRows: found?.rows !== undefined,
    };
  });
}

/** How the keys of their problems begin. */
export const QUERY_KEY = 'query ';

/** One problem for each failing query. */
export function queryProblems(
  queries: readonly QueryState[],
  cluster: string,
): readonly FoundProblem[] {
  return queries.flatMap(({ name, hasRows, failure }) => {
    if (failure === undefined) return [];
    const rows = hasRows ? 'rows of an earlier one are exported' : 'no rows are exported';
    return {
      key: `${QUERY_KEY}${name}`,
      about: 'exporter' as const,
      level: 'warning' as const,
      text: `The last run of a query failed, ${rows}: ${failure.error.message}.`,
      next: formatAdvice(failure.remedy, cluster),
      affects: [sql.name],
    };
  });
}
