import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { findNearest, formatJson, ROOT } from '#base';
import { type CatalogueEntry, listCatalogue } from '#exporter';
import { addExamples, usageError } from '../command.ts';

const PAGE = path.join(ROOT, 'docs/metrics.md');

/** `reference [NAME]`: every metric as docs/metrics.md or as JSON, or one metric for a person. */
export function define(command: Command): void {
  command
    .argument('[name]', 'name of a metric; default: all metrics')
    .addOption(
      new Option('-o, --output <format>', 'Output format.')
        .choices(['markdown', 'json'])
        .default('markdown'),
    );
  addExamples(command, 'reference crdb_up', 'reference --output json');
  command.action((name: string | undefined, { output }: { readonly output: string }) => {
    process.stdout.write(writeReference(output, name));
  });
}

/** The text of docs/metrics.md, or of one metric; JSON with the format `json`. Throws a CommandError on an unknown name. */
export function writeReference(format: string, name?: string): string {
  const catalogue = listCatalogue();
  const isJson = format === 'json';
  if (name === undefined)
    return isJson ? `${formatJson(catalogue, 2)}\n` : readFileSync(PAGE, 'utf8');
  const entry = catalogue.find((listed) => listed.name === name);
  if (entry === undefined) {
    const near = findNearest(
      name,
      catalogue.map((listed) => listed.name),
    );
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw usageError(`there is no metric ${JSON.stringify(name)}${hint}`);
  }
  return isJson ? `${formatJson(entry, 2)}\n` : describeMetric(entry);
}

function describeMetric(entry: CatalogueEntry): string {
  const { request, field } = entry;
  const source = request && `${request}${field === undefined ? '' : `: ${field}`}`;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Type', entry.type],
    ['Unit', entry.unit],
    ['Labels', entry.labels.join(', ')],
    ['Collector', entry.collector],
    ['Source', source],
    ['Notes', entry.notes],
  ];
  const lines = rows.flatMap(([title, text]) => (text ? [`${title.padEnd(11)}${text}`] : []));
  return `${entry.name}\n${entry.help}\n\n${lines.join('\n')}\n`;
}
