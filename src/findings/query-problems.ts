import { sql, type SqlResult } from '../collectors/sql/collector.ts';
import type { ClusterConfig } from '../config/keys-and-flags.ts';
import { diagnose } from '../diagnosis/diagnosis.ts';
import type { FailingQuery } from './observation.ts';
import { formatAdvice } from './polls.ts';
import type { Problem } from './status.ts';

/** The failing queries; none when all fail, which is a failure of the poll. */
export function readFailingQueries(
  result: SqlResult | undefined,
  config: ClusterConfig,
): readonly FailingQuery[] {
  if (result === undefined || result.failure !== undefined) return [];
  return result.queries.flatMap(({ query: { name }, failure, rows }) => {
    if (failure === undefined) return [];
    const { remedy } = diagnose(failure, sql, config) ?? {};
    return { name, hasRows: rows !== undefined, message: failure.message, remedy };
  });
}

/** One problem for each failing query. */
export function queryProblems(
  queries: readonly FailingQuery[],
  cluster: string,
): readonly Problem[] {
  return queries.map(({ name, hasRows, message, remedy }) => ({
    key: `query ${name}`,
    about: 'exporter',
    level: 'warning',
    text: `The last run of a query failed, ${hasRows ? 'older rows are shown' : 'there are no current rows'}: ${message}.`,
    next: formatAdvice(remedy, cluster),
    affects: [sql.name],
  }));
}
