import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import type { RuleCase } from './cases.ts';
import type { RuleGroup } from './rule-set.ts';

export interface Verdict {
  readonly passed: boolean;
  /** The output of the program. */
  readonly text: string;
  readonly output: string;
}

/** Runs a command. */
export async function run(program: string, args: readonly string[]): Promise<Verdict> {
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      resolve({ passed: error === null, text: `${stdout}${stderr}`, output: stdout });
    });
  });
}

/** Tests these groups with these cases. promtool needs time for each rule, so pass only the needed ones. */
export async function testRules(
  groups: readonly RuleGroup[],
  cases: readonly RuleCase[],
): Promise<Verdict> {
  const folder = await mkdtemp(path.join(tmpdir(), 'crdb-exporter-rules-'));
  try {
    const tests = {
      rule_files: ['rules.yml'],
      group_eval_order: groups.map(({ name }) => name),
      evaluation_interval: '1m',
      tests: cases,
    };
    await writeFile(
      path.join(folder, 'rules.yml'),
      stringify({ groups }, { aliasDuplicateObjects: false }),
    );
    await writeFile(
      path.join(folder, 'tests.yml'),
      stringify(tests, { aliasDuplicateObjects: false }),
    );
    return await run('promtool', ['test', 'rules', path.join(folder, 'tests.yml')]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
