import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { FRUGAL } from '../support/frugal.ts';
import type { RuleCase } from './cases.ts';
import type { RuleGroup } from './rule-set.ts';

export interface Verdict {
  readonly passed: boolean;
  /** The output of the program. */
  readonly text: string;
  readonly output: string;
}

const ENV = { ...FRUGAL, ...process.env };

/** Runs a command. */
export async function run(program: string, args: readonly string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    execFile(program, args, { env: ENV, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ passed: error === null, text: `${stdout}${stderr}`, output: stdout });
    });
  });
}

/** Whether promtool is one of Prometheus 3. */
export function isPrometheus3(): boolean {
  const { stdout, stderr } = spawnSync('promtool', ['--version'], { encoding: 'utf8' });
  return /version 3\./.test(stdout + stderr);
}

/** Rules, and the cases that test them. */
export interface RuleTest {
  readonly groups: readonly RuleGroup[];
  readonly cases: readonly RuleCase[];
}

/** Tests these groups with these cases. promtool needs time for each rule, so pass only the needed ones. */
export async function testRules(
  groups: readonly RuleGroup[],
  cases: readonly RuleCase[],
): Promise<Verdict> {
  return testAllRules([{ groups, cases }]);
}

/** Tests all with one process; what has no cases is left out. */
export async function testAllRules(tests: readonly RuleTest[]): Promise<Verdict> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-rules-'));
  try {
    const own = tests.filter(({ cases }) => cases.length > 0);
    const files = await Promise.all(own.map((one, index) => writeTest(folder, one, index)));
    return await run('promtool', ['test', 'rules', ...files.flat()]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function writeTest(
  folder: string,
  { groups, cases }: RuleTest,
  index: number,
): Promise<readonly string[]> {
  const rules = `rules-${index}.yml`;
  await write(path.join(folder, rules), { groups });
  return Promise.all(
    Array.from(
      Map.groupBy(cases, ({ interval }) => interval),
      async ([interval, tests]) => {
        const file = path.join(folder, `tests-${index}-${interval}.yml`);
        await write(file, {
          rule_files: [rules],
          group_eval_order: groups.map(({ name }) => name),
          evaluation_interval: interval,
          tests,
        });
        return file;
      },
    ),
  );
}

async function write(file: string, content: unknown): Promise<void> {
  await writeFile(file, stringify(content, { aliasDuplicateObjects: false }));
}
