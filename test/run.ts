// `npm test`: formatting, lint, types, dead code and all tests. Ends with `N passed, N failed, N skipped`.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compileProgram } from './support/compiled.ts';
import { FRUGAL } from './support/frugal.ts';
import { findUnlistedSkips } from './support/skips.ts';
import { TIMED } from './support/timed.ts';

const ROOT = path.join(import.meta.dirname, '..');
const BIN = path.join(ROOT, 'node_modules', '.bin');

const CHECKS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['formatting', 'oxfmt', '--check', '.'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings', '.'],
  ['types', 'tsc', '--project', '.'],
  ['dead code', 'knip'],
];

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

interface Report {
  readonly testResults: readonly FileResult[];
}

const counts = { passed: 0, failed: 0, skipped: 0 };

// They run at the same time. What each prints comes as a whole, in their order.
const checks = CHECKS.map(([name, tool = '', ...args]) => [name, check(tool, args)] as const);
for (const [name, result] of checks) {
  const { good, printed } = await result;
  process.stdout.write(printed);
  counts[good ? 'passed' : 'failed'] += 1;
  console.log(`${good ? 'passed' : 'FAILED'}: ${name}`);
}
countTests(await repeatTimed(await runTests(process.argv.slice(2))));
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 ? 0 : 1;

function environment(variables = {}): NodeJS.ProcessEnv {
  const searchPath = `${BIN}${path.delimiter}${process.env['PATH'] ?? ''}`;
  return { ...FRUGAL, ...process.env, ...variables, PATH: searchPath };
}

/** Runs a tool beside others; resolves to whether it found no fault, and to what it printed. */
function check(
  tool: string,
  args: readonly string[],
): Promise<{ readonly good: boolean; readonly printed: string }> {
  const child = spawn(tool, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(),
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  }
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve({ good: false, printed: `${tool}: ${message}\n` }));
    child.on('close', (status) =>
      resolve({ good: status === 0, printed: Buffer.concat(chunks).toString() }),
    );
  });
}

function run(tool: string, args: readonly string[], variables = {}): boolean {
  const env = environment(variables);
  const { status, error } = spawnSync(tool, args, { cwd: ROOT, stdio: 'inherit', env });
  if (error !== undefined) console.error(`${tool}: ${error.message}`);
  return status === 0;
}

/** Runs vitest, which prints for people and writes what is counted here. */
async function runTests(args: readonly string[]): Promise<Report> {
  const folder = mkdtempSync(path.join(tmpdir(), 'crdb-exporter-test-'));
  const program = path.join(folder, 'program');
  const file = path.join(folder, 'report.json');
  try {
    const outputs = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    // Everything that tests leave behind goes away with the folder: vitest itself writes to the home directory.
    // The many processes of a run compile each file once: 0.2 s of CPU to a start in place of 0.5.
    const compiled = path.join(folder, 'compiled');
    const places = {
      TEST_PROGRAM: program,
      TMPDIR: folder,
      XDG_DATA_HOME: folder,
      NODE_COMPILE_CACHE: compiled,
    };
    await compileProgram(program).catch(({ message }: Error) => {
      fail(`the program cannot be compiled: ${message}`);
    });
    const good = run('vitest', ['run', ...outputs, ...args], places);
    const report: Report = JSON.parse(readFileSync(file, 'utf8'));
    const blames = report.testResults.some(({ status }) => status === 'failed');
    // An error outside of any test (an unhandled rejection) fails the run as well.
    if (!good && !blames) fail('vitest ended with an error outside of the tests');
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function dependedOnTime({ name, status }: FileResult): boolean {
  return status === 'failed' && TIMED.includes(path.relative(ROOT, name));
}

/** Runs files that depend on real time once more, alone, where they failed: the machine may have done other work. */
async function repeatTimed(report: Report): Promise<Report> {
  const repeated = report.testResults.filter(dependedOnTime);
  if (repeated.length === 0) return report;
  const files = repeated.map(({ name }) => path.relative(ROOT, name));
  console.log(
    `These depend on real time, failed beside other work, and run again alone: ${files.join(', ')}`,
  );
  const again = await runTests(['--project', 'timed', '--no-file-parallelism', ...files]);
  for (const { name, status } of again.testResults) {
    console.log(`${status} alone: ${path.relative(ROOT, name)}`);
  }
  const others = report.testResults.filter((result) => !dependedOnTime(result));
  return { testResults: [...others, ...again.testResults] };
}

function countTests({ testResults }: Report): void {
  const skipped: string[] = [];
  for (const { name, status, message, assertionResults } of testResults) {
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) {
      fail(`${path.relative(ROOT, name)}: ${message}`);
    }
    for (const test of assertionResults) {
      if (test.status === 'passed') counts.passed += 1;
      else if (test.status === 'failed') counts.failed += 1;
      else skipped.push(test.fullName);
    }
  }
  for (const name of skipped) console.log(`skipped: ${name}`);
  counts.skipped = skipped.length;
  if (process.env['CI'] !== 'true') return;
  for (const name of findUnlistedSkips(skipped)) {
    fail(`skipped although CI=true, and not in test/skips.md: ${name}`);
  }
}

function fail(reason: string): void {
  console.error(`FAILED: ${reason}`);
  counts.failed += 1;
}
