// `npm run lab -- mutation [--count 60] [--seed N] [--only src/cockroach/http] [--near] [--costs FILE]`: makes one small change at a time in copies of the
// project and runs the tests there. Ends with 1 when more than a tenth of the mutants survive without a reason in survivors.yml.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { createRandom } from '../../simulator/random.ts';
import type { Cost } from '../../test/support/costs.ts';
import { measureSlowness } from '../../test/support/slowness.ts';
import { listMutants, type Mutant } from './mutants.ts';
import { groupsOf, nearestTests, ranked } from './nearest.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const WORKERS = 2;
/** Mutants with which all tests run at once. More of them make most tests fail, which then run with each. */
const POOL = 6;
/** Tests that run before the other near ones. */
const NEAREST = 5;
/** The first failure decides. */
const UNTIL_FAILED = ['--bail=1'];
/** Near tests are short, on a machine that does nothing else. */
const NEAR_MS = 12_000;
/** How often the tests that failed without a mutant are run again: a busy machine makes some fail. */
const BASELINE_RERUNS = 2;
/** Tests that take this much longer than without a mutant do not end. */
const [SLOWER, GRACE_SECONDS] = [4, 30];
/** What a test takes that the file of costs does not name. */
const NEW_SECONDS = 30;
const NOT_COPIED = ['.git', 'node_modules', 'dist', 'coverage'];
/** What cannot see a change in src, or shows an alert only after minutes. */
const LEFT_OUT =
  /^test\/(?:packaging|rules|promql|simulator|e2e\/alerts)\/|^test\/(?:supply-chain|golden)\./;
const TSC = '--project tsconfig.build.json --noUnusedLocals false --noUnusedParameters false';

interface Explanation {
  readonly file: string;
  readonly was: string;
  readonly now: string;
  /** Why no test can notice it. */
  readonly reason: string;
}

/** A copy of the project, in which one worker changes files. */
interface Copy {
  readonly folder: string;
  readonly temporary: string;
}

/** A mutant, and the tests that it has survived: which ones are nearest depends on how long they took before. */
interface Survivor {
  readonly mutant: Mutant;
  readonly near: readonly string[];
}

/** What vitest writes. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    /** Why the file could not be run. */
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: 'src' },
    /** What survives the nearest tests is not run against all others. */
    near: { type: 'boolean', default: false },
    /** What `TEST_COSTS=FILE npm test` has written, so that all tests need not run first. */
    costs: { type: 'string' },
  },
});
const count = Number(options.count);
const tests = list('test/**/*.test.ts').filter((file) => !LEFT_OUT.test(file));
const explained: readonly Explanation[] =
  parse(readFileSync(path.join(import.meta.dirname, 'survivors.yml'), 'utf8')) ?? [];
const running = new Set<number>();
/** How long each test file took without a mutant, in seconds. */
const seconds = new Map<string, number>();
const results = { taken: 0, rejected: 0, killed: 0, explained: 0, survived: 0 };
const startedAt = Date.now();
const scratch = mkdtempSync(path.join(tmpdir(), 'mutate-'));
process.on('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => process.exit(1));
}

const mutants = drawMutants(Number(options.seed));
console.log(
  `seed ${options.seed}: ${count} of ${mutants.length} mutants, ${tests.length} test files`,
);
const copies = Array.from({ length: WORKERS }, (_, index) => createCopy(String(index)));
if (options.costs === undefined) await measureBaseline();
else readCosts(options.costs);
const queue = mutants.values();
const survivors: Survivor[] = [];
await Promise.all(copies.map(work));
console.log(`${results.killed} killed by the nearest tests, ${survivors.length} not`);
const pools = poolsOf(survivors).values();
if (options.near) for (const { mutant } of survivors) print(mutant, undefined);
else await Promise.all(copies.map(workOnPools));
const minutes = Math.round((Date.now() - startedAt) / 60_000);
console.log(
  `seed ${options.seed}: ${results.taken} mutants, ${results.killed} killed, ${results.survived} survived, ${results.explained} more with a reason; ${results.rejected} were rejected by tsc; ${minutes} min`,
);
process.exitCode = results.survived * 10 > results.taken ? 1 : 0;

function list(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: ROOT }).toSorted();
}

function drawMutants(seed: number): readonly Mutant[] {
  const files = list('src/**/*.ts').filter(
    (file) => file.startsWith(options.only) && !/^src\/json\/scanner\/|\.d\.ts$/.test(file),
  );
  const random = createRandom(seed);
  return files
    .flatMap((file) => listMutants(file, readFileSync(path.join(ROOT, file), 'utf8')))
    .map((mutant) => ({ mutant, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ mutant }) => mutant);
}

function createCopy(name: string): Copy {
  const folder = path.join(scratch, name);
  const temporary = path.join(scratch, `t${name}`);
  const isCopied = (file: string): boolean => !NOT_COPIED.includes(path.relative(ROOT, file));
  cpSync(ROOT, folder, { recursive: true, filter: isCopied });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  mkdirSync(temporary);
  return { folder, temporary };
}

/** Runs all tests without a mutant, which notes how long each takes. */
async function measureBaseline(): Promise<void> {
  const shares = await Promise.all(
    copies.map(async (copy, index) => {
      let failed: readonly string[] = tests.filter((_, place) => place % WORKERS === index);
      for (let rerun = 0; rerun <= BASELINE_RERUNS && failed.length > 0; rerun += 1)
        failed = await runTests(copy, failed, []);
      return failed;
    }),
  );
  const failed = shares.flat();
  if (failed.length > 0) throw new Error(`fails before anything is changed: ${failed.join(', ')}`);
  console.log(`all tests pass; they take ${Math.round(usualSeconds(tests))} s`);
}

/** Takes the times of a former run; a test that is new since then comes last. */
function readCosts(file: string): void {
  for (const test of tests) seconds.set(test, NEW_SECONDS);
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const cost: Cost = JSON.parse(line);
    if (seconds.has(cost.file)) seconds.set(cost.file, cost.wallSeconds);
  }
}

/** Tests mutants with the nearest tests until enough of them were taken; keeps those that survive. */
async function work(copy: Copy): Promise<void> {
  for (const mutant of queue) {
    if (results.taken >= count) return;
    if (await withMutants(copy, [mutant], () => isRejected(copy))) results.rejected += 1;
    else if (results.taken < count) {
      results.taken += 1;
      const near = nearestTests(mutant.file, seconds);
      const flags = fast();
      const killer =
        (await findKiller(copy, mutant, near.slice(0, NEAREST), flags)) ??
        (await findKiller(copy, mutant, near.slice(NEAREST), flags));
      if (killer === undefined) survivors.push({ mutant, near });
      else print(mutant, killer);
    }
  }
}

function fast(): readonly string[] {
  const ms = Math.ceil(NEAR_MS * measureSlowness());
  return [...UNTIL_FAILED, '--no-isolate', `--testTimeout=${ms}`, `--hookTimeout=${ms}`];
}

/** Mutants of different files, as many as one pool takes. */
function poolsOf(all: readonly Survivor[]): readonly (readonly Survivor[])[] {
  const found: Survivor[][] = [];
  for (const survivor of all) {
    const free = found.find(
      (pool) =>
        pool.length < POOL && pool.every(({ mutant }) => mutant.file !== survivor.mutant.file),
    );
    if (free === undefined) found.push([survivor]);
    else free.push(survivor);
  }
  return found;
}

/**
 * Runs all tests with all mutants of a pool at once, then with each of them what failed. A mutant that hides another one's failure
 * makes that one survive, never die.
 */
async function workOnPools(copy: Copy): Promise<void> {
  for (const pool of pools) {
    const all = pool.map(({ mutant }) => mutant);
    const failed: string[] = [];
    for (const group of groupsOf(seconds)) {
      failed.push(...(await withMutants(copy, all, () => runTests(copy, group, []))));
    }
    for (const { mutant, near } of pool) {
      let killer: string | undefined;
      const others = failed.filter((test) => !near.includes(test));
      for (const group of ranked(mutant.file, seconds, others)) {
        killer ??= await findKiller(copy, mutant, group);
      }
      print(mutant, killer);
    }
  }
}

/** The mutants are of different files. */
async function withMutants<T>(
  { folder }: Copy,
  all: readonly Mutant[],
  judge: () => Promise<T>,
): Promise<T> {
  const originals = all.map(({ file, source }) => {
    const place = path.join(folder, file);
    const original = readFileSync(place);
    writeFileSync(place, source);
    return { place, original };
  });
  const result = await judge();
  for (const { place, original } of originals) writeFileSync(place, original);
  return result;
}

async function isRejected({ folder }: Copy): Promise<boolean> {
  return (await run('tsc', TSC.split(' '), { folder, limitMs: Infinity })) !== 0;
}

/** The test files that fail twice with a mutant, and pass without it. */
async function findKiller(
  copy: Copy,
  mutant: Mutant,
  files: readonly string[],
  flags: readonly string[] = UNTIL_FAILED,
): Promise<string | undefined> {
  const failed = await withMutants(copy, [mutant], () => findFailing(copy, files, flags));
  if (failed.length === 0) return undefined;
  if ((await runTests(copy, failed, flags)).length === 0) return failed.join(', ');
  const others = files.filter((file) => !failed.includes(file));
  return findKiller(copy, mutant, others, flags);
}

/** The first test files that fail twice. One that passes the second time has failed by chance. */
async function findFailing(
  copy: Copy,
  files: readonly string[],
  flags: readonly string[],
): Promise<readonly string[]> {
  const failed = files.length === 0 ? [] : await runTests(copy, files, flags);
  if (failed.length === 0) return [];
  if ((await runTests(copy, failed, flags)).length > 0) return failed;
  const others = files.filter((file) => !failed.includes(file));
  return findFailing(copy, others, flags);
}

/** Notes how long test files take. Resolves to those that failed, all of them at the time limit: none when all passed. */
async function runTests(
  copy: Copy,
  files: readonly string[],
  more: readonly string[],
): Promise<readonly string[]> {
  const report = path.join(copy.temporary, 'report.json');
  rmSync(report, { force: true });
  const flags = [
    '--project=together',
    '--project=timed',
    '--maxWorkers=1',
    '--reporter=json',
    ...more,
  ];
  const args = ['run', ...flags, `--outputFile=${report}`, ...files];
  const limitMs = 1000 * (GRACE_SECONDS + SLOWER * usualSeconds(files)) * measureSlowness();
  const status = await run('vitest', args, { ...copy, limitMs });
  if (status === null || !existsSync(report)) return files;
  const { testResults }: Report = JSON.parse(readFileSync(report, 'utf8'));
  const failed = testResults.filter(isFailed);
  for (const result of testResults) {
    const hasRun = result.assertionResults.some(({ status: each }) => each === 'passed');
    if (!hasRun || isFailed(result)) continue;
    seconds.set(nameOf(copy, result), (result.endTime - result.startTime) / 1000);
  }
  if (status === 0) return [];
  return failed.length > 0 ? failed.map((result) => nameOf(copy, result)) : files;
}

function nameOf({ folder }: Copy, { name }: Report['testResults'][number]): string {
  return path.relative(folder, name);
}

function usualSeconds(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + (seconds.get(file) ?? Infinity), 0);
}

/** A file that was not run any more after the first failure has the status `failed`, too. */
function isFailed({ message, assertionResults }: Report['testResults'][number]): boolean {
  return message !== '' || assertionResults.some(({ status }) => status === 'failed');
}

/** Resolves to the exit status, or null at the time limit, when the program and its children were killed. */
async function run(
  program: string,
  args: readonly string[],
  place: Pick<Copy, 'folder'> & Partial<Copy> & { readonly limitMs: number },
): Promise<number | null> {
  const env = { ...process.env, CI: 'true', TMPDIR: place.temporary ?? tmpdir() };
  const child = spawn(path.join(ROOT, 'node_modules', '.bin', program), args, {
    cwd: place.folder,
    stdio: 'ignore',
    detached: true,
    env,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} cannot be started: run npm ci`);
  running.add(pid);
  const timer = setTimeout(() => killAll(pid), Math.min(place.limitMs, 2 ** 31 - 1));
  await once(child, 'exit');
  clearTimeout(timer);
  running.delete(pid);
  return child.exitCode;
}

/** Ends a program with all that it started. */
function killAll(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // It has just ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function print(mutant: Mutant, killer: string | undefined): void {
  const { file, line, was, now } = mutant;
  if (killer !== undefined) results.killed += 1;
  else if (explained.some((one) => isSame(one, mutant))) results.explained += 1;
  else results.survived += 1;
  console.log(`${killer === undefined ? 'SURVIVED' : 'killed'} ${file}:${line}`);
  console.log(was.replaceAll(/^/gm, '  - ') + '\n' + now.replaceAll(/^/gm, '  + '));
  if (killer !== undefined) console.log(`  by ${killer}`);
}

function isSame(one: Explanation, { file, was, now }: Mutant): boolean {
  return one.file === file && one.was.trim() === was.trim() && one.now.trim() === now.trim();
}

function cleanUp(): void {
  for (const pid of running) killAll(pid);
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}
