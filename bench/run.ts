// `npm run bench`: every benchmark in a separate process, one after the other; writes the table of bench/README.md.
// With names of benchmarks as arguments only these are run, and nothing is written.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import path from 'node:path';
import type { Row } from './rows.ts';

const BENCHMARKS = [
  'page',
  'poll',
  'json',
  'stream',
  'scan',
  'scrape',
  'snapshot',
  'range-table',
  'status',
  'idle',
];
const DOCUMENT = path.join(import.meta.dirname, 'README.md');
const TABLE = /(?<=<!-- table -->\n)[^]*(?=<!-- \/table -->)/;

async function run(benchmark: string): Promise<readonly Row[]> {
  const child = fork(path.join(import.meta.dirname, `${benchmark}.bench.ts`), {
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
  const model = cpus()[0]?.model ?? 'unknown';
  return `
Measured on ${new Date().toISOString().slice(0, 10)} with Node ${process.version} on ${cpus().length} × ${model.replace(/\s+/g, ' ')}; load average
after each benchmark: ${load.join(', ')}.

| Benchmark | Target | Met | Result | Baseline |
| --- | --- | --- | --- | --- |
${rows.map(lineOf).join('\n')}

`;
}

const chosen = process.argv.slice(2);
const rows: Row[] = [];
const load: string[] = [];
for (const benchmark of chosen.length > 0 ? chosen : BENCHMARKS) {
  console.log(`${benchmark}:`);
  rows.push(...(await run(benchmark)));
  load.push((loadavg()[0] ?? 0).toFixed(1));
}
if (chosen.length === 0) {
  writeFileSync(
    DOCUMENT,
    readFileSync(DOCUMENT, 'utf8').replace(TABLE, () => tableOf(rows, load)),
  );
}
