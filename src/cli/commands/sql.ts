import type { Command } from 'commander';
import { findNearest } from '#base';
import { type QueryRow, sql } from '#collectors';
import { collectorOptions } from '#config';
import { addClusterAction, type ClusterTarget, collectOnce } from '../cluster-target.ts';
import { addExamples, type CommandContext, CommandError, EXIT, usageError } from '../command.ts';
import { explainQuery } from '../explain-query.ts';
import { addListingOptions, type ListingOptions, openListing } from '../output/listing.ts';
import { note, withProgress } from '../output/standard-output.ts';
import type { Column } from '../output/table.ts';

/** `sql QUERY`: POST /sql/, the rows of a configured query. */
export function define(command: Command, context: CommandContext): void {
  command.argument('<query>', 'name of a query in collectors.sql.queries');
  addListingOptions(command);
  command.option('--wide', 'Show all columns in full, however narrow the terminal is.');
  addClusterAction(command, context, sql, printRows);
  addExamples(
    command,
    'sql schedules --config.file=exporter.yml',
    'sql schedules --output ndjson --config.file=exporter.yml | jq .labels',
  );
}

async function printRows(
  target: ClusterTarget,
  name: string,
  options: ListingOptions,
): Promise<void> {
  const { config } = target;
  const all = collectorOptions(config, sql).queries;
  const query = all.find((each) => each.name === name);
  if (query === undefined)
    throw usageError(
      describeUnknown(
        name,
        all.map((each) => each.name),
      ),
    );
  const columns: readonly Column<QueryRow>[] = [
    ...query.labels.map((label): Column<QueryRow> => ({
      title: label.toUpperCase(),
      value: (row) => row.labels[label],
      shrinks: true,
    })),
    ...Object.keys(query.values).map((column): Column<QueryRow> => ({
      title: column.toUpperCase(),
      value: (row) => row.values[column],
      format: String,
    })),
  ];
  const required = columns.map(({ title }) => title);
  const listing = openListing<QueryRow>(options, { member: 'rows', columns, required });
  const { queries } = await withProgress('queries', options.output, () =>
    collectOnce(sql, target, { options: { queries: [query] } }),
  );
  const [{ rows = [], failure } = {}] = queries;
  if (failure !== undefined) {
    const { cause, remedy } = explainQuery(failure, config);
    throw new CommandError(`${cause}; ${remedy}`, EXIT.failed, failure);
  }
  for (const row of rows) listing.add(row);
  await listing.close();
  if (rows.length === 0) note('the query has no rows: it exports no series');
}

function describeUnknown(name: string, names: readonly string[]): string {
  const what = `there is no query ${JSON.stringify(name)}`;
  if (names.length === 0)
    return `${what}: collectors.sql.queries lists none; docs/sql.md has examples`;
  const nearest = findNearest(name, names);
  return `${what}: ${nearest ? `did you mean ${nearest}?` : `choose one of ${names.join(', ')}`}`;
}
