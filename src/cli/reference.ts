import { type Command, Option } from 'commander';
import { COLLECTORS } from '../collectors/index.ts';
import { listCatalogue } from '../reference/catalogue.ts';
import { writeMarkdown } from '../reference/markdown.ts';
import { EXIT } from './exit.ts';

type Format = 'markdown' | 'json';

/** Adds the option of `reference`. */
export function addReferenceOptions(command: Command): void {
  command.addOption(
    new Option('--format <name>', 'for people or for programs')
      .choices(['markdown', 'json'])
      .default('markdown'),
  );
}

/** Prints every metric: docs/metrics.md, or the same as JSON. */
export function reference(command: Command): number {
  process.stdout.write(writeReference(command.opts<{ readonly format: Format }>().format));
  return EXIT.good;
}

/** The catalogue of all collectors and of the exporter itself as text. */
export function writeReference(format: Format): string {
  const catalogue = listCatalogue(COLLECTORS);
  return format === 'json'
    ? `${JSON.stringify(catalogue, undefined, 2)}\n`
    : writeMarkdown(catalogue, COLLECTORS);
}
