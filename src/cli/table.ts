import type { Command } from 'commander';
import { addExamples, type Invocation } from './command.ts';
import { EXIT } from './exit.ts';
import { type Cell, drawGrid, pageOf } from './grid.ts';
import { writeLine } from './human.ts';
import { writeJson } from './json-text.ts';
import { addListingOptions, type Format } from './listing.ts';
import { writeOut } from './standard-output.ts';
import { summarize } from './table/sections.ts';
import { type Table, tableShape, toTable } from './table/table.ts';
import { addTargetOptions, clusterApiOf, type Target, withTarget } from './target.ts';

interface Asked {
  readonly database: string;
  readonly table: string;
  readonly output: Format;
}

/** `table DB TABLE`: GET /databases/{database}/tables/{table}/. */
export function define(command: Command, invocation: Invocation): void {
  command
    .argument('<database>', 'name of the database')
    .argument('<table>', 'name of the table, or schema.table where the schema is not public');
  addListingOptions(command);
  addTargetOptions(command);
  addExamples(
    command,
    'table movr rides --config.file=exporter.yml',
    'table movr analytics.daily_rides --output json --config.file=exporter.yml',
  );
  command.action(async (database: string, table: string, options: { readonly output: Format }) => {
    const asked = { database, table, output: options.output };
    const work = (target: Target): Promise<number> => show(target, asked);
    invocation.done(await withTarget(command, invocation, { operation: 'table', work }));
  });
}

async function show(target: Target, { database, table, output }: Asked): Promise<number> {
  const question = { database, table, shape: tableShape };
  const details = await clusterApiOf(target).table(target.reading, question);
  const found = toTable(database, table, details);
  if (output === 'table') await writeOut(drawSections(found));
  else await writeOut(`${writeJson(found, output === 'json' ? 2 : 0)}\n`);
  return EXIT.good;
}

function drawSections(table: Table): string {
  const page = pageOf(process.stdout);
  const sections = summarize(table).map(({ titles, rows }) => {
    const columns = titles.map((title) => ({ title, alignRight: false, shrinks: true }));
    const cells = rows.map((row) => row.map((text): Cell => ({ text: text === '' ? '-' : text })));
    return [...drawGrid(columns, cells, page)].join('\n');
  });
  const statement = (table.create_table_statement ?? '').split('\n').map(writeLine).join('\n');
  return `${sections.join('\n\n')}\n\n${statement}\n`;
}
