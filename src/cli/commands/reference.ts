import { type Command, Option } from 'commander';
import { COLLECTORS } from '../../collectors/index.ts';
import { findNearest } from '../../config/issues.ts';
import { addExamples, type CommandContext, EXIT, usageError } from '../command.ts';
import { type CatalogueEntry, listCatalogue } from '../reference/catalogue.ts';
import { writeMarkdown } from '../reference/markdown.ts';

/** `reference [NAME]`: every metric as docs/metrics.md or as JSON, or one metric for a person. */
export function define(command: Command, { setExitCode }: CommandContext): void {
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
    setExitCode(EXIT.ok);
  });
}

/** The text of docs/metrics.md, or of one metric; JSON with the format `json`. Throws a CommandError on an unknown name. */
export function writeReference(format: string, name?: string): string {
  const catalogue = listCatalogue(COLLECTORS);
  if (name === undefined) {
    return format === 'json'
      ? `${JSON.stringify(catalogue, undefined, 2)}\n`
      : writeMarkdown(catalogue, COLLECTORS);
  }
  const entry = catalogue.find((one) => one.name === name);
  if (entry === undefined) {
    const names = catalogue.map((one) => one.name);
    const near = findNearest(name, names);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw usageError(`there is no metric ${JSON.stringify(name)}${hint}`);
  }
  return format === 'json' ? `${JSON.stringify(entry, undefined, 2)}\n` : describe(entry);
}

function describe(entry: CatalogueEntry): string {
  const { request, field } = entry;
  const source = request && `${request}${field === undefined ? '' : `: ${field}`}`;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Type', entry.type],
    ['Unit', entry.unit],
    ['Labels', entry.labels.join(', ')],
    ['Collector', entry.collector],
    ['Source', source],
    ['Series', `at most ${entry.series}`],
    ['Notes', entry.notes],
  ];
  const lines = rows.flatMap(([title, text]) => (text ? [`${title.padEnd(11)}${text}`] : []));
  return `${entry.name}\n${entry.help}\n\n${lines.join('\n')}\n`;
}
