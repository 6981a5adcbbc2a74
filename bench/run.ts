// `npm run bench`: every benchmark in a separate process, one after the other; writes the table of bench/README.md.
// `npm run bench -- page scan --against ../other` runs these alone, with the options, and only prints the results; with `--write`
// they replace the rows of the same names in the table.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import type { Row } from './rows.ts';

const BENCHMARKS = [
  'page',
  'tls',
  'json',
  'stream',
  'scan',
  'scrape',
  'snapshot',
  'range-map',
  'descriptor-forms',
  'status',
  'idle',
];
const DOCUMENT = path.join(import.meta.dirname, 'README.md');
const TABLE = /(?<=<!-- table -->\n)[^]*(?=<!-- \/table -->)/;

async function run(benchmark: string, options: readonly string[]): Promise<readonly Row[]> {
  const child = fork(path.join(import.meta.dirname, `${benchmark}.bench.ts`), options, {
    execArgv: ['--expose-gc'],
  });
  const found: Row[] = [];
  child.on('message', (rows: readonly Row[]) => found.push(...rows));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${benchmark} ended with ${code}`);
  return found;
}

function lineOf({ name, target, result, baseline, isMet }: Row): string {
  return `| ${name} | ${target} | ${isMet ? 'yes' : '**no**'} | ${result} | ${baseline} |`;
}

function tableOf(rows: readonly Row[], load: readonly string[]): string {
  return `
Measured on ${describeMachine()}; load average
after each benchmark: ${load.join(', ')}.

| Benchmark | Target | Met | Result | Baseline |
| --- | --- | --- | --- | --- |
${rows.map(lineOf).join('\n')}

`;
}

function describeMachine(): string {
  const model = cpus()[0]?.model ?? 'unknown';
  return `${new Date().toISOString().slice(0, 10)} with Node ${process.version} on ${cpus().length} × ${model.replace(/\s+/g, ' ')}`;
}

/** The table with other rows of the same names; those of new names come last. */
function withRows(table: string, rows: readonly Row[]): string {
  const lines = table.trim().split('\n');
  for (const row of rows) {
    const line = lineOf({ ...row, name: `${row.name} (${describeMachine()})` });
    const at = lines.findIndex((other) => other.startsWith(`| ${row.name} `));
    if (at < 0) lines.push(line);
    else lines[at] = line;
  }
  return `\n${lines.join('\n')}\n\n`;
}

const [names, options] = divide(process.argv.slice(2).filter((word) => word !== '--write'));
const rows: Row[] = [];
const load: string[] = [];
for (const benchmark of names.length > 0 ? names : BENCHMARKS) {
  console.log(`${benchmark}:`);
  rows.push(...(await run(benchmark, options)));
  load.push((loadavg()[0] ?? 0).toFixed(1));
}
if (names.length === 0 || process.argv.includes('--write')) {
  const document = readFileSync(DOCUMENT, 'utf8');
  const written = document.replace(TABLE, (table) =>
    names.length === 0 ? tableOf(rows, load) : withRows(table, rows),
  );
  writeFileSync(DOCUMENT, written);
}

/** Names of benchmarks, and what follows the first option. */
function divide(words: readonly string[]): readonly [string[], string[]] {
  const at = words.findIndex((word) => word.startsWith('-'));
  return at < 0 ? [[...words], []] : [words.slice(0, at), words.slice(at)];
}
