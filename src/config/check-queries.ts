import { type Query, queryMetric } from '#base';
import type { CollectorConfig } from './collector-schema.ts';
import type { Path, SourceDocument } from './document.ts';
import { quote } from './issues.ts';
import { COLUMN } from './query-schema.ts';
import { writeDuration } from './values.ts';

/** Labels that the exporter or Prometheus sets. */
const TAKEN_LABELS = ['crdb_cluster', 'instance', 'job', 'shard'];

/** The type of each metric of a query, and where it was written first. */
export type MetricTypes = Map<
  string,
  { readonly type: 'gauge' | 'counter'; readonly line: number | undefined }
>;

/** Endings and labels of histograms and summaries, which `promtool check metrics` refuses elsewhere. */
const HISTOGRAM_ENDING = /(?:^|_)(?:count|sum|bucket)$/;
const HISTOGRAM_LABELS = ['le', 'quantile'];

/**
 * Reports the queries of a collector that contradict each other, or the settings of its polls. `path` leads to the settings
 * with the queries, and `types` has the metrics of all clusters. Example: the queries `a` with the column `b_c`, and `a_b` with
 * `c`, have one metric.
 */
export function checkQueries(
  settings: Partial<CollectorConfig>,
  document: SourceDocument,
  path: Path,
  types: MetricTypes,
): void {
  const { interval, timeout } = settings;
  const names = new Map<string, number>();
  const metrics = new Map<string, number>();
  for (const [index, query] of listQueries(settings).entries()) {
    const queryPath = [...path, 'queries', index];
    const reporter = document.reporterOf(queryPath);
    const lineOf = (other: number): number | undefined =>
      document.positionOf([...path, 'queries', other, 'name']).line;
    const sameName = names.get(query.name);
    if (sameName !== undefined) {
      const message = `the name ${quote(query.name)} is taken by the query in line ${lineOf(sameName)}: names must differ`;
      reporter.report(message, 'name');
    }
    names.set(query.name, sameName ?? index);
    checkLabels(query, document, queryPath);
    for (const column of Object.keys(query.values)) {
      const metric = queryMetric(query, column);
      const other = metrics.get(metric) ?? index;
      metrics.set(metric, other);
      const position = document.positionOf([...queryPath, 'values', column], 'key');
      const type = query.values[column] ?? 'gauge';
      const known = types.get(metric) ?? { type, line: position.line };
      types.set(metric, known);
      const fault =
        findColumnFault(query, column) ??
        (other === index || sameName !== undefined
          ? undefined
          : `${metric} is a metric of the query in line ${lineOf(other)}, too: rename one of them`) ??
        (known.type === type
          ? undefined
          : `${metric} is a ${type} here and a ${known.type} in line ${known.line}: a metric has one type in all clusters`);
      if (fault !== undefined) document.issues.report(position, fault);
      else if (type === 'gauge' && HISTOGRAM_ENDING.test(column)) {
        const ending = column.slice(column.lastIndexOf('_') + 1);
        const message = `${metric}: only histograms end in _${ending}, and promtool refuses it: rename the column in SQL, as with AS rows`;
        document.issues.warn(position, message);
      }
    }
    if (interval !== undefined && query.interval !== undefined && query.interval < interval) {
      const message = `${writeDuration(query.interval)} is shorter than the interval of the collector, ${writeDuration(interval)}: shorten that one, too`;
      reporter.report(message, 'interval');
    }
    if (timeout !== undefined && query.timeout > timeout) {
      const message = `${writeDuration(query.timeout)} is longer than the timeout of a poll of the collector, ${writeDuration(timeout)}: raise that one, too`;
      reporter.report(message, 'timeout');
    }
  }
}

/** The queries of the settings; none where the collector has no such option. */
function listQueries(settings: Readonly<Record<string, unknown>>): readonly Query[] {
  const { queries } = settings;
  return areQueries(queries) ? queries : [];
}

/** Their schema has checked them. */
function areQueries(list: unknown): list is readonly Query[] {
  return Array.isArray(list);
}

function checkLabels({ labels, values }: Query, document: SourceDocument, path: Path): void {
  for (const [index, label] of labels.entries()) {
    const fault = TAKEN_LABELS.includes(label)
      ? `the label ${quote(label)} is set by the exporter or by Prometheus: rename the column in SQL with AS`
      : labels.indexOf(label) < index
        ? `the label ${quote(label)} is listed twice: remove one`
        : Object.hasOwn(values, label)
          ? `${quote(label)} is a label and a value: keep one of them`
          : undefined;
    const position = document.positionOf([...path, 'labels', index]);
    if (fault !== undefined) document.issues.report(position, fault);
    else if (HISTOGRAM_LABELS.includes(label)) {
      const message = `only histograms and summaries have the label ${quote(label)}, and promtool refuses it: rename the column in SQL with AS`;
      document.issues.warn(position, message);
    }
  }
}

function findColumnFault({ values }: Query, column: string): string | undefined {
  if (!COLUMN.test(column)) {
    return `${quote(column)} cannot be part of a metric's name: rename the column in SQL, as with AS total_bytes`;
  }
  if (!column.endsWith('_total') && column !== 'total') return undefined;
  return values[column] === 'counter'
    ? `${quote(column)}: the name of a counter gets _total by itself: rename the column`
    : `${quote(column)}: only the name of a counter ends in _total: rename the column, or make it a counter without _total`;
}
